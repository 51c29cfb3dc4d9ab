import { ApiError } from '../errors.ts';
import { countsOf, decide, mayTake, type RunningTurn, type Turn, type TurnRules } from './shares.ts';

/** What is known of a query that asks for a place. */
export interface Ask {
  /** Whose query it is. */
  caller: string;
  /** When it gives up by itself, as `performance.now()` (default: never). */
  endsAt?: number | undefined;
  /** It can be stopped, and run again later. */
  mayRunAgain?: boolean | undefined;
  /** It gave up a place: set with `askedAt`, the time of its first asking. */
  isAgain?: boolean | undefined;
  askedAt?: number | undefined;
}

export interface Place {
  /** Frees it. */
  leave(): void;
  /** Aborts when it is one long query too many: leave, and ask again with `isAgain`. */
  readonly recall: AbortSignal;
}

export interface SchedulerOptions {
  /** Queries that run at once. */
  places: number;
  /** Queries that may wait; one more is refused. */
  queueMax: number;
  /** What runs in them, for messages (default: queries). */
  of?: string;
  /** A query is long once it has held its place for this long (default 1,000). */
  shortMs?: number;
}

interface Waiter extends Turn {
  mayRunAgain: boolean;
  endsAt: number;
  start(): void;
  refuse(error: unknown): void;
}

interface Holder extends RunningTurn {
  recall: AbortController;
}

const SHORT_MS = 1_000;
/** More long queries at once would end no sooner, since each uses all cores, and hold up short ones. */
const LONG_MAX = 4;
const RETRY_MS_MIN = 100;

export function closedError(): ApiError {
  return new ApiError('not_ready', 'The service is shutting down. Try again in a moment.');
}

function remove<T>(list: T[], one: T): void {
  const index = list.indexOf(one);
  if (index >= 0) list.splice(index, 1);
}

/** How many of a caller's queries that ended are remembered. */
const KEPT = 16;
/** Shorter times tell nothing about the pace. */
const MEASURED_MS_MIN = 50;

/** How fast the queries of one caller end, for as long as it always has some: what it is told to wait follows from it. */
class Drain {
  readonly #since: number;
  readonly #endedAt: number[] = [];

  /** All times are as `performance.now()`. */
  constructor(now: number) {
    this.#since = now;
  }

  ended(now: number): void {
    this.#endedAt.push(now);
    if (this.#endedAt.length > KEPT) this.#endedAt.shift();
  }

  /** How long `count` queries take at this pace. If none has ended, one may do so after as long as has passed. */
  msFor(count: number, now: number): number {
    const [first = this.#since] = this.#endedAt.length === KEPT ? this.#endedAt : [];
    return (count * Math.max(MEASURED_MS_MIN, now - first)) / Math.max(1, this.#endedAt.length);
  }
}

/** Lets `places` queries run at once, with a queue of at most `queueMax` behind them. Whose turn it is says `decide`. */
export class Scheduler {
  readonly #rules: TurnRules;
  readonly #queueMax: number;
  readonly #of: string;
  readonly #running: Holder[] = [];
  readonly #waiting: Waiter[] = [];
  /** Of the callers that run or wait. */
  readonly #drains = new Map<string, Drain>();
  #onIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ places, queueMax, of = 'queries', shortMs = SHORT_MS }: SchedulerOptions) {
    this.#rules = { places, longPlaces: Math.max(1, Math.min(LONG_MAX, places >> 1)), shortMs };
    this.#queueMax = queueMax;
    this.#of = of;
  }

  /**
   * Waits for one of the places.
   *
   * Rejects `resource_exceeded` with `retryAfterMs` at once when the queue, or its caller's share of it, is full,
   * `signal.reason` when the signal aborts first, and `not_ready` after `close`.
   */
  enter(signal: AbortSignal, ask: Ask): Promise<Place> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw closedError();
      if (signal.aborted) throw signal.reason;
      const end = () => {
        remove(this.#waiting, waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        waiter.refuse(signal.reason);
        this.#left(waiter, true);
        this.#settle();
      };
      const waiter: Waiter = {
        caller: ask.caller,
        askedAt: ask.askedAt ?? performance.now(),
        isAgain: ask.isAgain ?? false,
        mayRunAgain: ask.mayRunAgain ?? false,
        endsAt: ask.endsAt ?? Number.POSITIVE_INFINITY,
        start: () => {
          end();
          resolve(this.#take(waiter));
        },
        refuse: (error) => {
          end();
          reject(error);
        },
      };
      this.#checkQueue(waiter);
      if (!this.#drains.has(waiter.caller)) this.#drains.set(waiter.caller, new Drain(waiter.askedAt));
      this.#waiting.push(waiter);
      signal.addEventListener('abort', onAbort);
      this.#settle();
    });
  }

  /**
   * Refuses waiting and new queries, and resolves when every place is free, or after `waitMs`. Resolves to the number
   * of queries still running.
   */
  async close(waitMs: number): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const waiter of [...this.#waiting]) waiter.refuse(closedError());
    if (this.#running.length > 0) {
      await new Promise<void>((resolve) => {
        const waiting = setTimeout(resolve, waitMs);
        this.#onIdle.push(() => {
          clearTimeout(waiting);
          resolve();
        });
      });
    }
    return this.#running.length;
  }

