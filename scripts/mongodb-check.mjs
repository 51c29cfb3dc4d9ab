// What only a real MongoDB shows of its sources: node --import ./scripts/ts-loader.mjs scripts/mongodb-check.mjs <uri>
//
// It needs a replica set, or a sharded cluster, and a user who may write to the database "colloquy_check", which it makes and
// drops. It prints a line for each thing that it looks at, and ends with 1 if one is not as it has to be. `npm run test:sources`
// tries the rest against servers that package registries have.
import { readFile } from 'node:fs/promises';
import { BSON, Decimal128, Int32, Long, MongoClient, ObjectId, UUID } from 'mongodb';
import pino from 'pino';
import { openSource } from '../src/service/sources/mongodb.ts';

const [uri, tlsFile] = process.argv.slice(2);
if (uri === undefined) {
  process.stderr.write(
    'node --import ./scripts/ts-loader.mjs scripts/mongodb-check.mjs <connection string> [<CA certificate>]\n',
  );
  process.exit(2);
}
const tls = tlsFile === undefined ? undefined : { ca_certificate: await readFile(tlsFile, 'utf8') };
const DB = 'colloquy_check';
const WAIT_MS = 30_000;
const client = await new MongoClient(uri, tls && { tls: true, ca: tls.ca_certificate }).connect();
const db = client.db(DB);
let failures = 0;
let collections = 0;

const open = (collection_name, settings = {}, connection_uri = uri) =>
  openSource({
    connection: { connection_uri, tls },
    settings: { database_name: DB, collection_name, ...settings },
    formatParams: null,
    createdMs: Date.now(),
    memory: { after: async () => [] },
    log: pino({ enabled: false }),
  });

/** Reads from a checkpoint on until the condition holds; gives the documents and the last checkpoint. */
async function read(name, { from, documents = new Map(), until, settings, each }) {
  const reader = await open(name, settings);
  const stopping = AbortSignal.timeout(WAIT_MS);
  const enough = new AbortController();
  let checkpoint = from;
  const batches = [];
  const refused = [];
  try {
    for await (const batch of reader.read(from, AbortSignal.any([stopping, enough.signal]))) {
      for (const { id, document, declared } of batch.changes) {
        if (document === null) documents.delete(id);
        else documents.set(id, { document, declared });
      }
      refused.push(...batch.refused);
      checkpoint = JSON.parse(JSON.stringify(batch.checkpoint));
      batches.push(batch);
      await each?.(batch, batches.length);
      if (until({ documents, checkpoint, batches })) break;
    }
  } finally {
    enough.abort();
    await reader.close();
  }
  return { documents, checkpoint, batches, refused };
}

const isScanned = ({ checkpoint }) => checkpoint.scan.ended !== null;
const faultOf = (work) =>
  work.then(
    () => 'no error',
    (error) => error.fault ?? String(error),
  );

function same(what, actual, expected) {
  const [got, wanted] = [actual, expected].map((value) =>
    JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one)),
  );
  if (got === wanted) return;
  throw new Error(`${what}: ${got} and not ${wanted}`);
}

async function look(title, work) {
  const name = `c${++collections}`;
  try {
    const said = await work(db.collection(name), name);
    process.stdout.write(`ok      ${title}${said === undefined ? '' : ` (${said})`}\n`);
  } catch (error) {
    failures += 1;
    process.stdout.write(`NOT OK  ${title}: ${error.message}\n`);
  }
}

const { version } = await db.admin().serverInfo();
process.stdout.write(`MongoDB ${version}\n`);
await db.dropDatabase();

await look('it is found, and what is not there is said', async (collection, name) => {
  await collection.insertOne({ _id: 1 });
  const reader = await open(name);
  await reader.check(AbortSignal.timeout(WAIT_MS)).finally(() => reader.close());
  await db.createCollection(`${name}_view`, { viewOn: name, pipeline: [] });
  for (const none of ['nothing', `${name}_view`]) {
    const other = await open(none);
    same(none, await faultOf(other.check(AbortSignal.timeout(WAIT_MS)).finally(() => other.close())), 'settings');
  }
});

