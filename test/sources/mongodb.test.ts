import { readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { BSON, Decimal128, Double, Int32, Long, ObjectId, UUID } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceError } from '../../src/service/sources/source.ts';
import { createPlayer, isScanned, open } from './mongo-player.ts';
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

let names = 0;
/** A collection with these documents. */
async function collectionOf(documents: Record<string, unknown>[]): Promise<string> {
  const name = `c${names++}`;
  if (documents.length > 0) await server.collection(name).insertMany(documents);
  return name;
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ _id: new Int32(n), n: new Int32(n) }));
const player = (name: string, more = {}) => createPlayer(uri, { collection_name: name, ...more });
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
    const name = await collectionOf(
      numbered(ITEMS).map((one) => ({ ...one, pad: 'x'.repeat(Math.floor((6 * 8 * 1024 * 1024) / ITEMS)) })),
    );
    const whole = player(name);
    await whole.play(isScanned);
    expect(whole.documents.size).toBe(ITEMS);
    expect(whole.documents.get('7')?.document).toMatchObject({ n: 7 });
    expect(whole.batches.length).toBeGreaterThan(5);
    expect(whole.batches.at(-1)?.progress).toMatchObject({ phase: 'changes', scanned: ITEMS, scanTotal: ITEMS });
    const restarted = player(name);
    let total = 0;
    while (!isScanned(restarted)) {
      // One batch each time.
      await restarted.play((one) => one.batches.length > total);
      total = restarted.batches.length;
    }
    expect([...restarted.documents.keys()].sort()).toEqual([...whole.documents.keys()].sort());
    expect(restarted.batches.reduce((sum, { changes }) => sum + changes.length, 0)).toBe(ITEMS);
  });

  it('reads nothing that is older than its position, whichever server answers', async () => {
    const name = await collectionOf(numbered(3));
    await player(name).play(isScanned);
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
    const whole = player(name);
    await whole.play(isScanned);
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
    for (const id of ids) {
      // As if a batch had ended behind each.
      const rest = player(name);
      const last = BSON.EJSON.stringify(id, { relaxed: false });
      const first = whole.checkpoints[0] as { scan: object };
      rest.checkpoint = { ...first, plain: 'number', scan: { ...first.scan, last } };
      await rest.play(isScanned);
      const all = [...whole.documents.values()].map(({ document }) => document?.['n']);
      const behind = all.slice(all.indexOf(ids.indexOf(id)) + 1);
      expect([...rest.documents.values()].map(({ document }) => document?.['n'])).toEqual(behind);
    }
  });
});

describe('an _id', () => {
  it.each([
    ['text, beside numbers', ['42', new Int32(42)], ['{"$numberLong":"42"}', '42'], 'x'],
    [
      'UUIDs',
      [new UUID('00000000-0000-4000-8000-00000000000a').toBinary()],
      ['00000000-0000-4000-8000-00000000000a'],
      undefined,
    ],
    [
      'numbers of all types',
      [new Int32(1), new Double(2), Long.fromNumber(3), new Double(0.5)],
      ['0.5', '1', '2', '3'],
      undefined,
    ],
    ['text', ['b', 'a', '"q"'], ['"\\"q\\""', 'a', 'b'], undefined],
  ])('of a collection of %s', async (_, ids, expected, first) => {
    const name = await collectionOf(ids.map((_id) => ({ _id })));
    const one = player(name);
    if (first !== undefined) {
      // The first that was read was a text.
      await one.play(() => true);
      one.checkpoint = { ...one.checkpoint, plain: 'text' };
    }
    await one.play(isScanned);
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
    const one = player(name);
    await one.play(isScanned);
    const { document, declared } = one.documents.get('65a000000000000000000001') ?? {};
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
    const one = player(name);
    await one.play(isScanned);
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
    const name = await collectionOf(numbered(ITEMS).map((one) => ({ ...one, pad: 'x'.repeat(8_000) })));
    const one = player(name, settings);
    let step = 0;
    await one.play(isScanned, async () => {
      if (step++ !== 1) return;
      await server.insert(name, [{ _id: new Int32(ITEMS), n: 'new' }]);
      await server.update(name, new Int32(1), { n: 'updated' });
      await server.update(name, new Int32(ITEMS - 1), { n: 'updated' });
      await server.remove(name, new Int32(2));
      await server.remove(name, new Int32(ITEMS - 2));
      await server.replace(name, new Int32(3), { n: 'replaced' });
    });
    await server.update(name, new Int32(4), { n: 'gone soon' });
    await server.remove(name, new Int32(4));
    await server.insert(name, [{ _id: new Int32(ITEMS + 1), n: 'last' }]);
    await one.play(({ documents }) => documents.has(String(ITEMS + 1)));
    const ns = (ids: number[]) => ids.map((id) => one.documents.get(String(id))?.document?.['n']);
    expect(ns([0, 1, 2, 3, 4, ITEMS - 2, ITEMS - 1, ITEMS, ITEMS + 1])).toEqual([
      0,
      'updated',
      undefined,
      'replaced',
      undefined,
      undefined,
      'updated',
      'new',
      'last',
    ]);
    expect(one.documents.size).toBe(ITEMS - 1);
    expect(one.documents.get('3')?.document).toEqual({ n: 'replaced' });
    for (const checkpoint of one.checkpoints.filter((__, n) => n % 3 === 0)) {
      const again = player(name, settings);
      again.checkpoint = checkpoint;
      // All that was stored up to there.
      again.documents.clear();
      for (const [id, change] of one.documents) again.documents.set(id, change);
      again.documents.delete(String(ITEMS + 1));
      const isAll = checkpoint === one.checkpoints.at(-1);
      if (isAll) continue;
      await again.play(({ documents }) => documents.has(String(ITEMS + 1)));
      expect(again.documents.size).toBe(ITEMS - 1);
    }
  });
});

