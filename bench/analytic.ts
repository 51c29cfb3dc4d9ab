import type { Client } from '../src/http/client.ts';
import type { Baseline } from './baseline.ts';
import { interleaved, median, ms, printHeading, printRow, quantile } from './measure.ts';

/** The queries; `T` is the table. The same for us and for DuckDB. */
export const QUERIES = {
  'group by': 'SELECT kind, count(*) n, sum(amount) s FROM T GROUP BY kind ORDER BY kind',
  'group by nested + distinct':
    'SELECT "user".address.city c, count(DISTINCT "user".id) n FROM T GROUP BY 1 ORDER BY 1',
  'filter + hours':
    "SELECT substr(created, 1, 13) h, count(*) n FROM T WHERE kind = 'purchase' AND amount > 500 GROUP BY 1 ORDER BY 1",
  'top 10': 'SELECT _id, amount FROM T ORDER BY amount DESC, _id LIMIT 10',
  'nested filter': `SELECT count(*) n, avg(amount) a FROM T WHERE "user".address.city = 'Oslo' AND device.screen.width > 2000`,
  unnest:
    'SELECT i.sku, sum(i.quantity * i.price) s FROM (SELECT unnest(items) i FROM T) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10',
  join: `SELECT a.kind, count(*) n FROM T a JOIN (SELECT "user".id u, max(amount) m FROM T GROUP BY 1) b
    ON a."user".id = b.u AND a.amount = b.m GROUP BY 1 ORDER BY 1`,
} as const;

export type QueryName = keyof typeof QUERIES;
export const QUERY_NAMES = Object.keys(QUERIES) as QueryName[];

const ROUNDS = 9;

export function over(table: string, sql: string): string {
  return sql.replaceAll(/\bT\b/g, table);
}

/** (c) Analytic queries through the HTTP core, compared with the same SQL on DuckDB with columns declared by hand. */
export async function benchQueries(client: Client, baseline: Baseline, collection: string): Promise<void> {
  printHeading(`(c) analytic queries, median of ${ROUNDS}`, 'colloquy', 'duckdb alone');
  let [sumOurs, sumTheirs] = [0, 0];
  for (const name of QUERY_NAMES) {
    const ask = { sql: { query: over(`bench."${collection}"`, QUERIES[name]) } };
    const same = over('big', QUERIES[name]);
    const answer = await client.runQuery(ask);
    const expected = await baseline.run(same);
    if (answer.results?.length !== expected.length) throw new Error(`${name}: the two answers differ in length`);
    const times = await interleaved(ROUNDS, { ours: () => client.runQuery(ask), theirs: () => baseline.run(same) });
    const [a, b] = [median(times.ours), median(times.theirs)];
    sumOurs += a;
    sumTheirs += b;
    printRow(name, ms(a), ms(b), a / b);
  }
  printRow('all of them', ms(sumOurs), ms(sumTheirs), sumOurs / sumTheirs);
  await benchSmall(client, baseline, collection);
}

/** Calls until a process is as fast as it gets: Node.js interprets and compiles its code before that. */
const WARM_UP = 2_000;

/** The cost of a trivial query, and of one document by its id: at first, and after the service has been warmed up. */
async function benchSmall(client: Client, baseline: Baseline, collection: string): Promise<void> {
  const byId = (id: string) => `SELECT _id, amount FROM T WHERE _id = '${id}'`;
  const idOf = (round: number) => `doc-${String((round * 7_919) % 10_000).padStart(9, '0')}`;
  let [ours, theirs] = [0, 0];
  const small = {
    ours: () => client.runQuery({ sql: { query: 'SELECT 1' } }),
    theirs: () => baseline.run('SELECT 1'),
  };
  const query = `SELECT _id, amount FROM bench."${collection}" WHERE _id = :id`;
  const point = {
    ours: () => client.runQuery({ sql: { query, parameters: [{ name: 'id', value: idOf(ours++) }] } }),
    theirs: () => baseline.run(over('big', byId(idOf(theirs++)))),
  };
  const print = (what: string, times: Record<keyof typeof small, number[]>) => {
    for (const [name, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const) {
      const [a, b] = [quantile(times.ours, share), quantile(times.theirs, share)];
      printRow(`${what}, ${name}`, ms(a), ms(b), a / b);
    }
  };
  print('SELECT 1, 200 at first', await interleaved(200, small));
  print('one document by its _id, 200 at first', await interleaved(200, point));
  for (let round = 0; round < WARM_UP; round += 1) await point.ours();
  for (let round = 0; round < WARM_UP; round += 1) await point.theirs();
  print(`SELECT 1, 500 after ${WARM_UP} calls`, await interleaved(500, small));
  print(`one document by its _id, 500 after them`, await interleaved(500, point));
}
