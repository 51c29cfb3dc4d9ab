import { Readable } from 'node:stream';
import { ApiError } from '../contract/errors.ts';
import { isObject, type JsonValue, parseJson } from '../contract/json/json.ts';
import { type EntryUnit, LOAD, LOAD_TYPE, type LoadProgress, type LoadResult } from '../contract/load.ts';
import { wireRequest } from './request.ts';
import { readFailure } from './response.ts';
import type { RawRequest, RawResponse } from './transport.ts';

/** The arguments of a load, as in the query string and the path of its endpoint. */
export interface LoadCall {
  workspace: string;
  collection: string;
  format: string;
  id_field?: string | undefined;
  sample?: number | undefined;
  skip?: number | undefined;
  line?: number | undefined;
  unit?: EntryUnit | undefined;
  file_field?: string | undefined;
  file_name?: string | undefined;
  header_row?: number | undefined;
  on_error?: 'stop' | 'skip' | undefined;
  csv?: string | undefined;
  types?: string | undefined;
}

/** What is needed of a client to send a load. */
export interface Sender {
  label: string;
  apiKey: string;
  headers: Record<string, string>;
  idleMs: number;
  closing: AbortSignal;
  send(request: RawRequest): Promise<RawResponse>;
}

const PURPOSE = 'load';
/** How much of the body waits to be sent. */
const AHEAD_BYTES = 1024 * 1024;

/**
 * Sends a stream of bytes, once: it cannot be sent again, so there is no other try after a failure. Rejects `request_timeout`
 * when nothing was sent, and nothing answered, for `idleMs`.
 */
export async function sendLoad(
  sender: Sender,
  call: LoadCall,
  body: AsyncIterable<Buffer>,
  { signal, onProgress }: { signal?: AbortSignal | undefined; onProgress?: (progress: LoadProgress) => void },
): Promise<LoadResult> {
  const { path } = wireRequest(PURPOSE, LOAD, call);
  const idle = idleSignal(sender);
  const signals = [idle.signal, sender.closing, ...(signal === undefined ? [] : [signal])];
  const lines = new AnswerLines(onProgress);
  async function* sent() {
    for await (const chunk of body) {
      // What is left is of no use, and the answer ends with the body.
      if (lines.isLast) return;
      idle.touch();
      yield chunk;
    }
  }
  try {
    const response = await sender.send({
      purpose: PURPOSE,
      method: LOAD.method,
      path,
      headers: { ...sender.headers, 'content-type': LOAD_TYPE },
      body: Readable.from(sent(), { objectMode: false, highWaterMark: AHEAD_BYTES }),
      changes: true,
      signal: AbortSignal.any(signals),
      onChunk(text) {
        idle.touch();
        lines.add(text);
      },
    });
    const exchange = { operation: PURPOSE, row: LOAD, label: sender.label, apiKey: sender.apiKey };
    const { last } = lines;
    // A load that stored nothing is refused, with its result.
    if (isObject(last) && isObject(last['data'])) return last['data'] as unknown as LoadResult;
    if (response.status >= 400) throw readFailure(exchange, response);
    const status = isObject(last) && typeof last['status'] === 'number' ? last['status'] : 500;
    if (isObject(last) && 'error' in last) {
      throw readFailure(exchange, { ...response, status, text: JSON.stringify(last['error']) });
    }
    throw new ApiError('connection_failed', `Cannot call ${PURPOSE} at ${sender.label}: its answer ended too early.`);
  } finally {
    idle.stop();
  }
}

/** The lines of an answer, as they arrive. */
class AnswerLines {
  readonly #onProgress: ((progress: LoadProgress) => void) | undefined;
  #rest = '';
  last: JsonValue | undefined;

  /** Whether no line follows. */
  get isLast(): boolean {
    return isObject(this.last) && !('progress' in this.last);
  }

  constructor(onProgress: ((progress: LoadProgress) => void) | undefined) {
    this.#onProgress = onProgress;
  }

  add(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      try {
        this.last = parseJson(line);
      } catch {
        continue;
      }
      if (!isObject(this.last) || !isObject(this.last['progress'])) continue;
      this.#onProgress?.(this.last['progress'] as unknown as LoadProgress);
    }
  }
}

function idleSignal({ idleMs, label }: Sender) {
  const controller = new AbortController();
  let touchedAt = performance.now();
  const timer = setInterval(
    () => {
      if (performance.now() - touchedAt < idleMs) return;
      const why = `${PURPOSE} was given up: nothing was sent to ${label}, and nothing answered, for ${idleMs} ms.`;
      controller.abort(new ApiError('request_timeout', why));
    },
    Math.max(10, Math.min(1_000, idleMs / 4)),
  );
  return {
    signal: controller.signal,
    touch() {
      touchedAt = performance.now();
    },
    stop: () => clearInterval(timer),
  };
}
