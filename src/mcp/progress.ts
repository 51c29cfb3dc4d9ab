import { setTimeout as delay } from 'node:timers/promises';

/** Reports how far a call is. `done` grows with each report; `total`, in the same unit, is given if it is known. */
export type Progress = (done: number, total: number | undefined, message: string) => void;

/** Reports closer together than this are of no use to a human. */
const PAUSE_MS = 200;
/** How often a call that reports nothing itself is reported as still running. */
const HEARTBEAT_MS = 1_000;

/** Between two looks at how far work is that another process does. */
const LOOK_MS = 500;

/** The progress reports of one call. */
export interface Reports {
  /** For the tool: reports that come too soon, or show no progress since the last one, are dropped. */
  report: Progress;
  /** Nothing is reported after this, since the answer comes next. */
  end(): void;
}

interface Told {
  startedAt: number;
  done: number;
  sentAt: number;
  /** The tool reports its own progress, so elapsed seconds are not reported. */
  isOwn: boolean;
}

/** In the 2025 era a request that asks a human runs twice under one signal; its reports must not restart from zero. */
const requests = new WeakMap<AbortSignal, Told>();

/** Paces the reports of one call of `tool`, and reports elapsed seconds if the tool itself reports nothing. */
export function pacedReports(
  send: Progress,
  tool: string,
  signal: AbortSignal | undefined,
  doing = 'has been running',
): Reports {
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
    if (!told.isOwn) tell(secs, undefined, `${tool} ${doing} for ${secs} s`);
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

/**
 * Runs `work`, which waits for a human between the two runs of a request, and keeps reporting progress: a client that
 * hears nothing would give up the call while its human is still reading the question.
 */
export async function reportedWait<T>(
  send: Progress | undefined,
  tool: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const reports = send === undefined ? undefined : pacedReports(send, tool, signal, 'has been waiting for a human');
  try {
    return await work();
  } finally {
    reports?.end();
  }
}

function toldIn(signal: AbortSignal | undefined): Told {
  const known = signal === undefined ? undefined : requests.get(signal);
  if (known !== undefined) return known;
  const told = { startedAt: performance.now(), done: -1, sentAt: Number.NEGATIVE_INFINITY, isOwn: false };
  if (signal !== undefined) requests.set(signal, told);
  return told;
}

/** Runs `work`, and meanwhile looks how far it is. A look may fail: the work itself says what went wrong. */
export async function whileLooking<T>(
  look: (signal: AbortSignal) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const { signal } = over;
  const looks = async () => {
    for (;;) {
      await delay(LOOK_MS, undefined, { signal });
      await look(signal).catch(() => undefined);
    }
  };
  const looking = looks().catch(() => undefined);
  try {
    return await work();
  } finally {
    over.abort();
    await looking;
  }
}