await look('a scan goes on behind an _id of every type, by the index', async (collection, name) => {
  const ids = [
    new BSON.MinKey(),
    new Int32(-1),
    Long.fromString('9007199254740993'),
    1.5,
    Decimal128.fromString('2.5'),
    'text',
    { a: 1 },
    new BSON.Binary(Buffer.from([1])),
    new UUID().toBinary(),
    new ObjectId(),
    true,
    new Date(),
    new BSON.Timestamp({ t: 1, i: 1 }),
    new BSON.MaxKey(),
  ];
  await collection.insertMany(ids.map((_id, n) => ({ _id, n })));
  const whole = await read(name, { until: isScanned });
  same('documents', whole.documents.size, ids.length);
  const order = await collection.find().sort({ _id: 1 }).toArray();
  for (const [place, { n: nth }] of order.entries()) {
    const last = BSON.EJSON.stringify(ids[nth], { relaxed: false });
    const { checkpoint: at } = whole;
    const from = { ...at, scan: { ...at.scan, ended: null, last } };
    const rest = await read(name, { from, until: isScanned });
    const behind = order.slice(place + 1).map(({ n }) => n);
    same(`behind ${last}`, [...rest.documents.values()].map(({ document }) => document.n).sort(), behind.sort());
  }
  const plan = await collection.find().sort({ _id: 1 }).hint({ _id: 1 }).min({ _id: 'text' }).explain();
  if (/"stage":"(?:SORT|COLLSCAN)"/.test(JSON.stringify(plan))) throw new Error('the plan sorts, or reads everything');
});

await look('a large scan while documents change', async (collection, name) => {
  const count = 50_000;
  const all = Array.from({ length: count }, (_, n) => ({ _id: n, n, pad: 'x'.repeat(500) }));
  await collection.insertMany(all, { ordered: false });
  const startedAt = performance.now();
  const { documents } = await read(name, {
    async each(_, batches) {
      if (batches !== 3) return;
      await collection.deleteOne({ _id: 1 });
      await collection.deleteOne({ _id: count - 1 });
      await collection.updateOne({ _id: 2 }, { $set: { n: 'updated' } });
      await collection.updateOne({ _id: count - 2 }, { $set: { n: 'updated' } });
      await collection.replaceOne({ _id: 3 }, { n: 'replaced' });
      await collection.insertOne({ _id: -1, n: 'new' });
    },
    until: ({ documents: now }) => now.has('-1'),
  });
  same('number', documents.size, count - 1);
  const ns = ['1', '2', '3', String(count - 2), String(count - 1)].map((id) => documents.get(id)?.document.n ?? null);
  same('values', ns, [null, 'updated', 'replaced', 'updated', null]);
  return `${Math.round((count / (performance.now() - startedAt)) * 1_000)} a second`;
});

for (const retrieve_full_document of [true, false]) {
  await look(`changes, retrieve_full_document ${retrieve_full_document}`, async (collection, name) => {
    await collection.insertMany([{ _id: 'a', n: 1 }, { _id: 'b', n: 1 }, { _id: 'c' }]);
    const settings = { retrieve_full_document };
    const before = await read(name, { until: isScanned, settings });
    await collection.updateOne({ _id: 'a' }, { $set: { n: 2 } });
    await collection.updateOne({ _id: 'b' }, { $set: { n: 2 } });
    await collection.deleteOne({ _id: 'b' });
    await collection.replaceOne({ _id: 'c' }, { r: 1 });
    await collection.insertOne({ _id: 'd', at: new Date(0) });
    const until = ({ documents }) => documents.has('d');
    const { documents, checkpoint } = await read(name, { ...before, from: before.checkpoint, until, settings });
    same('documents', [...documents].map(([id, { document }]) => [id, document]).sort(), [
      ['a', { n: 2 }],
      ['c', { r: 1 }],
      ['d', { at: '1970-01-01T00:00:00.000Z' }],
    ]);
    same('counts', [checkpoint.inserted.count, checkpoint.updated.count, checkpoint.deleted.count], [1, 3, 1]);
  });
}

