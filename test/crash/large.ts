import type { Client } from '../../src/http/client.ts';
import { pick, type Random, type State, type Step, WORKSPACE, type Worker } from './load.ts';

/** Documents per bucket; a bucket is one part of the state. */
const BUCKET = 500;
const BATCH_MAX = 20_000;
const FAR_MAX = 60;
const LOOKUPS = 25;
const EXISTS = 'collection';

/**
 * What the state keeps of a document besides its number: the step that wrote it, and the last that patched it since.
 */
type Marks = readonly [written: number, patched: number];

const idOf = (n: number) => `g${n}`;
const textOf = (n: number, written: number) => `text ${n} of ${written} ${'x'.repeat(40)}`;
const keyOf = (bucket: number) => `bucket ${bucket}`;

/** SQL for a document that no step can have written: its parts come from several documents or several steps. */
export const IS_WRONG = `(_id <> 'g' || n OR t <> 'text ' || n || ' of ' || v || ' ' || repeat('x', 40)
  OR trim(to_json(m)::VARCHAR, '"') <> n::VARCHAR OR p IS NULL)`;

function bucketText(marks: ReadonlyMap<number, Marks>): string {
  const sorted = [...marks].sort(([one], [other]) => one - other);
  return sorted.map(([n, [written, patched]]) => `${n % BUCKET}:${written}:${patched}`).join(',');
}

function readBucket(bucket: number, text: string | undefined): Map<number, Marks> {
  const entries = (text ?? '') === '' ? [] : (text ?? '').split(',');
  return new Map(
    entries.map((entry) => {
      const [n = 0, written = 0, patched = 0] = entry.split(':').map(Number);
      return [bucket * BUCKET + n, [written, patched]];
    }),
  );
}

function marksOf(state: State, n: number): Marks | undefined {
  const bucket = Math.floor(n / BUCKET);
  return readBucket(bucket, state[keyOf(bucket)]).get(n);
}

/** The numbers among these whose documents exist. */
function thereOf(state: State, numbers: readonly number[]): number[] {
  const buckets = new Map<number, Map<number, Marks>>();
  return numbers.filter((n) => {
    const bucket = Math.floor(n / BUCKET);
    const marks = buckets.get(bucket) ?? readBucket(bucket, state[keyOf(bucket)]);
    buckets.set(bucket, marks);
    return marks.has(n);
  });
}

/**
 * The state after `change` was applied to the documents with these numbers; if it returns undefined, the document is
 * deleted.
 */
function changed(
  state: State,
  numbers: readonly number[],
  change: (before: Marks | undefined) => Marks | undefined,
): State {
  const after: Record<string, string> = { ...state };
  const buckets = new Map<number, number[]>();
  for (const n of numbers) {
    const bucket = Math.floor(n / BUCKET);
    const members = buckets.get(bucket) ?? [];
    members.push(n);
    buckets.set(bucket, members);
  }
  for (const [bucket, members] of buckets) {
    const marks = readBucket(bucket, after[keyOf(bucket)]);
    for (const n of members) {
      const made = change(marks.get(n));
      if (made === undefined) marks.delete(n);
      else marks.set(n, made);
    }
    if (marks.size === 0) delete after[keyOf(bucket)];
    else after[keyOf(bucket)] = bucketText(marks);
  }
  return after;
}

export interface LargeOptions {
  collection: string;
  /** Number of documents at first, and roughly later on. */
  documents: number;
  /** Whether the collection is deleted now and then, and created again. */
  isRemade: boolean;
}

/**
 * A collection of many documents. A few, far apart, are patched, replaced and deleted; long ranges are deleted, and
 * with them whole pieces of the table, and come back; meanwhile fields appear and widen.
 */
