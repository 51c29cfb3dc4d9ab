import type { Client } from '../src/http/client.ts';
import type { Baseline } from './baseline.ts';
import { loadSql } from './baseline.ts';
import type { BenchDocument } from './documents.ts';
import { interleaved, median, ms, printHeading, printRow, quantile, timeMs } from './measure.ts';

/** Sends documents in batches, so many requests at a time. Returns the milliseconds that it takes. */
async function loadBatches(client: Client, collection: string, batches: readonly BenchDocument[][], atOnce: number) {
  let next = 0;
  const sendAll = async () => {
    for (let data = batches[next++]; data !== undefined; data = batches[next++]) {
      await client.addDocuments({ workspace: 'bench', collection, data }, { timeoutMs: 600_000 });
    }
  };
  return timeMs(() => Promise.all(Array.from({ length: atOnce }, sendAll)));
}

/** Sends documents in batches, one request after the other. Returns the milliseconds spent in requests. */
export async function load(
  client: Client,
  collection: string,
  documents: Iterable<BenchDocument>,
  batch: number,
): Promise<number> {
  let spent = 0;
  let data: BenchDocument[] = [];
  const send = async () => {
    const body = { workspace: 'bench', collection, data };
    spent += await timeMs(() => client.addDocuments(body, { timeoutMs: 600_000 }));
    data = [];
  };
  for (const document of documents) {
    data.push(document);
    if (data.length === batch) await send();
  }
  if (data.length > 0) await send();
  return spent;
}

/** (b) Documents per second through the HTTP core against DuckDB reading the same documents from a file. */
export async function benchIngest(
  client: Client,
  baseline: Baseline,
  file: string,
  documents: readonly BenchDocument[],
): Promise<void> {
  printHeading(`(b) ingest of ${documents.length} documents of 1 kB`, 'colloquy', 'duckdb alone');
  const perSecond = (elapsed: number) => (documents.length / elapsed) * 1_000;
  for (const [batch, atOnce] of INGEST) {
    const batches = Array.from({ length: documents.length / batch }, (_, index) =>
      documents.slice(index * batch, (index + 1) * batch),
    );
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const name = `ingest-${batch}-${atOnce}-${round}`;
      await client.createCollection({ workspace: 'bench', name });
      ours.push(await loadBatches(client, name, batches, atOnce));
      await client.deleteCollection({ workspace: 'bench', collection: name });
      theirs.push(await timeMs(() => baseline.run(loadSql('ingest', file))));
      await baseline.run('DROP TABLE ingest');
    }
    const [a, b] = [perSecond(median(ours)), perSecond(median(theirs))];
    printRow(
      `batches of ${batch}${atOnce > 1 ? `, ${atOnce} at once` : ''}`,
      `${a.toFixed(0)}/s`,
      `${b.toFixed(0)}/s`,
      a / b,
    );
  }
}

/** Documents of a batch, and batches at once. */
const INGEST = [
  [1_000, 1],
  [10_000, 1],
  [1_000, 2],
  [10_000, 2],
] as const;

const QUERIES: Record<string, string> = {
  'group by': 'SELECT kind, count(*) n, sum(amount) s FROM T GROUP BY kind ORDER BY kind',
  'group by nested + distinct':
    'SELECT "user".address.city c, count(DISTINCT "user".id) n FROM T GROUP BY 1 ORDER BY 1',
  'filter + hours':
    "SELECT substr(created, 1, 13) h, count(*) n FROM T WHERE kind = 'purchase' AND amount > 500 GROUP BY 1 ORDER BY 1",
  'top 10': 'SELECT _id, amount FROM T ORDER BY amount DESC, _id LIMIT 10',
  unnest:
    'SELECT i.sku, sum(i.quantity * i.price) s FROM (SELECT unnest(items) i FROM T) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10',
};

/** (c) Analytic queries through the HTTP core against the same SQL on DuckDB with columns declared by hand. */
export async function benchQueries(client: Client, baseline: Baseline, collection: string): Promise<void> {
  printHeading('(c) analytic queries, median of 9', 'colloquy', 'duckdb alone');
  let [sumOurs, sumTheirs] = [0, 0];
  for (const [name, sql] of Object.entries(QUERIES)) {
    const ask = {
      sql: { query: sql.replace(' T ', ` bench."${collection}" `).replace(' T)', ` bench."${collection}")`) },
    };
    const same = sql.replace(' T ', ' big ').replace(' T)', ' big)');
    const answer = await client.runQuery(ask);
    const expected = await baseline.run(same);
    if (answer.results?.length !== expected.length) throw new Error(`${name}: the two answers differ in length`);
    const times = await interleaved(9, { ours: () => client.runQuery(ask), theirs: () => baseline.run(same) });
    const [a, b] = [median(times.ours), median(times.theirs)];
    sumOurs += a;
    sumTheirs += b;
    printRow(name, ms(a), ms(b), a / b);
  }
  printRow('all five', ms(sumOurs), ms(sumTheirs), sumOurs / sumTheirs);
}

/** (e) One document in, then queried. */
export async function benchFreshness(client: Client, collection: string, rounds: number): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const _id = `fresh-${round}`;
    times.push(
      await timeMs(async () => {
        await client.addDocuments({ workspace: 'bench', collection, data: [{ _id, kind: 'fresh', amount: round }] });
        const query = `SELECT amount FROM bench."${collection}" WHERE _id = :id`;
        const answer = await client.runQuery({ sql: { query, parameters: [{ name: 'id', value: _id }] } });
        if (answer.results?.[0]?.['amount'] !== round) throw new Error(`document ${_id} is not visible`);
      }),
    );
  }
  console.log(`\n(e) add one document, then query it, ${rounds} rounds`);
  console.log(`  p50 ${ms(quantile(times, 0.5))}   p99 ${ms(quantile(times, 0.99))}   max ${ms(Math.max(...times))}`);
}