await look('a change is seen within two seconds', async (collection, name) => {
  await collection.insertOne({ _id: 0 });
  const lags = [];
  let changedAt = 0;
  await read(name, {
    async each({ changes, progress }) {
      if (progress.phase === 'scan') return;
      if (changedAt > 0 && changes.length > 0) lags.push(performance.now() - changedAt);
      if (changedAt > 0 && changes.length === 0) return;
      changedAt = performance.now();
      await collection.updateOne({ _id: 0 }, { $inc: { n: 1 } });
    },
    until: () => lags.length === 20,
  });
  lags.sort((a, b) => a - b);
  if (lags[19] > 2_000) throw new Error(`${Math.round(lags[19])} ms`);
  return `median ${Math.round(lags[10])} ms, at most ${Math.round(lags[19])} ms`;
});

await look('the position moves on while nothing happens to the collection', async (collection, name) => {
  await collection.insertOne({ _id: 0 });
  const before = await read(name, { until: isScanned });
  await db.collection('other').insertOne({});
  const was = JSON.stringify(before.checkpoint.token);
  await read(name, { from: before.checkpoint, until: ({ checkpoint }) => JSON.stringify(checkpoint.token) !== was });
});

await look('a document that is nearly too large, and one that is', async (collection, name) => {
  await collection.insertOne({ _id: 'a', text: 'x'.repeat(9 * 1024 * 1024) });
  await collection.insertOne({ _id: 'b', text: 'x'.repeat(15 * 1024 * 1024) });
  const before = await read(name, { until: isScanned });
  same('ids', [...before.documents.keys()], ['a']);
  same('refused', before.refused.length, 1);
  await collection.updateOne({ _id: 'b' }, { $set: { more: 1 } });
  await collection.updateOne({ _id: 'a' }, { $set: { more: 1 } });
  const { documents, refused } = await read(name, {
    ...before,
    from: before.checkpoint,
    until: ({ documents: now }) => now.get('a')?.document.more === 1,
  });
  same('ids', [...documents.keys()], ['a']);
  same('refused', refused.length, 1);
});

for (const [title, end] of [
  ['dropped', (collection) => collection.drop()],
  ['renamed', (collection, name) => collection.rename(`${name}_renamed`)],
  [
    'replaced by one that is renamed',
    async (_, name) => {
      await db.collection(`${name}_new`).insertOne({});
      await db.collection(`${name}_new`).rename(name, { dropTarget: true });
    },
  ],
]) {
  await look(`a collection that is ${title} is an error behind its last change`, async (collection, name) => {
    await collection.insertOne({ _id: 'a' });
    const before = await read(name, { until: isScanned });
    await collection.insertOne({ _id: 'b' });
    await end(collection, name);
    const { documents } = before;
    same('fault', await faultOf(read(name, { documents, from: before.checkpoint, until: () => false })), 'lost');
    same('ids', [...documents.keys()].sort(), ['a', 'b']);
  });
}

await look('a position that is gone is an error', async (collection, name) => {
  await collection.insertOne({ _id: 'a' });
  const { checkpoint } = await read(name, { until: isScanned });
  // The same token, but of the year 1970, of which nothing is in the oplog: its seconds are behind the first byte.
  const token = { _data: `8200000001${checkpoint.token._data.slice(10)}` };
  same('fault', await faultOf(read(name, { from: { ...checkpoint, token }, until: () => false })), 'lost');
});

await look('a wrong password is an error that says so', async (_, name) => {
  const wrong = uri.replace(/:\/\/(?:[^/@]*@)?/, '://wrong:wrong-secret@');
  const reader = await open(name, {}, wrong);
  same('fault', await faultOf(reader.check(AbortSignal.timeout(WAIT_MS)).finally(() => reader.close())), 'denied');
});

await look('a database that is dropped is an error', async (collection, name) => {
  await collection.insertOne({ _id: 'a' });
  const { checkpoint } = await read(name, { until: isScanned });
  await db.dropDatabase();
  same('fault', await faultOf(read(name, { from: checkpoint, until: () => false })), 'lost');
});

await db.dropDatabase();
await client.close();
process.stdout.write(failures === 0 ? 'All is as it has to be.\n' : `${failures} not as it has to be.\n`);
process.exit(failures === 0 ? 0 : 1);
