import { readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer } from 'node:tls';
import { BSON, Decimal128, Double, Int32, Long, ObjectId, UUID } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import * as mongodb from '../../src/service/sources/mongodb.ts';
import type { MongoCheckpoint } from '../../src/service/sources/mongodb-status.ts';
import type { SourceBatch, SourceError } from '../../src/service/sources/source.ts';
import { optionsOf, type Reading, startReading } from './reading.ts';
import { type FaultProxy, startFaultProxy } from './servers/fault-proxy.ts';
import { type MongoReplica, startMongoReplica } from './servers/mongo-replica.ts';
import { command, dataFolder } from './servers/server.ts';
import { ITEMS, type SourceService, startSourceService, until } from './source-tests.ts';

let server: MongoReplica;
let proxy: FaultProxy;
let uri: string;
let weak: string;

beforeAll(async () => {
  server = await startMongoReplica();
  proxy = await startFaultProxy(() => server.port);
  uri = `mongodb://127.0.0.1:${server.port}/?replicaSet=rs0`;
  // Directly: the address that the server says of itself is not the proxy's.
  weak = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true&serverSelectionTimeoutMS=2000`;
});
afterAll(async () => {
  await proxy?.close();
  await server?.close();
});

// The server holds them in its memory.
afterEach(async () => {
  for (const name of filled.splice(0)) await server.collection(name).drop();
});

/** The server sorts all documents again after each cut. */
const SLOW_MS = 200_000;

let names = 0;
const filled: string[] = [];
/** A collection with these documents. */
async function collectionOf(documents: Record<string, unknown>[]): Promise<string> {
  const name = `c${names++}`;
  await server.collection(name).insertMany(documents);
  filled.push(name);
  return name;
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ _id: new Int32(n), n: new Int32(n) }));
/** So large that there are some batches of them. */
const padded = (count: number) =>
  numbered(count).map((one) => ({ ...one, pad: 'x'.repeat(Math.ceil((6 * 8 * 1024 * 1024) / count)) }));

const optionsFor = (name: string, settings: JsonObject = {}, connection: JsonObject = {}) =>
  optionsOf({ connection_uri: uri, ...connection }, { database_name: 'shop', collection_name: name, ...settings });

function read(name: string, settings: JsonObject = {}, stored: SourceBatch[] = [], storeMs = 0): Reading {
  return startReading(mongodb, optionsFor(name, settings), { stored, storeMs });
}

const checkpointOf = ({ batches }: Reading) => batches.at(-1)?.checkpoint as unknown as MongoCheckpoint | undefined;
/** Tokens are in their order. */
const tokenOf = (reading: Reading) => String(checkpointOf(reading)?.token['_data']);
const isScanned = (reading: Reading) => (checkpointOf(reading)?.scan.ended ?? null) !== null;
const itemsOf = ({ batches }: Reading) => batches.reduce((sum, { changes }) => sum + changes.length, 0);

/** What was there at the beginning. */
async function scanned(name: string, settings: JsonObject = {}, stored: SourceBatch[] = []): Promise<Reading> {
  const reading = read(name, settings, stored);
  await reading.until(() => isScanned(reading));
  await reading.stop();
  return reading;
}

/** What comes behind that. */
async function followed(
  before: Reading,
  name: string,
  condition: (one: Reading) => boolean,
  settings: JsonObject = {},
) {
  const reading = read(name, settings, before.batches);
  await reading.until(() => condition(reading));
  await reading.stop();
  return reading;
}

async function check(name: string, connection: JsonObject = {}): Promise<void> {
  const reader = await mongodb.openSource(optionsFor(name, {}, connection));
  try {
    await reader.check(AbortSignal.timeout(20_000));
  } finally {
    await reader.close();
  }
}

const faultOf = (work: Promise<unknown>): Promise<SourceError> =>
  work.then(
    () => Promise.reject(new Error('no error')),
    (error: SourceError) => error,
  );

/** A certificate of 127.0.0.1 that nobody trusts by itself. */
async function selfSigned(): Promise<{ certificate: string; key: string }> {
  const folder = await dataFolder('certificate');
  const args = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1';
  await command('openssl', [...args.split(' '), '-keyout', 'key.pem', '-out', 'cert.pem'], { cwd: folder });
  const [certificate, key] = await Promise.all(
    ['cert.pem', 'key.pem'].map((file) => readFile(join(folder, file), 'utf8')),
  );
  await rm(folder, { recursive: true });
  return { certificate: certificate ?? '', key: key ?? '' };
}

describe('an initial read', () => {
  it('has all documents, in batches, and goes on from each checkpoint', async () => {
    const name = await collectionOf(padded(ITEMS));
    const whole = await scanned(name);
    expect(whole.documents.size).toBe(ITEMS);
    expect(whole.documents.get('7')).toMatchObject({ n: 7 });
    expect(whole.batches.length).toBeGreaterThan(5);
    expect(whole.batches.at(-1)?.progress).toMatchObject({ phase: 'changes', scanned: ITEMS, scanTotal: ITEMS });
    for (let stored = 1; stored < whole.batches.length; stored++) {
      const rest = await scanned(name, {}, whole.batches.slice(0, stored));
      expect(rest.documents.size).toBe(ITEMS);
      expect(itemsOf(rest)).toBe(ITEMS);
    }
  });

  it('reads nothing that is older than its position, whichever server answers', async () => {
    const name = await collectionOf(numbered(3));
    await scanned(name);
    const find = server.commands.findLast(
      ({ name: command, command: { find } }) => command === 'find' && find === name,
    );
    expect(find?.command['readConcern']).toMatchObject({ level: 'majority', afterClusterTime: expect.anything() });
  });

  it('goes on behind an _id of any type to those of the next', async () => {
    const ids = [
      new Int32(-1),
      Long.fromString('9007199254740993'),
      new Double(1.5),
      'text',
      { a: new Int32(1), b: 'x' },
      new UUID('00000000-0000-4000-8000-00000000000a').toBinary(),
      new ObjectId('65a000000000000000000001'),
      '65a000000000000000000001',
      '{"a":1}',
      '42',
      new Int32(42),
      new Date('2026-01-02T03:04:05.678Z'),
      true,
    ];
    const name = await collectionOf(ids.map((_id, n) => ({ _id, n })));
    const whole = await scanned(name);
    expect(new Set(whole.documents.keys())).toEqual(
      new Set([
        '-1',
        '1.5',
        '42',
        '9007199254740993',
        '"42"',
        '"65a000000000000000000001"',
        'text',
        '"{\\"a\\":1}"',
        '{"a":{"$numberInt":"1"},"b":"x"}',
        '{"$binary":{"base64":"AAAAAAAAQACAAAAAAAAACg==","subType":"04"}}',
        '65a000000000000000000001',
        'true',
        '{"$date":{"$numberLong":"1767323045678"}}',
      ]),
    );
    expect(whole.documents.size).toBe(ids.length);
    const all = [...whole.documents.values()].map(({ n }) => n);
    for (const id of ids) {
      // As if a batch had ended behind each.
      const first = whole.batches[0] as SourceBatch;
      const { scan, ...at } = first.checkpoint as unknown as MongoCheckpoint;
      const last = BSON.EJSON.stringify(id, { relaxed: false });
      const checkpoint = { ...at, plain: 'number', scan: { ...scan, last } };
      const rest = await scanned(name, {}, [{ ...first, checkpoint: checkpoint as unknown as JsonObject }]);
      const behind = all.slice(all.indexOf(ids.indexOf(id)) + 1);
      expect([...rest.documents.values()].map(({ n }) => n)).toEqual(behind);
    }
  });
});

describe('an _id', () => {
  it.each([
    ['text, beside numbers', ['42', new Int32(42)], ['{"$numberLong":"42"}', '42'], 'text'],
    [
      'UUIDs',
      [new UUID('00000000-0000-4000-8000-00000000000a').toBinary()],
      ['00000000-0000-4000-8000-00000000000a'],
      null,
    ],
    [
      'numbers of all types',
      [new Int32(1), new Double(2), Long.fromNumber(3), new Double(0.5)],
      ['0.5', '1', '2', '3'],
      null,
    ],
    ['text', ['b', 'a', '"q"'], ['"\\"q\\""', 'a', 'b'], null],
  ])('of a collection of %s', async (_, ids, expected, plain) => {
    const name = await collectionOf(ids.map((_id) => ({ _id })));
    // As if a document with such an `_id` had been read before.
    const first = { ...((await scanned(name)).batches[0] as SourceBatch) };
    const checkpoint = { ...first.checkpoint, plain };
    const one = await scanned(name, {}, [{ ...first, checkpoint }]);
    expect([...one.documents.keys()]).toEqual(expected);
  });
});

describe('types', () => {
  it('are exact, and declared where JSON lacks them', async () => {
    const name = await collectionOf([
      {
        _id: new ObjectId('65a000000000000000000001'),
        int: new Int32(7),
        long: Long.fromString('9007199254740993'),
        small: Long.fromNumber(8),
        double: new Double(1.25),
        nan: new Double(Number.NaN),
        infinite: new Double(Number.NEGATIVE_INFINITY),
        price: Decimal128.fromString('19.90'),
        exact: Decimal128.fromString('1234567890123456.789'),
        tiny: Decimal128.fromString('1E-30'),
        huge: Decimal128.fromString('1E+6000'),
        when: new Date('2026-01-02T03:04:05.678Z'),
        bytes: new BSON.Binary(Buffer.from([0, 255])),
        uuid: new UUID('00000000-0000-4000-8000-00000000000a').toBinary(),
        ref: new ObjectId('65a000000000000000000002'),
        yes: true,
        none: null,
        nested: {
          list: [new Int32(1), { d: new Date(0), u: 'ü€😀' }],
          o: new ObjectId('65a000000000000000000003'),
          p: Decimal128.fromString('0.1'),
        },
        pattern: new BSON.BSONRegExp('^a', 'i'),
        min: new BSON.MinKey(),
        max: new BSON.MaxKey(),
        stamp: new BSON.Timestamp({ t: 5, i: 6 }),
      },
    ]);
    const one = await scanned(name);
    const [change] = one.batches.flatMap(({ changes }) => changes);
    const { document, declared } = change ?? {};
    expect(document).toEqual({
      int: 7,
      long: 9007199254740993n,
      small: 8,
      double: 1.25,
      nan: 'NaN',
      infinite: '-Infinity',
      price: 19.9,
      exact: '1234567890123456.7890000000',
      tiny: 1e-30,
      huge: '1E+6000',
      when: '2026-01-02T03:04:05.678Z',
      bytes: 'AP8=',
      uuid: '00000000-0000-4000-8000-00000000000a',
      ref: '65a000000000000000000002',
      yes: true,
      none: null,
      nested: { list: [1, { d: '1970-01-01T00:00:00.000Z', u: 'ü€😀' }], o: '65a000000000000000000003', p: 0.1 },
      pattern: { $regularExpression: { pattern: '^a', options: 'i' } },
      min: { $minKey: 1 },
      max: { $maxKey: 1 },
      stamp: { $timestamp: { t: 5, i: 6 } },
    });
    expect(Object.fromEntries(declared ?? [])).toEqual({
      price: 'decimal 38 10',
      exact: 'decimal 38 10',
      when: 'time',
      bytes: 'binary',
      uuid: 'uuid',
    });
  });

  it('a document that is too large is refused, and stops nothing', async () => {
    const name = await collectionOf([
      { _id: 'a', ok: true },
      { _id: 'b', text: 'x'.repeat(11 * 1024 * 1024) },
      { _id: 'c', ok: true },
    ]);
    const one = await scanned(name);
    expect([...one.documents.keys()]).toEqual(['a', 'c']);
    expect(one.refused).toEqual([
      {
        item: `${name}/b`,
        reason: expect.stringContaining('one document may have 10485760'),
        text: expect.any(String),
      },
    ]);
  });
});

describe.each([
  ['with the documents of updates', {}],
  ['without them', { retrieve_full_document: false }],
])('changes %s', (_, settings) => {
  it('are followed while it reads and after, and from each checkpoint', async () => {
    const name = await collectionOf(padded(ITEMS));
    const one = read(name, settings, [], 100);
    await one.until(() => one.batches.length > 1);
    await server.insert(name, [{ _id: new Int32(ITEMS), n: 'new' }]);
    await server.update(name, new Int32(1), { n: 'updated' });
    await server.update(name, new Int32(ITEMS - 1), { n: 'updated' });
    await server.remove(name, new Int32(2));
    await server.remove(name, new Int32(ITEMS - 2));
    await server.replace(name, new Int32(3), { n: 'replaced' });
    expect(isScanned(one)).toBe(false);
    await one.until(() => isScanned(one));
    await server.update(name, new Int32(4), { n: 'gone soon' });
    await server.remove(name, new Int32(4));
    await server.insert(name, [{ _id: new Int32(ITEMS + 1), n: 'last' }]);
    const isAll = ({ documents }: Reading) => documents.has(String(ITEMS + 1));
    await one.until(() => isAll(one));
    await one.stop();
    const check = ({ documents }: Reading) => {
      const ids = [0, 1, 2, 3, 4, ITEMS - 2, ITEMS - 1, ITEMS, ITEMS + 1];
      const expected = [0, 'updated', undefined, 'replaced', undefined, undefined, 'updated', 'new', 'last'];
      expect(ids.map((id) => documents.get(String(id))?.['n'])).toEqual(expected);
      expect(documents.size).toBe(ITEMS - 1);
      expect(documents.get('3')).toEqual({ n: 'replaced' });
    };
    check(one);
    for (let stored = 1; stored < one.batches.length; stored += 2) {
      const again = read(name, settings, one.batches.slice(0, stored));
      await again.until(() => tokenOf(again) >= tokenOf(one));
      await again.stop();
      check(again);
    }
  });
});

describe('changes', () => {
  it('of thousands of documents come in bounded batches', async () => {
    const name = await collectionOf(numbered(1));
    const before = await scanned(name);
    const more = numbered(ITEMS + 1).slice(1);
    await server.insert(
      name,
      more.map((document) => ({ ...document, when: new Date(0) })),
    );
    await server.update(name, new Int32(0), { n: 'x' });
    const one = await followed(before, name, ({ documents }) => documents.get('0')?.['n'] === 'x');
    expect(one.documents.size).toBe(ITEMS + 1);
    const five = one.batches.flatMap(({ changes }) => changes).find(({ id }) => id === '5');
    expect(five?.declared?.get('when')).toBe('time');
    expect(checkpointOf(one)).toMatchObject({ inserted: { count: ITEMS }, updated: { count: 1 } });
    expect(one.batches.at(-1)?.progress.itemTimeMs).toBeGreaterThan(Date.now() - 60_000);
  });

  it('that do not come move the position on', async () => {
    const name = await collectionOf(numbered(1));
    const before = await scanned(name);
    server.happen('other', 'insert');
    const one = await followed(before, name, (now) => tokenOf(now) > tokenOf(before));
    // Without that it would be lost now.
    server.forget(one.batches.at(-1)?.checkpoint['token']);
    await server.insert(name, [{ _id: new Int32(1) }]);
    await followed(one, name, ({ documents }) => documents.has('1'));
  });

  it('that are no longer in the oplog are an error, never a gap', async () => {
    const name = await collectionOf(numbered(1));
    const before = await scanned(name);
    await server.insert(name, [{ _id: new Int32(1) }]);
    server.forget();
    const error = await read(name, {}, before.batches).end();
    expect(error.fault).toBe('lost');
    expect(error.message).toContain(`The changes of "shop.${name}" that come next are no longer in MongoDB's oplog`);
  });

  it.each([
    ['drop', 'was dropped in MongoDB'],
    ['rename', 'was renamed, or replaced'],
    ['dropDatabase', 'was dropped with its database'],
    ['invalidate', 'was dropped or renamed'],
  ])('that end with a %s are stored, then it is an error', async (kind, why) => {
    const name = await collectionOf(numbered(1));
    const before = await scanned(name);
    await server.insert(name, [{ _id: new Int32(1) }]);
    server.happen(name, kind);
    const one = read(name, {}, before.batches);
    const error = await one.end();
    expect([error.fault, error.message]).toEqual(['lost', expect.stringContaining(`"shop.${name}" ${why}`)]);
    expect([...one.documents.keys()]).toEqual(['0', '1']);
  });
});

