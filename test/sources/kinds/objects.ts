import type { TestBucket, TestStore } from '../servers/buckets.ts';
import { startGcs } from '../servers/gcs.ts';
import { startVersitygw } from '../servers/s3.ts';
import type { KindUnderTest, RunningKind } from './kind.ts';

const LINES_MAX = 1_000;

/** Objects of JSON lines; the last item has one of its own. A change is another object. */
export const s3: KindUnderTest = {
  kind: 's3',
  lacks: ['wrong'],
  start: async () => running(await startVersitygw(), { region: 'us-east-1', path_style: true }),
};

export const gcs: KindUnderTest = {
  kind: 'gcs',
  lacks: [],
  async start() {
    const store = await startGcs();
    const wrong = { service_account_key_file_json: store.keyFile(true) };
    return {
      ...(await running(store, {})),
      wrong: (port) => ({ gcp_service_account: wrong, endpoint: `http://127.0.0.1:${port}` }),
    };
  },
};

/** The objects of the items 1 to `count`. */
function keysOf(count: number): string[] {
  const parts = Array.from(
    { length: Math.ceil((count - 1) / LINES_MAX) },
    (_, at) => `part-${at * LINES_MAX + 1}.jsonl`,
  );
  return [...parts, `item-${count}.jsonl`];
}

async function running(
  store: TestStore,
  { region, ...more }: { region?: string; path_style?: boolean },
): Promise<RunningKind> {
  const buckets = new Map<string, TestBucket>();
  const some = await store.createBucket();
  const itemOf = (n: number, v: number) => `${JSON.stringify({ n, v, name: `name of ${n}` })}\n`;
  const bucketOf = (place: string) => {
    const bucket = buckets.get(place);
    if (bucket === undefined) throw new Error(`${place} is not filled`);
    return bucket;
  };
  return {
    port: () => store.port(),
    connection: (port) => ({ ...some.connection(port), ...more }),
    source: (place) => ({
      bucket: bucketOf(place).name,
      settings: { s3_scan_frequency: 'PT1S' },
      ...(region === undefined ? {} : { region }),
    }),
    async fill(place, count) {
      const bucket = await store.createBucket();
      buckets.set(place, bucket);
      for (let from = 1; from < count; from += LINES_MAX) {
        const length = Math.min(LINES_MAX, count - from);
        await bucket.put(
          `part-${from}.jsonl`,
          Array.from({ length }, (_, at) => itemOf(from + at, from + at)).join(''),
        );
      }
      await bucket.put(`item-${count}.jsonl`, itemOf(count, count));
    },
    change: (place, n, v) => bucketOf(place).put(`change-${n}-${-v}.jsonl`, itemOf(n, v)),
    appends: true,
    remove: (place, n) => bucketOf(place).remove(`item-${n}.jsonl`),
    spoil: (place) => bucketOf(place).put('spoilt.jsonl', '{"n": 1,\n'),
    restart: () => store.restart(),
    async bare(place, count) {
      const bucket = bucketOf(place);
      let found = 0;
      for (const key of keysOf(count)) {
        const lines = (await bucket.get(key)).toString().trimEnd().split('\n');
        found += lines.map((line) => JSON.parse(line) as unknown).length;
      }
      return found;
    },
    close: () => store.close(),
  };
}
