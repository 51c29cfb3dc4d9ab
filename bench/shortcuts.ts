import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import type { ShortcutName } from '../src/engine/duckdb/shortcuts/shortcuts.ts';
import { type Client, createClient } from '../src/http/client.ts';
import { startService } from '../src/service/start.ts';
import { interleaved, median, ms, printHeading, printRow } from './measure.ts';

const BATCH = 5_000;

/** Ids in no order: those that follow each other would be found by the engine's own statistics. */
const idOf = (number: number) => createHash('md5').update(String(number)).digest('hex').slice(0, 24);

function documents(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    const name = `some text ${number}`;
    return { _id: idOf(number), city: `c${number % 97}`, km: number % 1000, name, pos: { lat: number / 7, lon: 1 } };
  });
}

const WIDE = 5_000;

/** Each with sixty fields more. */
function wideDocuments() {
  const more = Array.from({ length: 60 }, (_, field) => [`f${field}`, field % 2 === 0 ? field : `text ${field}`]);
  return documents(0, WIDE).map((one) => ({ ...one, ...Object.fromEntries(more) }));
}

/** A whole service in this process, with documents. */
async function start(folder: string, count: number, shortcutsOff: readonly ShortcutName[]) {
  const socketPath = join(folder, 'service.sock');
  const service = await startService({
    databaseFile: join(folder, 'data.duckdb'),
    adminKeyFile: join(folder, 'admin.key'),
    secretKeyFile: join(folder, 'secret.key'),
    listen: [{ path: socketPath }],
    version: '0.0.0',
    log: pino({ level: 'silent' }),
    shortcutsOff,
  });
  const apiKey = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const client = createClient({ target: { socketPath }, apiKey });
  await client.createCollection({ workspace: 'commons', name: 'c' });
  await client.createCollection({ workspace: 'commons', name: 'wide' });
  await client.addDocuments({ workspace: 'commons', collection: 'wide', data: wideDocuments() });
  let made = 0;
  const next = (many: number) => {
    const data = documents(made, many);
    made += many;
    return { workspace: 'commons', collection: 'c', data };
  };
  while (made < count) await client.addDocuments(next(BATCH));
  const close = async () => {
    await client.close();
    await service.close();
  };
  return { client, next, close, some: () => idOf(Math.floor(Math.random() * count)) };
}

type Running = Awaited<ReturnType<typeof start>>;

const someWide = () => idOf(Math.floor(Math.random() * WIDE));
const byId = ({ client, some }: Running) =>
  client.runQuery({
    sql: { query: 'SELECT * FROM c WHERE _id = :id', parameters: [{ name: 'id', type: 'string', value: some() }] },
  });
const add =
  (count: number) =>
  ({ client, next }: Running) =>
    client.addDocuments(next(count));
const patch =
  (collection: string, count: number) =>
  ({ client, some }: Running) => {
    const ids = new Set(Array.from({ length: count }, () => (collection === 'wide' ? someWide() : some())));
    const data = Array.from(ids, (_id) => ({ _id, patch: [{ op: 'replace', path: '/km', value: 5 }] }));
    return client.patchDocuments({ workspace: 'commons', collection, data } as Parameters<Client['patchDocuments']>[0]);
  };

const ROWS: [ShortcutName, string, rounds: number, (running: Running) => Promise<unknown>][] = [
  ['knownStatements', 'SELECT 1', 300, ({ client }) => client.runQuery({ sql: { query: 'SELECT 1' } })],
  ['knownStatements', 'a document by its id', 100, byId],
  ['lookups', 'a document by its id', 100, byId],
  ['knownIds', 'add 1 document', 150, add(1)],
  ['knownIds', 'add 100 documents', 50, add(100)],
  ['unparsed', 'add 1,000 documents', 40, add(1_000)],
  ['unparsed', 'add 5,000 documents', 15, add(5_000)],
  ['columnUpdates', 'patch 1,000 documents', 20, patch('c', 1_000)],
  ['columnUpdates', 'patch 1,000 documents of 65 fields', 20, patch('wide', 1_000)],
];

/** (p) What each shortcut of the engine wins: a service with all of them beside one without that one. */
export async function benchShortcuts(folder: string, count: number): Promise<void> {
  const withAll = await start(join(folder, 'all'), count, []);
  printHeading(`(p) shortcuts, ${count} documents, medians`, 'without', 'with');
  for (const name of new Set(ROWS.map(([one]) => one))) {
    const without = await start(join(folder, name), count, [name]);
    for (const [one, what, rounds, work] of ROWS) {
      if (one !== name) continue;
      const times = await interleaved(rounds, { without: () => work(without), with: () => work(withAll) });
      const [slow, fast] = [median(times.without), median(times.with)];
      printRow(`${name}: ${what}`, ms(slow), ms(fast), slow / fast);
    }
    await without.close();
  }
  await withAll.close();
}
