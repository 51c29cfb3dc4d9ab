import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, startTestService, type TestService } from '../harness.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

let count = 0;
let docs = '';
let table = '';
beforeEach(async () => {
  table = `t${++count}`;
  docs = `/v1/orgs/self/ws/commons/collections/${table}/docs`;
  await service.call('POST', '/v1/orgs/self/ws/commons/collections', { name: table });
});

interface Row {
  _collection: string;
  _id: string | null;
  status: string;
  error: { message: string; type: string } | null;
  patch_id: string | null;
}

function rows(answer: Answer): Row[] {
  return answer.body.data;
}

/** Adds documents given as JSON text. */
async function add(...texts: string[]): Promise<Answer> {
  return service.call('POST', docs, undefined, { rawBody: `{"data":[${texts.join(',')}]}` });
}

async function patch(id: string, text: string): Promise<Answer> {
  return service.call('PATCH', docs, undefined, {
    rawBody: `{"data":[{"_id":${JSON.stringify(id)},"patch":${text}}]}`,
  });
}

async function select(sql: string): Promise<Record<string, unknown>[]> {
  const answer = await service.call('POST', '/v1/orgs/self/queries', { sql: { query: sql } });
  expect(answer.body).toHaveProperty('results');
  return answer.body.results;
}

describe('the list of documents', () => {
  const send = async (rawBody: string) => (await service.call('POST', docs, undefined, { rawBody })).body;

  it.each([
    ['with other members around it', '{"x":[],"data":[{"_id":"a"}],"y":{"data":[{"_id":null}]}}', ['a']],
    ['given twice: the last counts', '{"data":[{"_id":"a"}],"data":[{"_id":"b"},{"_id":"c"}]}', ['b', 'c']],
    ['whose key has an escape', '{"d\\u0061ta":[{"_id":"a"}]}', ['a']],
    ['before one whose key has an escape', '{"data":[{"_id":"a"}],"d\\u0061ta":[{"_id":"b"}]}', ['b']],
    ['after one whose key has an escape', '{"d\\u0061ta":[{"_id":"b"}],"data":[{"_id":"a"}]}', ['a']],
    ['after a byte order mark', '\ufeff{"data":[{"_id":"a"}]}', ['a']],
    ['with white space everywhere', ' { "data" : [ { "_id" : "a" } , { "_id" : "b" } ] } ', ['a', 'b']],
  ])('%s', async (_, rawBody, ids) => {
    expect((await send(rawBody)).data.map((row: Row) => row._id)).toEqual(ids);
  });

  it.each([
    ['{"data":[{"_id":"a"} {"_id":"b"}]}', 'position 21'],
    ['{"data":[{"_id":"a"},]}', 'position 21'],
    ['{"data":[,{"_id":"a"}]}', 'position 9'],
    ['{"data":[{"_id":"a"}]', 'position 21'],
    ['{"data":[{"_id":"a"}]}}', 'position 22'],
    ['{"data":[{"_id":"a"}},{"_id":"b"}]}', 'position 20'],
    ['{"x":01,"data":[]}', 'position 6'],
  ])('%s is refused with the place of the fault', async (rawBody, position) => {
    expect((await send(rawBody)).message).toContain(position);
  });
});