  /** Throws if the query would have to wait and may not; one that has already run may. */
  #checkQueue(turn: Turn): void {
    const { length: count } = this.#waiting;
    const held = this.#running.filter(({ caller }) => caller === turn.caller).length;
    if (turn.isAgain || mayTake(held, this.#running.length, this.#rules.places)) return;
    const own = this.#waiting.filter(({ caller }) => caller === turn.caller);
    if (mayTake(own.length, count, this.#queueMax)) return;
    const yours = own.length > 0 ? `, ${own.length} of them yours` : '';
    throw new ApiError(
      'resource_exceeded',
      `Too many ${this.#of} at once: ${this.#running.length} run and ${count} wait${yours}. Try again later.`,
      { retryAfterMs: this.#drainedMs(own.length > 0 ? own : this.#waiting) },
    );
  }

  /** When these will not wait any more: at the pace of their callers, and when they give up at the latest. */
  #drainedMs(waiters: readonly Waiter[]): number {
    const now = performance.now();
    const drained = Array.from(
      countsOf(waiters),
      ([caller, count]) => this.#drains.get(caller)?.msFor(count, now) ?? 0,
    );
    const givenUp = waiters.map(({ endsAt }) => endsAt - now);
    return Math.round(Math.max(RETRY_MS_MIN, Math.min(Math.max(0, ...drained), Math.max(0, ...givenUp))));
  }

  #take(waiter: Waiter): Place {
    const { caller, askedAt, isAgain, mayRunAgain } = waiter;
    const recall = new AbortController();
    const holder: Holder = { caller, askedAt, isAgain, mayRunAgain, startedAt: performance.now(), recall };
    this.#running.push(holder);
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      remove(this.#running, holder);
      this.#left(holder, !holder.isLeaving);
      this.#settle();
    };
    return { leave, recall: recall.signal };
  }

  #left(turn: Turn, hasEnded: boolean): void {
    if (hasEnded) this.#drains.get(turn.caller)?.ended(performance.now());
    const isOfCaller = ({ caller }: Turn) => caller === turn.caller;
    if (!this.#running.some(isOfCaller) && !this.#waiting.some(isOfCaller)) this.#drains.delete(turn.caller);
  }

  /** Does what `decide` says until there is nothing more to do now. */
  #settle(): void {
    clearTimeout(this.#timer);
    while (!this.#isClosed) {
      const decision = decide({ running: this.#running, waiting: this.#waiting, now: performance.now() }, this.#rules);
      if (decision.do === 'start') decision.query.start();
      else if (decision.do === 'stop') {
        decision.query.isLeaving = true;
        decision.query.recall.abort();
      } else {
        if (decision.do === 'look') this.#timer = setTimeout(() => this.#settle(), Math.ceil(decision.afterMs)).unref();
        break;
      }
    }
    if (this.#running.length === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
