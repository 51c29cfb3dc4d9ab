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
  /** To be called when the service is ready to answer; the idle time starts. */
  ready(): void;
  /** Refuses new requests from now on, and aborts those that can be aborted. */
  close(): void;
  /** Resolves when no request is running, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void>;
}

/** `onIdle` is called when no request has come for `idleMs` and none is running; without `idleMs`, never. */
export function createLifecycle(options: { idleMs?: number | undefined; onIdle: () => void }): Lifecycle {
  let phase: Phase = 'starting';
  const visits = new Set<Visit>();
  const waiting = new Set<() => void>();
  const holds = new Set<symbol>();
  let idle: NodeJS.Timeout | undefined;

  function settle(): void {
    clearTimeout(idle);
    if (visits.size > 0) return;
    for (const resolve of waiting) resolve();
    waiting.clear();
    if (phase !== 'ready' || options.idleMs === undefined || holds.size > 0) return;
    idle = setTimeout(options.onIdle, options.idleMs).unref();
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