describe('addDocuments', () => {
  it('answers one row per document, in order, with all keys', async () => {
    const answer = await add('{"_id":"a","n":1}', '{"n":2}', '{"_id":"a","n":3}', '7', '{"_id":8}');
    expect(answer.status).toBe(200);
    expect(keysOf(answer.body)).toEqual(['data', 'last_offset']);
    for (const row of rows(answer)) {
      expect(keysOf(row)).toEqual(['_collection', '_id', 'error', 'patch_id', 'status']);
      expect(row._collection).toBe(`commons.${table}`);
      expect(row.patch_id).toBeNull();
    }
    expect(rows(answer).map((row) => row.status)).toEqual(['ADDED', 'ADDED', 'REPLACED', 'ERROR', 'ERROR']);
    expect(rows(answer)[1]?._id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(await select(`SELECT n FROM ${table} ORDER BY n`)).toEqual([{ n: 2 }, { n: 3 }]);
  });

  it('replaces a document whole', async () => {
    await add('{"_id":"a","x":1,"y":2}');
    expect(rows(await add('{"_id":"a","y":3}'))[0]?.status).toBe('REPLACED');
    expect(await select(`SELECT x, y FROM ${table}`)).toEqual([{ x: null, y: 3 }]);
  });

  it.each([
    ['a string', '"x"', 'must be a JSON object'],
    ['an array', '[{}]', 'must be a JSON object'],
    ['null', 'null', 'must be a JSON object'],
    ['a number for _id', '{"_id":5}', '"_id" must be a string'],
    ['a large number for _id', '{"_id":12345678901234567890}', '"_id" must be a string'],
    ['an object for _id', '{"_id":{}}', '"_id" must be a string'],
    ['an empty _id', '{"_id":""}', 'must not be empty'],
    ['an _id of 1,025 bytes', `{"_id":"${'é'.repeat(512)}x"}`, 'at most 1024 bytes'],
    ['half a surrogate pair in _id', '{"_id":"\\ud800"}', 'surrogate'],
    ['half a surrogate pair in a value', '{"_id":"s","a":{"b":"\\udfff"}}', 'at "/a/b"'],
    ['1e400', '{"_id":"s","a":1e400}', 'too large at "/a"'],
    ['1,000 levels', `{"_id":"s","a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, 'nested more than'],
    ['a word as event time', '{"_id":"s","_event_time":"soon"}', '"_event_time" must be'],
    ['a fraction as event time', '{"_id":"s","_event_time":1.5}', '"_event_time" must be'],
    ['an event time beyond 64 bits', '{"_id":"s","_event_time":99999999999999999999}', '"_event_time" must be'],
  ])('%s is an ERROR row, and the others go in', async (_, text, why) => {
    const answer = await add('{"_id":"before"}', text, '{"_id":"after"}');
    expect(answer.status).toBe(200);
    expect(rows(answer).map((row) => row.status)).toEqual(['ADDED', 'ERROR', 'ADDED']);
    expect(rows(answer)[1]?.error?.message).toContain(why);
    expect(await select(`SELECT count(*) AS n FROM ${table}`)).toEqual([{ n: 2 }]);
  });

  it('takes null for an absent _id and _event_time, and ignores _meta', async () => {
    const answer = await add('{"_id":null,"_event_time":null,"_meta":{"x":1},"a":1}');
    expect(rows(answer)[0]).toMatchObject({ status: 'ADDED', error: null });
    const [row] = await select(`SELECT * FROM ${table}`);
    expect(keysOf(row).sort()).toEqual(['_event_time', '_id', 'a']);
  });

  it('stores event times exactly, and keeps them on replace', async () => {
    await add(
      '{"_id":"a","_event_time":"2024-02-29T12:00:00.123456+02:00"}',
      '{"_id":"b","_event_time":1709164800000001}',
    );
    await add('{"_id":"a","x":1}');
    const found = await select(`SELECT _id, epoch_us(_event_time) AS t FROM ${table} ORDER BY _id`);
    expect(found).toEqual([
      { _id: 'a', t: 1_709_200_800_123_456 },
      { _id: 'b', t: 1_709_164_800_000_001 },
    ]);
  });

  it('keeps 64-bit integers', async () => {
    await add('{"_id":"a","n":9223372036854775807}', '{"_id":"b","n":-9223372036854775808}');
    expect(await select(`SELECT n FROM ${table} ORDER BY _id`)).toEqual([
      { n: '9223372036854775807' },
      { n: '-9223372036854775808' },
    ]);
  });

  it('keeps every value of a field that is an integer, then an object, then text', async () => {
    const answer = await add('{"_id":"a","f":1}', '{"_id":"b","f":{"x":2}}', '{"_id":"c","f":"three"}');
    expect(rows(answer).map((row) => row.status)).toEqual(['ADDED', 'ADDED', 'ADDED']);
    expect(await select(`SELECT _id FROM ${table} WHERE f IS NOT NULL ORDER BY _id`)).toHaveLength(3);
  });

  it.each([
    [
      'quotes, dots, line breaks, emoji and SQL',
      '{"_id":"k","a\\"b":1,"c.d":2,"e\\nf":3,"😀":4,"x; DROP TABLE y; --":5}',
    ],
    ['an empty key', '{"_id":"k","":1}'],
    ['a key named __proto__', '{"_id":"k","__proto__":{"polluted":1},"constructor":2}'],
    ['keys that differ only in case', '{"_id":"k","Name":1,"name":2,"NAME":3}'],
    ['5,000 keys', `{"_id":"k",${Array.from({ length: 5_000 }, (_, i) => `"key${i}":${i}`).join(',')}}`],
    ['100 levels', `{"_id":"k","a":${'['.repeat(100)}${']'.repeat(100)}}`],
    ['another case of _id', '{"_id":"k","_ID":"other","_Event_Time":5}'],
  ])('%s are stored or refused for that document, and do not harm the service', async (_, text) => {
    const answer = await add(text, '{"_id":"plain","ok":true}');
    expect(answer.status).toBe(200);
    expect(rows(answer)[0]?.status).toMatch(/^(?:ADDED|ERROR)$/);
    if (rows(answer)[0]?.status === 'ERROR') expect(rows(answer)[0]?.error?.message).toEqual(expect.any(String));
    expect(rows(answer)[1]?.status).toBe('ADDED');
    expect(await select(`SELECT _id FROM ${table} WHERE _id = 'plain'`)).toEqual([{ _id: 'plain' }]);
    // An accepted document can be patched, which reads it back.
    expect(rows(await patch('plain', '[{"op":"test","path":"","value":{"_id":"plain","ok":true}}]'))[0]).toMatchObject({
      status: 'PATCHED',
    });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each([
    ['{}', '"data" is missing, expected an array'],
    ['{"data":{}}', '"data": expected an array, got a JSON object'],
    ['{"data":null}', '"data": expected an array, got null'],
    ['[{"_id":"a"}]', 'the request body: expected a JSON object, got an array'],
  ])('the body %s is 400', async (rawBody, why) => {
    const answer = await service.call('POST', docs, undefined, { rawBody });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain(`Cannot add documents: ${why}`);
  });

  it('writes to a collection that is being deleted are done or not found, never a failure of the service', async () => {
    const data = Array.from({ length: 500 }, (_, i) => ({ _id: `d${i}`, i }));
    const writes = Array.from({ length: 6 }, () => service.call('POST', docs, { data }));
    const deletion = service.call('DELETE', `/v1/orgs/self/ws/commons/collections/${table}`);
    const late = ['POST', 'DELETE', 'PATCH'].map((method) =>
      service.call(method, docs, { data: data.map(({ _id }) => ({ _id, patch: [] })) }),
    );
    expect((await deletion).status).toBe(200);
    for (const answer of await Promise.all([...writes, ...late])) expect([200, 404]).toContain(answer.status);
  });

  it('no documents are no error', async () => {
    const answer = await add();
    expect([answer.status, answer.body.data]).toEqual([200, []]);
  });

  it('20,000 documents go in', async () => {
    const data = Array.from({ length: 20_000 }, (_, i) => ({ i }));
    const answer = await service.call('POST', docs, { data });
    expect(answer.status).toBe(200);
    expect(await select(`SELECT count(*) AS n FROM ${table}`)).toEqual([{ n: 20_000 }]);
  });

  it('a collection or workspace that does not exist is 404', async () => {
    for (const method of ['POST', 'DELETE', 'PATCH']) {
      const noCollection = await service.call(method, '/v1/orgs/self/ws/commons/collections/qqqqqqq/docs', {
        data: [],
      });
      expect([noCollection.status, noCollection.body.message_key]).toEqual([404, 'COLLECTION_DOES_NOT_EXIST']);
      const noWorkspace = await service.call(method, '/v1/orgs/self/ws/qqqqqq/collections/x/docs', { data: [] });
      expect([noWorkspace.status, noWorkspace.body.message_key]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    }
  });
});

describe('last_offset', () => {
  it('grows with each write, as text and across restarts', async () => {
    const offsets = [(await add('{"_id":"a"}')).body.last_offset, (await add('{"_id":"a"}')).body.last_offset];
    offsets.push((await service.call('DELETE', docs, { data: [{ _id: 'a' }] })).body.last_offset);
    offsets.push((await patch('a', '[]')).body.last_offset);
    await service.stop();
    service = await startTestService({}, service.folder);
    offsets.push((await add('{"_id":"a"}')).body.last_offset);
    expect([...offsets].sort()).toEqual(offsets);
    expect(new Set(offsets).size).toBe(offsets.length);
  });
});

describe('deleteDocuments', () => {
  it('deletes by _id; one that is not there is DELETED too', async () => {
    await add('{"_id":"a"}', '{"_id":"b"}');
    const answer = await service.call('DELETE', docs, { data: [{ _id: 'a' }, { _id: 'never' }, { _id: 'a' }] });
    expect(rows(answer)).toEqual(
      ['a', 'never', 'a'].map((_id) => ({
        _collection: `commons.${table}`,
        _id,
        status: 'DELETED',
        error: null,
        patch_id: null,
      })),
    );
    expect(await select(`SELECT _id FROM ${table}`)).toEqual([{ _id: 'b' }]);
  });

  it.each([
    ['{"data":[{"_id":1}]}', '"data[0]._id": expected a string, got a number'],
    ['{"data":[{"_id":"a"},{}]}', '"data[1]._id" is missing'],
    ['{"data":["a"]}', '"data[0]": expected a JSON object, got a string'],
    ['', '"data" is missing'],
  ])('the body %s is 400', async (rawBody, why) => {
    const answer = await service.call('DELETE', docs, undefined, { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(`Cannot delete documents: ${why}`);
  });
});

describe('patchDocuments', () => {
  it('patches, and gives each patch an id', async () => {
    await add('{"_id":"a","n":9007199254740993,"list":[1]}');
    const answer = await patch(
      'a',
      '[{"op":"INCREMENT","path":"/n","value":2},{"op":"add","path":"/list/-","value":2}]',
    );
    expect(rows(answer)[0]).toMatchObject({ _id: 'a', status: 'PATCHED', error: null });
    expect(rows(answer)[0]?.patch_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await select(`SELECT n, list FROM ${table}`)).toEqual([{ n: '9007199254740995', list: [1, 2] }]);
  });

  it('applies all operations of a document or none', async () => {
    await add('{"_id":"a","n":1}', '{"_id":"b","n":1}');
    const answer = await service.call('PATCH', docs, {
      data: [
        {
          _id: 'a',
          patch: [
            { op: 'replace', path: '/n', value: 5 },
            { op: 'remove', path: '/missing' },
          ],
        },
        { _id: 'b', patch: [{ op: 'replace', path: '/n', value: 6 }] },
      ],
    });
    expect(rows(answer).map((row) => row.status)).toEqual(['ERROR', 'PATCHED']);
    expect(rows(answer)[0]?.error?.message).toContain('patch[1] (remove "/missing") failed');
    expect(rows(answer)[0]?.patch_id).toBeNull();
    expect(await select(`SELECT n FROM ${table} ORDER BY _id`)).toEqual([{ n: 1 }, { n: 6 }]);
  });

  it('applies patches of one _id in order', async () => {
    await add('{"_id":"a","n":1}');
    const entry = { _id: 'a', patch: [{ op: 'increment', path: '/n', value: 1 }] };
    const answer = await service.call('PATCH', docs, { data: [entry, entry, entry] });
    expect(rows(answer).map((row) => row.status)).toEqual(['PATCHED', 'PATCHED', 'PATCHED']);
    expect(await select(`SELECT n FROM ${table}`)).toEqual([{ n: 4 }]);
  });

  it('patches what it read: fields that were null, added, removed, nested', async () => {
    await add('{"_id":"a","x":null,"o":{"p":[{"q":1}]}}');
    const answer = await patch(
      'a',
      '[{"op":"add","path":"/new","value":"v"},{"op":"replace","path":"/o/p/0/q","value":2},{"op":"copy","from":"/_id","path":"/key"}]',
    );
    expect(rows(answer)[0]).toMatchObject({ status: 'PATCHED' });
    const [row] = await select(`SELECT "new", o.p[1].q AS q, "key" FROM ${table}`);
    expect(row).toEqual({ new: 'v', q: 2, key: 'a' });
  });

  it.each([
    ['_id', '[{"op":"replace","path":"/_id","value":"b"}]', '"_id" names the document'],
    ['_event_time', '[{"op":"add","path":"/_event_time","value":1}]', '"_event_time" cannot be patched'],
    ['an unknown op', '[{"op":"merge","path":"/n"}]', '"merge" is no operation'],
    ['a failing test', '[{"op":"test","path":"/n","value":2}]', 'patch[0] (test "/n") failed'],
    ['a prototype', '[{"op":"add","path":"/__proto__/polluted","value":1}]', 'there is no value at "__proto__"'],
    ['half a surrogate pair', '[{"op":"add","path":"/s","value":"\\ud800"}]', 'surrogate'],
    ['1e400', '[{"op":"add","path":"/s","value":1e400}]', 'too large'],
  ])('patching %s is an ERROR row and changes nothing', async (_, operations, why) => {
    await add('{"_id":"a","n":1}');
    const answer = await patch('a', operations);
    expect(answer.status).toBe(200);
    expect(rows(answer)[0]).toMatchObject({
      _id: 'a',
      status: 'ERROR',
      error: { type: 'INVALIDINPUT', message: expect.stringContaining(why) },
    });
    expect(await select(`SELECT n FROM ${table}`)).toEqual([{ n: 1 }]);
  });

  it('an _id that is not there is an ERROR row', async () => {
    const answer = await patch('nobody', '[{"op":"add","path":"/a","value":1}]');
    expect(rows(answer)[0]).toMatchObject({ _id: 'nobody', status: 'ERROR', patch_id: null });
    expect(rows(answer)[0]?.error?.message).toContain('nobody');
  });

  it.each([
    ['{"data":[{"_id":"a"}]}', '"data[0].patch" is missing'],
    ['{"data":[{"_id":"a","patch":{}}]}', '"data[0].patch": expected an array'],
    ['{"data":[{"_id":"a","patch":[{"op":1,"path":"/a"}]}]}', '"data[0].patch[0].op": expected a string'],
    ['{"data":[{"_id":"a","patch":[{"op":"add"}]}]}', '"data[0].patch[0].path" is missing'],
    ['{"data":[{"patch":[]}]}', '"data[0]._id" is missing'],
  ])('the body %s is 400', async (rawBody, why) => {
    const answer = await service.call('PATCH', docs, undefined, { rawBody });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(`Cannot patch documents: ${why}`);
  });
});
