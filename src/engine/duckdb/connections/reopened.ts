import { closedError } from '../../../contract/turns/scheduler.ts';
import { isFatal } from './engine-error.ts';

interface Options<S> {
  /** Opens it again after `broken`. */
  reopen(broken: S): Promise<S>;
  /** Whether an error makes it unusable, beside those that do for any engine. */
  isFatal?(error: unknown): boolean;
  /** Called once with the error that made it unusable. */
  failed(error: unknown): void;
}

/** What is open until an error makes it unusable; before the next use it is opened again, once for all who wait. */
export class Reopened<S extends { isBroken: boolean }> {
  readonly #options: Options<S>;
  #current: Promise<S>;
  #isClosed = false;

  constructor(first: S, options: Options<S>) {
    this.#options = options;
    this.#current = Promise.resolve(first);
  }

  /** As it is, broken or not; rejects if it could not be opened again. */
  get current(): Promise<S> {
    return this.#current;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** One that is not known to be broken. Rejects `not_ready` after `close`. */
  async ready(): Promise<S> {
    if (this.#isClosed) throw closedError();
    const current = this.#current;
    const session = await current;
    if (!session.isBroken) return session;
    if (this.#current === current) {
      const next = this.#options.reopen(session);
      this.#current = next;
      // If that fails, the next caller tries again.
      next.catch(() => {
        if (this.#current === next) this.#current = current;
      });
    }
    return this.#current;
  }

  /** Marks it as broken if the error is fatal; returns whether it is. */
  noteFailure(session: S, error: unknown): boolean {
    if (!isFatal(error) && this.#options.isFatal?.(error) !== true) return false;
    if (!session.isBroken) this.#options.failed(error);
    session.isBroken = true;
    return true;
  }

  /** From now on there is none to use; false: it was so already. */
  close(): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    return true;
  }
}
