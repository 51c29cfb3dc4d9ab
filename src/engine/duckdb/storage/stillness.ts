import { orStopped } from '../connections/deadline.ts';

/**
 * Separates writers from work that must run while nothing is written. Many may write at once; `alone` waits until they
 * are done, and holds up later ones. Readers go on beside both, except during `unread`.
 */
export class Stillness {
  #isOver: Promise<void> | undefined;
  #isAlone = false;
  #writing = 0;
  #onceUnwritten: (() => void) | undefined;
  #unreadUntil: Promise<void> | undefined;
  #reading = 0;
  /** When the last reader was done (`performance.now()`). */
  #readAt = performance.now();
  #onceUnread: ((isUnread: boolean) => void) | undefined;

  /** Whether anything is writing now. */
  get isWritten(): boolean {
    return this.#writing > 0;
  }

  /** For how long nothing has been read. */
  get unreadMs(): number {
    return this.#reading > 0 ? 0 : performance.now() - this.#readAt;
  }

  /** Resolves when `alone` is over; set while it runs or waits for writers. */
  get over(): Promise<void> | undefined {
    return this.#isOver;
  }

  /**
   * The same, but set only while `alone` actually runs. Work that writers need in order to finish waits for this, not
   * for `over`, which waits for those writers.
   */
  get aloneUntil(): Promise<void> | undefined {
    return this.#isAlone ? this.#isOver : undefined;
  }

  async write<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isOver !== undefined) await this.#isOver;
    this.#writing += 1;
    try {
      return await work();
    } finally {
      this.#writing -= 1;
      if (this.#writing === 0) this.#onceUnwritten?.();
    }
  }

  /** Runs `work` while nothing is written. One call at a time: the others wait for their turn. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isOver !== undefined) await this.#isOver;
    let end: () => void = () => undefined;
    this.#isOver = new Promise((resolve) => {
      end = resolve;
    });
    try {
      if (this.#writing > 0) {
        await new Promise<void>((resolve) => {
          this.#onceUnwritten = resolve;
        });
      }
      this.#isAlone = true;
      return await work();
    } finally {
      this.#onceUnwritten = undefined;
      this.#isAlone = false;
      this.#isOver = undefined;
      end();
    }
  }

  /** Once `signal` aborts, `work` waits no longer: it is expected to end then. */
  async read<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    while (this.#unreadUntil !== undefined && signal?.aborted !== true) {
      await (signal === undefined ? this.#unreadUntil : orStopped(this.#unreadUntil, signal).catch(() => undefined));
    }
    this.#reading += 1;
    try {
      return await work();
    } finally {
      this.#reading -= 1;
      this.#readAt = performance.now();
      if (this.#reading === 0) this.#onceUnread?.(true);
    }
  }

  /**
   * To be called within `alone`: runs `work` while nothing is read, and holds up new readers. If current readers take
   * longer than `patienceMs`, `work` is told so by `isUnread`, and readers are no longer held up.
   */
  async unread<T>(patienceMs: number, work: (isUnread: boolean) => Promise<T>): Promise<T> {
    let end: () => void = () => undefined;
    this.#unreadUntil = new Promise((resolve) => {
      end = resolve;
    });
    const goOn = () => {
      this.#unreadUntil = undefined;
      end();
    };
    try {
      const isUnread = this.#reading === 0 || (await this.#untilUnread(patienceMs));
      if (!isUnread) goOn();
      return await work(isUnread);
    } finally {
      goOn();
    }
  }

  async #untilUnread(patienceMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const isUnread = await new Promise<boolean>((resolve) => {
      this.#onceUnread = resolve;
      timer = setTimeout(resolve, patienceMs, false);
    });
    clearTimeout(timer);
    this.#onceUnread = undefined;
    return isUnread;
  }
}