export function largeWorker({ collection, documents, isRemade }: LargeOptions, random: Random): Worker {
  let step = 0;
  /** Where the next range to delete begins. */
  let deletedTo = 0;
  const place = { workspace: WORKSPACE, collection };
  const far = (most: number) => {
    const count = 1 + pick(random, most);
    return [...new Set(Array.from({ length: count }, () => pick(random, documents)))];
  };
  const range = (from: number) => {
    const length = Math.min(1 + pick(random, BATCH_MAX), documents);
    return Array.from({ length }, (_, index) => (from + index) % documents);
  };
  const documentOf = (n: number, written: number) => ({
    _id: idOf(n),
    n,
    v: written,
    p: 0,
    t: textOf(n, written),
    // A number, until some are text: that changes the column, and thus all its values.
    m: step > 60 && written === step && n % 50 === 0 ? String(n) : n,
    ...(n % 7 === 0 ? { [`x${step % 40}`]: step % 80 < 40 ? step : `s${step}` } : {}),
  });

  function put(state: State, numbers: readonly number[]): Step {
    const data = numbers.map((n) => documentOf(n, step));
    // Of several documents with one id, the last is stored.
    const doubled = random() < 0.3 ? numbers.slice(0, 3).map((n) => documentOf(n, step + 1_000_000)) : [];
    return {
      name: `put ${numbers.length} documents`,
      run: (client) => client.addDocuments({ ...place, data: [...doubled, ...data] }),
      after: changed(state, numbers, () => [step, 0]),
    };
  }

  function patch(state: State, numbers: readonly number[]): Step {
    const there = thereOf(state, numbers);
    // Either one field that has a column, changed in place, or one more that may not have one.
    const isOdd = random() < 0.1;
    const data = there.map((n) => ({
      _id: idOf(n),
      patch: [
        { op: 'add', path: '/p', value: step },
        ...(isOdd ? [{ op: 'add', path: `/y${step % 9}`, value: step % 2 === 0 ? step : 'odd' }] : []),
      ],
    }));
    return {
      name: `patch ${there.length} documents`,
      run: async (client) => (there.length === 0 ? undefined : client.patchDocuments({ ...place, data })),
      after: changed(state, there, (before) => [before?.[0] ?? 0, step]),
    };
  }

  function remove(state: State, numbers: readonly number[]): Step {
    const data = numbers.map((n) => ({ _id: idOf(n) }));
    return {
      name: `delete ${numbers.length} documents`,
      run: (client) => client.deleteDocuments({ ...place, data }),
      after: changed(state, numbers, () => undefined),
    };
  }

  async function fill(client: Client): Promise<void> {
    await client.createCollection({ workspace: WORKSPACE, name: collection });
    for (let from = 0; from < documents; from += BATCH_MAX) {
      const length = Math.min(BATCH_MAX, documents - from);
      await client.addDocuments({ ...place, data: Array.from({ length }, (_, index) => documentOf(from + index, 0)) });
    }
  }

  return {
    name: collection,
    prepare: fill,
    next(state) {
      step += 1;
      const kind = random();
      if (state[EXISTS] === 'no') {
        return {
          name: `create collection ${collection}`,
          run: (client) => client.createCollection({ workspace: WORKSPACE, name: collection }),
          after: { [EXISTS]: 'yes', ...CHECKED },
        };
      }
      if (isRemade && kind < 0.03) {
        return {
          name: `delete collection ${collection}`,
          run: (client) => client.deleteCollection({ ...place }),
          after: { [EXISTS]: 'no', ...CHECKED },
        };
      }
      if (kind < 0.35) return patch(state, far(FAR_MAX));
      if (kind < 0.5) return put(state, far(FAR_MAX));
      if (kind < 0.65) return remove(state, far(FAR_MAX));
      if (kind < 0.72) return patch(state, far(Math.min(4_000, documents / 4)));
      if (kind < 0.76) return put(state, far(Math.min(4_000, documents / 4)));
      if (kind < 0.88) {
        const gone = range(deletedTo);
        deletedTo = ((gone.at(-1) ?? 0) + 1) % documents;
        return remove(state, gone);
      }
      // A range beginning anywhere is stored again.
      return put(state, range((deletedTo + pick(random, documents)) % documents));
    },
    read: (client) => readLarge(client, collection, documents, random),
  };
}

