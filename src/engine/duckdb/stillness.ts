/**
 * Keeps apart what writes and what needs that nothing is written. Many may write at once; who wants to be alone waits until
 * they are done, and holds up those that come later.
 */
export class Stillness {
  #isOver: Promise<void> | undefined;
  #isAlone = false;
  #writing = 0;
  #onceUnwritten: (() => void) | undefined;

  /** Whether something writes now. */
  get isWritten(): boolean {
    return this.#writing > 0;
  }

  /** While somebody is alone, or waits for what writes: the end of that. */
  get over(): Promise<void> | undefined {
    return this.#isOver;
  }

  /**
   * The same, but only while somebody is alone. What has to be done for those that write to come to their end waits for
   * this, and not for `over`, which waits for them.
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

  /** One call at a time: the others wait for their turn. */
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
}
