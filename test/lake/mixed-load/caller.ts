import { setTimeout as delay } from 'node:timers/promises';

/** What came of a request: `unclear`: it may have been carried out. */
export type Outcome = { is: 'done'; body: Body } | { is: 'not done' | 'unclear'; why: string };

// biome-ignore lint/suspicious/noExplicitAny: answers of many endpoints
type Body = any;

/** Sends requests to any node. */
export interface Caller {
  send(method: string, path: string, body?: unknown): Promise<Outcome>;
  /** Until it is done; for what may be done twice. */
  must(method: string, path: string, body?: unknown): Promise<Body>;
  /** Until it is not there. */
  remove(path: string): Promise<void>;
  rows(query: string): Promise<Record<string, unknown>[]>;
}

const ANSWER_MS = 30_000;
const AGAIN_MS = 200;
const PATIENCE_MS = 90_000;

export function createCaller(target: () => { base: string; key: string }): Caller {
  async function send(method: string, path: string, body?: unknown): Promise<Outcome> {
    const { base, key } = target();
    let answer: Response;
    let text: string;
    try {
      answer = await fetch(new URL(`/v1/orgs/self${path}`, base), {
        method,
        headers: {
          authorization: `ApiKey ${key}`,
          'content-type': typeof body === 'string' ? 'application/x-ndjson' : 'application/json',
        },
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      text = await answer.text();
      if (text.startsWith('no node')) return { is: 'not done', why: text };
    } catch (error) {
      return { is: 'unclear', why: String(error) };
    }
    const lines = text.trim().split('\n');
    // A load says how it ended in its last line, where it has begun to answer.
    const last = typeof body === 'string' ? JSON.parse(lines.at(-1) ?? '') : JSON.parse(text);
    const status =
      answer.status < 300 && last.error !== undefined && last.data === undefined ? last.status : answer.status;
    if (status < 300) return last.data?.stopped == null ? { is: 'done', body: last } : { is: 'unclear', why: text };
    // Of these alone it is said that nothing is stored.
    if (status === 502 || status === 503) return { is: lines.length > 1 ? 'unclear' : 'not done', why: text };
    if (status >= 500) return { is: 'unclear', why: text };
    throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  }

  async function must(method: string, path: string, body?: unknown): Promise<Body> {
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const outcome = await send(method, path, body);
      if (outcome.is === 'done') return outcome.body;
      if (performance.now() > until) throw new Error(`${method} ${path} was not done: ${outcome.why}`);
      await delay(AGAIN_MS);
    }
  }

  return {
    send,
    must,
    async remove(path) {
      await must('DELETE', path).catch((error: Error) => {
        if (!error.message.includes(': 404 ')) throw error;
      });
    },
    rows: async (query) => (await must('POST', '/queries', { sql: { query } })).results,
  };
}
