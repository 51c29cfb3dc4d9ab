/** Where the service is between its start and its end. */
export type Phase = 'starting' | 'ready' | 'closing';

/** One request that is being worked on. */
export interface Visit {
  /** Aborted when the service closes; abort it when the caller hangs up. */
  abort: AbortController;
  /** The request is over. */
  end(): void;
}

/** Which requests run, and what follows when none does. */
export interface Lifecycle {
  readonly phase: Phase;
  enter(): Visit;
  /** Something outlasts its request: the service does not leave for being idle until the returned function is called. */
  hold(): () => void;
  /** The service answers from now on; the idle time begins. */
  ready(): void;
  /** No new work from now on; what can be aborted is. */
  close(): void;
  /** Resolves when no request runs, or after `timeoutMs`. */
  drained(timeoutMs: number): Promise<void>;
}

/** `onIdle` is called when no request came for `idleMs` and none runs; without `idleMs` never. */
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
