import { expect } from 'vitest';
import type { LoadProgress, LoadResult } from '../../../src/contract/load.ts';
import type { LoadCallOptions } from '../../../src/http/client.ts';
import type { LoadCall } from '../../../src/http/load.ts';
import type { DocumentFile } from '../../../src/mcp/tools/file.ts';
import { loadFileTool } from '../../../src/mcp/tools/load-file.ts';
import { fakeClient, notFound } from '../fake-client.ts';

/** What a service does with a load; `next` gives the next chunk of its body. */
export type Service = (load: {
  call: LoadCall;
  next: () => Promise<string | undefined>;
  tell: (progress: Partial<LoadProgress>) => void;
  signal: AbortSignal | undefined;
}) => Promise<Partial<LoadResult>>;

interface Setup {
  /** Of the file, each of the same size in bytes. */
  pieces?: string[] | (() => AsyncGenerator<string>);
  args?: Record<string, unknown>;
  /** Default: takes each line as a document that is added. */
  service?: Service;
  sample?: Partial<LoadResult>;
  getCollection?: () => unknown;
  signal?: AbortSignal;
  /** What else is known of the file. */
  more?: Partial<DocumentFile>;
}

const NOTHING: LoadResult = {
  entries: 0,
  added: 0,
  replaced: 0,
  without_id: 0,
  refused_count: 0,
  refused: [],
  warnings: [],
  stopped: null,
};
export const missing = () => {
  throw notFound('Collection "c" does not exist');
};

/** Takes each line as a document that is added. */
export const takeAll: Service = async ({ next, tell }) => {
  let text = '';
  let added = 0;
  for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
    text += chunk;
    added = text.split('\n').filter((line) => line !== '').length;
    tell({ entries: added, added });
  }
  return { entries: added, added };
};

/** Calls the tool with a file and a service that are told what to do. */
export async function load({
  pieces = ['{"a":1}\n'],
  args = {},
  service = takeAll,
  sample = {},
  signal,
  ...setup
}: Setup) {
  const state = { closed: false, isOpened: false };
  const sent: string[] = [];
  const loads: LoadCall[] = [];
  const reports: [number, number | undefined, string][] = [];
  const { getCollection = () => ({}), more } = setup;
  const fake = fakeClient({ getCollection, createCollection: () => ({}) });
  const client = {
    ...fake.client,
    async load(call: LoadCall, body: AsyncIterable<Buffer>, options: LoadCallOptions = {}): Promise<LoadResult> {
      loads.push(call);
      const chunks = body[Symbol.asyncIterator]();
      const next = async (): Promise<string | undefined> => {
        const { value, done } = await chunks.next();
        if (done === true) return undefined;
        if (call.sample === undefined) sent.push(value.toString());
        return value.toString();
      };
      if (call.sample !== undefined) {
        await next();
        return { ...NOTHING, sample: [{ a: 1 }], is_all: false, ...sample };
      }
      const tell = (progress: Partial<LoadProgress>) => options.onProgress?.({ ...NOTHING, ...progress });
      return { ...NOTHING, ...(await service({ call, next, tell, signal: options.signal })) };
    },
  };
  async function* all() {
    const texts = typeof pieces === 'function' ? pieces() : pieces;
    let read = 0;
    for await (const text of texts) {
      read += Array.isArray(pieces) ? 100 / pieces.length : 10;
      yield { piece: Buffer.from(text), bytesRead: read };
    }
  }
  const file: DocumentFile = {
    path: '/in/a.json',
    format: 'jsonl',
    sentAs: 'jsonl',
    bytes: 100,
    unit: 'line',
    pieces: all,
    close: async () => {
      state.closed = true;
    },
    ...more,
  };
  const tool = loadFileTool();
  const input = tool.read({ path: 'a.json', workspace: 'w', collection: 'c', ...args });
  const context = {
    client,
    signal,
    progress: (...report: [number, number | undefined, string]) => reports.push(report),
    means: {
      openFile: async () => {
        state.isOpened = true;
        return file;
      },
      findFiles: async () => ({ files: [{ path: '/in/a.json', name: 'a.json', bytes: 100 }], leftOut: [] }),
    },
  };
  const run = tool.run(context as never, input);
  const result = await run.finally(() => expect(state.closed).toBe(state.isOpened));
  const calls = fake.calls.map(({ operation }) => operation);
  const { data, next = '', isError } = result;
  return { data, next, isError: isError === true, sent, loads, calls, inputs: fake.calls, reports };
}