describe('a connection', () => {
  const readWeak = (name: string, stored: SourceBatch[] = []) =>
    startReading(mongodb, optionsFor(name, {}, { connection_uri: weak }), { stored });

  it('that is cut again and again loses and doubles nothing', async () => {
    const name = await collectionOf(padded(ITEMS));
    const one = readWeak(name);
    for (let cuts = 1; cuts <= 5; cuts++) {
      await one.until(() => one.batches.length > cuts, SLOW_MS);
      proxy.cut();
    }
    await one.until(() => isScanned(one), SLOW_MS);
    expect(one.documents.size).toBe(ITEMS);
    for (let n = 0; n < 20; n++) {
      await server.update(name, new Int32(n), { n: 'changed' });
      if (n % 5 === 0) proxy.cut();
      await delay(20);
    }
    await one.until(() => one.documents.get('19')?.['n'] === 'changed');
    await one.stop();
    expect(one.errors.length).toBeGreaterThan(0);
    expect([...one.documents.values()].filter(({ n }) => n === 'changed').length).toBe(20);
  });

  it('to a server that restarts goes on', async () => {
    const name = await collectionOf(numbered(5));
    const one = read(name);
    await one.until(() => isScanned(one));
    await delay(300);
    await server.restart();
    await server.insert(name, [{ _id: new Int32(5) }]);
    await one.until(() => one.documents.has('5'));
    await one.stop();
    expect(one.documents.size).toBe(6);
  });

  it('that is slow is waited for', async () => {
    const name = await collectionOf(numbered(50));
    proxy.setDelay(50);
    const one = readWeak(name);
    await one.until(() => isScanned(one)).finally(() => proxy.setDelay(0));
    await one.stop();
    expect([one.documents.size, one.errors]).toEqual([50, []]);
  });

  it('that is refused says so', async () => {
    const name = await collectionOf(numbered(1));
    proxy.setDown(true);
    const error = await faultOf(check(name, { connection_uri: weak })).finally(() => proxy.setDown(false));
    expect([error.fault, error.message]).toEqual([
      'unreachable',
      expect.stringContaining(`MongoDB at 127.0.0.1:${proxy.port} cannot be reached`),
    ]);
  });

  it('ends at once when it is no longer wanted', async () => {
    const name = await collectionOf(numbered(1));
    const one = read(name);
    await one.until(() => isScanned(one));
    await delay(300);
    const startedAt = performance.now();
    await one.stop();
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });
});