const CHECKED: State = { wrong: '0', lookups: '', statistics: '' };

/** What is stored, by bucket, and any difference between two ways of reading it. */
async function readLarge(client: Client, collection: string, documents: number, random: Random): Promise<State> {
  const listed = await client.listWorkspaceCollections({ workspace: WORKSPACE });
  const found = listed.find(({ name }) => name === collection);
  if (found === undefined) return { [EXISTS]: 'no', ...CHECKED };
  const name = `"${WORKSPACE}"."${collection}"`;
  const rows = async (query: string) => {
    const { results } = await client.runQuery({ sql: { query } });
    return (results ?? []) as Record<string, string | number>[];
  };
  const [counted] = await rows(`SELECT count(*) AS c FROM ${name}`);
  const count = Number(counted?.['c']);
  const state: Record<string, string> = { [EXISTS]: 'yes', ...CHECKED };
  if (found.stats?.doc_count !== count) state['statistics'] = `${found.stats?.doc_count} instead of ${count}`;
  if (count === 0) return state;
  const buckets = await rows(
    `SELECT n // ${BUCKET} AS b, string_agg((n % ${BUCKET}) || ':' || v || ':' || p, ',' ORDER BY n) AS s,
       count(*) FILTER (${IS_WRONG}) AS wrong FROM ${name} GROUP BY 1`,
  );
  for (const { b, s } of buckets) state[keyOf(Number(b))] = String(s);
  state['wrong'] = String(buckets.reduce((sum, { wrong }) => sum + Number(wrong), 0));
  for (let round = 0; round < LOOKUPS; round++) {
    const n = pick(random, documents + 3);
    const [one, ...more] = await rows(`SELECT n, v, p FROM ${name} WHERE _id = '${idOf(n)}'`);
    const marks = marksOf(state, n);
    const wanted = marks === undefined ? undefined : `${n}:${marks.join(':')}`;
    const got = one === undefined ? undefined : `${one['n']}:${one['v']}:${one['p']}`;
    if (wanted !== got || more.length > 0) state['lookups'] += `${idOf(n)}: ${wanted}, looked up ${got}; `;
  }
  return state;
}

/** Reads while others write: at no moment may a document have parts of several, or exist twice. */
export async function readAlong(
  client: Client,
  { collection, documents }: Pick<LargeOptions, 'collection' | 'documents'>,
  random: Random,
): Promise<string | undefined> {
  const name = `"${WORKSPACE}"."${collection}"`;
  const id = idOf(pick(random, documents));
  const from = pick(random, documents);
  const bad = `count(*) FILTER (${IS_WRONG}) AS bad`;
  const query = [
    `SELECT count(*) - count(DISTINCT _id) AS twice, ${bad} FROM ${name}`,
    // The engine sorts, and then reads the other columns by row number.
    `SELECT count(*) - count(DISTINCT _id) AS twice, ${bad} FROM (SELECT * FROM ${name} ORDER BY v DESC, n LIMIT 200)`,
    `SELECT count(*) - count(DISTINCT _id) AS twice, ${bad} FROM (SELECT * FROM ${name} ORDER BY t DESC LIMIT 50 OFFSET 20)`,
    `SELECT count(*) - 1 AS twice, ${bad} FROM ${name} WHERE _id = '${id}' HAVING count(*) > 0`,
    `SELECT count(*) - count(DISTINCT n) AS twice, ${bad} FROM ${name} WHERE n BETWEEN ${from} AND ${from + 30_000}`,
  ][pick(random, 5)] as string;
  const { results } = await client.runQuery({ sql: { query } });
  const [row] = (results ?? []) as { twice: number; bad: number }[];
  if (row === undefined || (Number(row.twice) === 0 && Number(row.bad) === 0)) return undefined;
  return `${JSON.stringify(row)} of ${query}`;
}
