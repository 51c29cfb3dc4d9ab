import type { Client } from '../src/http/client.ts';
import type { Baseline } from './baseline.ts';
import { loadSql } from './baseline.ts';
import type { BenchDocument } from './documents.ts';
import type { LocalService } from './local-service.ts';
import { median, ms, printHeading, printRow, quantile, timeMs } from './measure.ts';
import { bodyOf, documentsOf, type Sender } from './sender.ts';

/** Sends bodies of documents, with several requests at a time. Returns the total time in milliseconds. */
async function sendAll(sender: Sender, collection: string, bodies: readonly Buffer[], atOnce: number) {
  let next = 0;
  const send = async () => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      await sender.send('POST', documentsOf(collection), body);
    }
  };
  return timeMs(() => Promise.all(Array.from({ length: atOnce }, send)));
}

/** Sends documents in batches, one request after the other. Returns the milliseconds spent in requests. */
export async function load(
  client: Client,
  collection: string,
  documents: Iterable<Partial<BenchDocument>>,
  batch: number,
): Promise<number> {
  let spent = 0;
  let data: Partial<BenchDocument>[] = [];
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

/** (b) Documents per second over REST, compared with DuckDB reading the same documents from a file. */
export async function benchIngest(
  { client, sender }: Pick<LocalService, 'client' | 'sender'>,
  baseline: Baseline,
  file: string,
  documents: readonly BenchDocument[],
): Promise<void> {
  printHeading(`(b) ingest of ${documents.length} documents of 1 kB`, 'colloquy', 'duckdb alone');
  const perSecond = (elapsed: number) => (documents.length / elapsed) * 1_000;
  for (const [batch, atOnce] of INGEST) {
    const batches = Array.from({ length: documents.length / batch }, (_, index) =>
      bodyOf(documents.slice(index * batch, (index + 1) * batch)),
    );
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const name = `ingest-${batch}-${atOnce}-${round}`;
      await client.createCollection({ workspace: 'bench', name });
      ours.push(await sendAll(sender, name, batches, atOnce));
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

/** Documents per batch, and batches at a time. */
const INGEST = [
  [1_000, 1],
  [10_000, 1],
  [1_000, 2],
  [10_000, 2],
] as const;

/** Rounds between the two that count, until Node.js has compiled the code. */
const WARM_UP = 700;

/** (e) Adding one document, then querying it: `rounds` of them after a start, and as many after `WARM_UP` more. */
export async function benchFreshness(client: Client, collection: string, rounds: number): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < WARM_UP + 2 * rounds; round += 1) {
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
  console.log('\n(e) add one document, then query it');
  const print = (what: string, some: readonly number[]) => {
    const [p50, p99, max] = [quantile(some, 0.5), quantile(some, 0.99), Math.max(...some)].map(ms);
    console.log(`  ${what.padEnd(44)} p50 ${p50}   p99 ${p99}   max ${max}`);
  };
  print(`${rounds} rounds at first`, times.slice(0, rounds));
  print(`${rounds} rounds after ${WARM_UP + rounds}`, times.slice(-rounds));
}