describe('changes', () => {
  it('of thousands of documents come in bounded batches', async () => {
    const name = await collectionOf(numbered(1));
    const one = player(name);
    await one.play(isScanned);
    await server.insert(
      name,
      numbered(ITEMS + 1)
        .slice(1)
        .map((document) => ({ ...document, when: new Date(0) })),
    );
    await server.update(name, new Int32(0), { n: 'x' });
    await one.play(({ documents }) => documents.size === ITEMS + 1 && documents.get('0')?.document?.['n'] === 'x');
    expect(one.documents.get('5')?.declared?.get('when')).toBe('time');
    const { inserted, updated } = one.checkpoint as unknown as Record<string, { count: number }>;
    expect([inserted?.count, updated?.count]).toEqual([ITEMS, 1]);
    expect(one.batches.at(-1)?.progress.itemTimeMs).toBeGreaterThan(Date.now() - 60_000);
  });

  it('that do not come move the position on', async () => {
    const name = await collectionOf(numbered(1));
    const one = player(name);
    await one.play(isScanned);
    server.happen('other', 'insert');
    const before = JSON.stringify(one.checkpoint?.['token']);
    await one.play(({ checkpoint }) => JSON.stringify(checkpoint?.['token']) !== before);
    server.forget();
    await server.insert(name, [{ _id: new Int32(1) }]);
  });

  it('that are no longer in the oplog are an error, never a gap', async () => {
    const name = await collectionOf(numbered(1));
    const one = player(name);
    await one.play(isScanned);
    await server.insert(name, [{ _id: new Int32(1) }]);
    server.forget();
    const error = await faultOf(one.play(() => false));
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
    const one = player(name);
    await one.play(isScanned);
    await server.insert(name, [{ _id: new Int32(1) }]);
    server.happen(name, kind);
    const error = await faultOf(one.play(() => false));
    expect([error.fault, error.message]).toEqual(['lost', expect.stringContaining(`"shop.${name}" ${why}`)]);
    expect([...one.documents.keys()]).toEqual(['0', '1']);
  });
});

