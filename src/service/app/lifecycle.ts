/** The state of the service, from start to end. */
export type Phase = 'starting' | 'ready' | 'closing';

/** A request being processed. */
export interface Visit {
  /** Aborted when the service closes; abort it when the caller hangs up. */
  abort: AbortController;
  /** To be called when the request is over. */
  end(): void;
}

/** Tracks running requests and the idle time when there are none. */
export interface Lifecycle {
  readonly phase: Phase;
  enter(): Visit;
  /** For work that outlasts its request: until the returned function is called, the service does not count as idle. */
  hold(): () => void;
  /** An operation is called; `isOwn`: by the one command that the service was started for. */
  called(isOwn: boolean): void;
  /** To be called when the service is ready to answer; the idle time starts. */
  ready(): void;
  /** Refuses new requests from now on, and aborts those that can be aborted. */
  close(): void;
  /** Resolves when no request is running, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void>;
}

export interface LifecycleOptions {
  idleMs?: number | undefined;
  /** The service was started for one command, and until somebody else calls it waits no longer than between two of its calls. */
  isForCommand?: boolean | undefined;
  onIdle: () => void;
}

/** How long a service that was started for one command waits for its next call, in milliseconds. */
const COMMAND_IDLE_MS = 500;
/** How long the first call may take to come, at least: whoever started the service is about to send it. */
const FIRST_CALL_MS = 5_000;

/**
 * `onIdle` is called when no request has come for `idleMs`, or for the first one somewhat longer, and none is running;
 * without `idleMs`, never.
 */
export function createLifecycle({ idleMs, isForCommand = false, onIdle }: LifecycleOptions): Lifecycle {
  let phase: Phase = 'starting';
  let isAlone = isForCommand;
  let isCalled = false;
  const visits = new Set<Visit>();
  const waiting = new Set<() => void>();
  const holds = new Set<symbol>();
  let idle: NodeJS.Timeout | undefined;

  /** How long to wait for the next call; undefined: for ever. */
  function waitMs(): number | undefined {
    if (isAlone) return isCalled ? COMMAND_IDLE_MS : FIRST_CALL_MS;
    return idleMs === undefined || isCalled ? idleMs : Math.max(idleMs, FIRST_CALL_MS);
  }

  function settle(): void {
    clearTimeout(idle);
    if (visits.size > 0) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
    const ms = waitMs();
    if (phase !== 'ready' || ms === undefined || holds.size > 0) return;
    idle = setTimeout(onIdle, ms).unref();
  }

  return {
    get phase() {
      return phase;
    },
    enter() {
      clearTimeout(idle);
      const visit: Visit = {
        abort: new AbortController(),
        end() {
          if (visits.delete(visit)) settle();
        },
      };
      visits.add(visit);
      return visit;
    },
    hold() {
      clearTimeout(idle);
      const own = Symbol();
      holds.add(own);
      return () => {
        if (holds.delete(own)) settle();
      };
    },
    called(isOwn) {
      isCalled = true;
      if (!isOwn) isAlone = false;
    },
    ready() {
      phase = 'ready';
      settle();
    },
    close() {
      phase = 'closing';
      clearTimeout(idle);
      for (const visit of visits) visit.abort.abort();
    },
    async drained(timeoutMs) {
      if (visits.size === 0) return;
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
        setTimeout(resolve, timeoutMs).unref();
      });
    },
  };
}
