/** Tells whoever waits how far a call is. `done` grows with each report; `total`, in the same unit, where it is known. */
export type Progress = (done: number, total: number | undefined, message: string) => void;

/** Reports that come faster than this say nothing that a human could read. */
const PAUSE_MS = 200;
/** A call that says nothing of itself is reported as still running, this often. */
const HEARTBEAT_MS = 1_000;

/** The reports of one call. */
export interface Reports {
  /** For the tool: what is too soon after the last report, or no further than it, is left out. */
  report: Progress;
  /** Nothing is reported after this: the answer comes next. */
  end(): void;
}

interface Told {
  startedAt: number;
  done: number;
  sentAt: number;
  /** The tool knows how far it is, so that the time it took is not worth telling. */
  isOwn: boolean;
}

/** A request of the older era that asks a human is run twice under one signal, and its reports must not start anew. */
const requests = new WeakMap<AbortSignal, Told>();

/** Paces the reports of one call of `tool`, and reports the seconds it took where the tool itself says nothing. */
export function pacedReports(send: Progress, tool: string, signal: AbortSignal | undefined): Reports {
  const told = toldIn(signal);
  let hasEnded = false;
  const tell: Progress = (done, total, message) => {
    const now = performance.now();
    if (hasEnded || signal?.aborted === true || done <= told.done || now - told.sentAt < PAUSE_MS) return;
    told.done = done;
    told.sentAt = now;
    send(done, total, message);
  };
  const heartbeat = setInterval(() => {
    const secs = Math.floor((performance.now() - told.startedAt) / 1_000);
    if (!told.isOwn) tell(secs, undefined, `${tool} has been running for ${secs} s`);
  }, HEARTBEAT_MS);
  return {
    report(done, total, message) {
      told.isOwn = true;
      tell(done, total, message);
    },
    end() {
      hasEnded = true;
      clearInterval(heartbeat);
    },
  };
}

function toldIn(signal: AbortSignal | undefined): Told {
  const known = signal === undefined ? undefined : requests.get(signal);
  if (known !== undefined) return known;
  const told = { startedAt: performance.now(), done: -1, sentAt: Number.NEGATIVE_INFINITY, isOwn: false };
  if (signal !== undefined) requests.set(signal, told);
  return told;
}