describe('a connection', () => {
  it('that is cut again and again loses and doubles nothing', async () => {
    const name = await collectionOf(numbered(ITEMS).map((one) => ({ ...one, pad: 'x'.repeat(8_000) })));
    const one = createPlayer(weak, { collection_name: name });
    const cutting = setInterval(() => proxy.cut(), 150);
    const errors = await one.playOn(isScanned).finally(() => clearInterval(cutting));
    expect(errors.length).toBeGreaterThan(0);
    expect(one.documents.size).toBe(ITEMS);
    const writing = (async () => {
      for (let n = 0; n < 20; n++) {
        await server.update(name, new Int32(n), { n: 'changed' });
        if (n % 5 === 0) proxy.cut();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    await one.playOn(({ documents }) => documents.get('19')?.document?.['n'] === 'changed');
    await writing;
    expect([...one.documents.values()].filter(({ document }) => document?.['n'] === 'changed').length).toBe(20);
  });

  it('to a server that restarts goes on', async () => {
    const name = await collectionOf(numbered(5));
    const one = player(name);
    await one.play(isScanned);
    const following = one.playOn(({ documents }) => documents.has('5'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await server.restart();
    await server.insert(name, [{ _id: new Int32(5) }]);
    await following;
    expect(one.documents.size).toBe(6);
  });

  it('that is slow is waited for', async () => {
    const name = await collectionOf(numbered(50));
    const one = createPlayer(weak, { collection_name: name });
    proxy.setDelay(50);
    await one.play(isScanned).finally(() => proxy.setDelay(0));
    expect(one.documents.size).toBe(50);
  });

  it('that is refused says so', async () => {
    const name = await collectionOf(numbered(1));
    proxy.setDown(true);
    const error = await faultOf(createPlayer(weak, { collection_name: name }).check()).finally(() =>
      proxy.setDown(false),
    );
    expect([error.fault, error.message]).toEqual([
      'unreachable',
      expect.stringContaining(`MongoDB at 127.0.0.1:${proxy.port} cannot be reached`),
    ]);
  });

  it('ends at once when it is no longer wanted', async () => {
    const name = await collectionOf(numbered(1));
    const reader = await open(uri, { collection_name: name });
    const stopping = new AbortController();
    const batches = reader.read(undefined, stopping.signal)[Symbol.asyncIterator]();
    for (let n = 0; n < 2; n++) await batches.next();
    const waiting = faultOf(
      (async () => {
        for (;;) await batches.next();
      })(),
    );
    await new Promise((resolve) => setTimeout(resolve, 300));
    const startedAt = performance.now();
    stopping.abort(new Error('stopped'));
    expect((await waiting).message).toBe('stopped');
    await reader.close();
    expect(performance.now() - startedAt).toBeLessThan(1_500);
  });
});

describe('check', () => {
  it('is content with what is there', async () => {
    await player(await collectionOf(numbered(1))).check();
  });

  it.each([
    [
      'no such collection',
      () => player('nothing').check(),
      'settings',
      'There is no collection "nothing" in the database "shop"',
    ],
    [
      'a server without a replica set',
      () => createPlayer(`mongodb://127.0.0.1:${server.standalonePort}`, { collection_name: 'c0' }).check(),
      'settings',
      'a replica set of one server is enough',
    ],
    [
      'a file of the machine',
      () => createPlayer(`${uri}&tlsCAFile=/etc/passwd`, { collection_name: 'c0' }).check(),
      'settings',
      'has the option "tlscafile", which names a file',
    ],
    [
      'a sign-in with credentials of the machine',
      () => createPlayer(`${uri}&authMechanism=MONGODB-AWS`, { collection_name: 'c0' }).check(),
      'settings',
      'has the authMechanism "mongodb-aws"',
    ],
    [
      'an option that there is not',
      () => createPlayer(`${uri}&nonsense=1`, { collection_name: 'c0' }).check(),
      'settings',
      'option nonsense is not supported',
    ],
    [
      'TLS where there is none',
      () => createPlayer(`${uri}&tls=true&serverSelectionTimeoutMS=1000`, { collection_name: 'c0' }).check(),
      'unreachable',
      'cannot be reached',
    ],
  ])('finds %s', async (_, check, fault, why) => {
    const error = await faultOf(check());
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
    await createPlayer(at, { collection_name: name }, { tls: { ca_certificate: certificate } }).check();
    const error = await faultOf(createPlayer(`${at}&tls=true`, { collection_name: name }).check());
    expect([error.fault, error.message]).toEqual([
      'settings',
      expect.stringContaining('Give its authority in "tls.ca_certificate" of the integration'),
    ]);
    tls.close();
  });

  it('finds a wrong password, and tells no secret', async () => {
    const name = await collectionOf(numbered(1));
    const denied = {
      ok: 0,
      code: 18,
      codeName: 'AuthenticationFailed',
      errmsg: 'Authentication failed for top%2Fsecret.',
    };
    server.answer('saslstart', denied, 20);
    const wrong = createPlayer(uri.replace('://', '://reader:top%2Fsecret@'), { collection_name: name });
    const error = await faultOf(wrong.check());
    server.answers.length = 0;
    expect([error.fault, error.message]).toEqual([
      'denied',
      expect.stringContaining('lets nobody in as the user "reader"'),
    ]);
    expect(error.message).not.toMatch(/top(%2F|\/)secret/);
  });

  it('finds a user who may not read', async () => {
    const name = await collectionOf(numbered(1));
    server.answer('aggregate', { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized on shop' });
    const error = await faultOf(player(name).check());
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