describe('check', () => {
  it('is content with what is there', async () => {
    await check(await collectionOf(numbered(1)));
  });

  it.each([
    [
      'no such collection',
      () => check('nothing'),
      'settings',
      'There is no collection "nothing" in the database "shop"',
    ],
    [
      'a server without a replica set',
      () => check('c0', { connection_uri: `mongodb://127.0.0.1:${server.standalonePort}` }),
      'settings',
      'a replica set of one server is enough',
    ],
    [
      'a file of the machine',
      () => check('c0', { connection_uri: `${uri}&tlsCAFile=/etc/passwd` }),
      'settings',
      'has the option "tlscafile", which names a file',
    ],
    [
      'a sign-in with credentials of the machine',
      () => check('c0', { connection_uri: `${uri}&authMechanism=MONGODB-AWS` }),
      'settings',
      'has the authMechanism "mongodb-aws"',
    ],
    [
      'an option that there is not',
      () => check('c0', { connection_uri: `${uri}&nonsense=1` }),
      'settings',
      'option nonsense is not supported',
    ],
    [
      'TLS where there is none',
      () => check('c0', { connection_uri: `${uri}&tls=true&serverSelectionTimeoutMS=1000` }),
      'unreachable',
      'cannot be reached',
    ],
  ])('finds %s', async (_, work, fault, why) => {
    const error = await faultOf(work());
    expect([error.fault, error.message]).toEqual([fault, expect.stringContaining(why)]);
  });

  it('trusts the certificate that is given, and no other', async () => {
    const name = await collectionOf(numbered(1));
    const { certificate, key } = await selfSigned();
    const tls = createServer({ cert: certificate, key }, (socket) => {
      const behind = connect(server.port, '127.0.0.1');
      socket.on('error', () => behind.destroy()).pipe(behind);
      behind.on('error', () => socket.destroy()).pipe(socket);
    });
    await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
    const { port } = tls.address() as { port: number };
    const at = `mongodb://127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=1000`;
    await check(name, { connection_uri: at, tls: { ca_certificate: certificate } });
    const error = await faultOf(check(name, { connection_uri: `${at}&tls=true` }));
    expect([error.fault, error.message]).toEqual([
      'settings',
      expect.stringContaining('Give its authority in "tls.ca_certificate" of the integration'),
    ]);
    tls.close();
  });

  it('finds a wrong password, and tells no secret', async () => {
    const name = await collectionOf(numbered(1));
    const error = await faultOf(check(name, { connection_uri: uri.replace('://', '://reader:top%2Fsecret@') }));
    expect([error.fault, error.message]).toEqual([
      'denied',
      expect.stringContaining('lets nobody in as the user "reader"'),
    ]);
    expect(error.message).not.toMatch(/top(%2F|\/)secret/);
  });

  it('finds a user who may not read', async () => {
    const name = await collectionOf(numbered(1));
    server.answer('aggregate', { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized on shop' });
    const error = await faultOf(check(name));
    expect([error.fault, error.message]).toEqual(['denied', expect.stringContaining('the role "read" on "shop"')]);
  });
});

describe('in the service', () => {
  let service: SourceService;
  beforeAll(async () => {
    service = await startSourceService();
    await service.createIntegration('mongo', 'mongodb', { connection_uri: uri });
  });
  afterAll(() => service?.remove());

  const source = (collection_name: string) => ({
    integration_name: 'mongo',
    mongodb: { database_name: 'shop', collection_name },
  });

  it('a collection is read with its types, and its changes are seen by queries', async () => {
    const name = await collectionOf(
      numbered(ITEMS).map((one) => ({
        ...one,
        price: Decimal128.fromString('19.90'),
        at: new Date('2026-01-02T03:04:05.678Z'),
        key: new UUID('00000000-0000-4000-8000-00000000000a').toBinary(),
        bytes: new BSON.Binary(Buffer.from([0, 255])),
        customer: { city: 'Bern', ref: new ObjectId('65a000000000000000000001') },
      })),
    );
    const made = await service.createCollection(name, source(name));
    expect(made.text).toContain('"status":"CREATED"');
    // biome-ignore lint/suspicious/noExplicitAny: what the service says.
    const isActive = (one: any) => one.source.status.state === 'ACTIVE';
    await until(() => service.source(name), isActive);
    expect(await service.count(name)).toBe(ITEMS);
    const [types] = await service.rows(
      `SELECT typeof(price) AS price, typeof("at") AS "at", typeof("key") AS "key", typeof(bytes) AS bytes, customer.city AS city, sum(price) OVER () AS total FROM commons.${name} LIMIT 1`,
    );
    expect(types).toMatchObject({ at: 'timestamp', key: 'uuid', bytes: 'bytes', city: 'Bern' });
    await server.update(name, new Int32(1), { n: 'changed' });
    await server.remove(name, new Int32(2));
    await server.insert(name, [{ _id: new Int32(-1), n: 'new' }]);
    await until(
      () => service.count(name),
      (count) => count === ITEMS,
    );
    await until(
      () => service.rows(`SELECT _id FROM commons.${name} WHERE _id IN ('1', '2', '-1') ORDER BY _id`),
      (rows) => JSON.stringify(rows) === '[{"_id":"-1"},{"_id":"1"}]',
    );
    const { source: told } = await service.source(name);
    expect(told.mongodb).toMatchObject({
      database_name: 'shop',
      collection_name: name,
      status: {
        state: 'PROCESSING_STREAM',
        scan_records_processed: ITEMS,
        scan_total_records: ITEMS,
        stream_records_inserted: 1,
        stream_records_updated: 1,
        stream_records_deleted: 1,
        scan_end_time: expect.stringMatching(/Z$/),
      },
    });
    expect(told.status).toMatchObject({ state: 'ACTIVE', total_error_items: 0 });
  });

  it('a collection that is dropped is an error, until it is read anew', async () => {
    const name = await collectionOf(numbered(2));
    await service.createCollection(name, source(name));
    // biome-ignore lint/suspicious/noExplicitAny: what the service says.
    const stateOf = (one: any) => one.source.status.state;
    await until(
      () => service.source(name),
      (one) => stateOf(one) === 'ACTIVE',
    );
    server.happen(name, 'drop');
    const report = await until(
      () => service.source(name),
      (one) => stateOf(one) === 'ERROR',
    );
    expect(report.source.status.message).toContain('was dropped in MongoDB');
    expect(report.source.status.message).toContain('Read it anew');
    expect(await service.count(name)).toBe(2);
    await service.control(name, 'restart');
    await until(
      () => service.source(name),
      (one) => stateOf(one) === 'ACTIVE',
    );
  });

  it('what is wrong is said when the collection is made', async () => {
    const answer = await service.createCollection('wrong', source('nothing'));
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('There is no collection \\"nothing\\" in the database \\"shop\\"'),
    ]);
  });
});
