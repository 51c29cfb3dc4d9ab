import type { IncomingMessage } from 'node:http';

/*
 * How long bodies may take to arrive. Node.js has one time for all requests of a server (`requestTimeout`), and a load
 * takes as long as its file and its sender's network do.
 */

/** Time for the body of a request to arrive completely; answering may take longer. */
const ARRIVAL_MS = 120_000;
/** Time for the next bytes of a body that may take any time. */
const NEXT_BYTES_MS = 120_000;

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** Calls `late` if the body of a request, whose head has just arrived, is not there in time. */
export function limitArrival(request: IncomingMessage, late: () => void, timeoutMs = ARRIVAL_MS): void {
  const { headers } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  const timer = setTimeout(() => {
    if (!request.complete) late();
  }, timeoutMs).unref();
  timers.set(request, timer);
  request.once('close', () => clearTimeout(timer));
}

/**
 * The body of a request, which from now on may take any time, as long as something of it arrives whenever more is wanted.
 * Throws where it ends before it is complete, or nothing comes. Leaves the connection open, which carries the answer.
 */
export async function* longBody(request: IncomingMessage, timeoutMs = NEXT_BYTES_MS): AsyncGenerator<Buffer> {
  clearTimeout(timers.get(request));
  const bytes = (request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      const next = await inTime(bytes.next(), timeoutMs);
      isWaiting = false;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // It would wait for the bytes as well.
    if (!isWaiting) await bytes.return?.();
  }
}

async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`nothing has arrived for ${timeoutMs / 1_000} seconds`);
    timer = setTimeout(reject, timeoutMs, error).unref();
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
