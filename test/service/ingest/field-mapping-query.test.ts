import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, type JsonValue } from '../../../src/contract/json/json.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { type Answer, startTestService } from '../harness.ts';
import { COLLECTIONS, madeCollections, statuses } from './made-collections.ts';

const { call, create: createWith, select } = madeCollections();

const create = (sql: string, settings: object = {}) => createWith({ field_mapping_query: { sql }, ...settings });

const add = (name: string, ...data: JsonObject[]): Promise<Answer> =>
  call('POST', `${COLLECTIONS}/${name}/docs`, { data });

const stored = (name: string) => select(`SELECT * EXCLUDE (_event_time) FROM ${name} ORDER BY _id`);
const errors = (answer: Answer) =>
  answer.body.data.map((row: { error: { message: string } | null }) => row.error?.message ?? null);

describe('field_mapping_query', () => {
  it('is returned as it was given, also after a restart, and goes on', async () => {
    const own = await startTestService();
    const query = { sql: 'SELECT _id, a.b AS b, upper(c) AS c FROM _input -- as given' };
    const created = await own.call('POST', COLLECTIONS, { name: 'kept', field_mapping_query: query });
    expect(created.body.data).toMatchObject({ field_mappings: [], field_mapping_query: query });
    await own.stop();
    const again = await startTestService({}, own.folder);
    for (const path of [`${COLLECTIONS}/kept`, COLLECTIONS, '/v1/orgs/self/collections']) {
      const { data } = (await again.call('GET', path)).body;
      expect([data].flat()).toMatchObject([{ field_mapping_query: query, stats: { dropped_doc_count: 0 } }]);
    }
    await again.call('POST', `${COLLECTIONS}/kept/docs`, { data: [{ _id: '1', a: { b: 2 }, c: 'x', d: 4 }] });
    const { body } = await again.call('POST', '/v1/orgs/self/queries', {
      sql: { query: 'SELECT * EXCLUDE (_event_time) FROM kept' },
    });
    expect(body.results).toEqual([{ _id: '1', b: 2, c: 'X' }]);
    await again.remove();
  });

  it('is not there where a collection has none', async () => {
    await call('POST', COLLECTIONS, { name: 'plain', field_mapping_query: null });
    const { data } = (await call('GET', `${COLLECTIONS}/plain`)).body;
    expect(data).not.toHaveProperty('field_mapping_query');
    expect(data.stats).not.toHaveProperty('dropped_doc_count');
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['SELECT * FROM _input', { _id: '1', a: { b: [1] } }, { _id: '1', a: { b: [1] } }],
    ['SELECT * EXCEPT (foo), foo AS bar FROM _input', { _id: '1', foo: 1, x: 2 }, { _id: '1', bar: 1, x: 2 }],
    [
      'SELECT _id, name.first AS f, name.last FROM _input',
      { _id: '1', name: { first: 'A', last: 'B' } },
      { _id: '1', f: 'A', last: 'B' },
    ],
    [
      'SELECT _id, TO_HEX(SHA256(email)) AS h FROM _input',
      { _id: '1', email: 'a' },
      { _id: '1', h: 'CA978112CA1BBDCAFAC231B39A23DC4DA786EFF8147C4E72B9807785AFEE48BB' },
    ],
    ['SELECT _id, TOKENIZE(t) AS w FROM _input', { _id: '1', t: 'One two' }, { _id: '1', w: ['one', 'two'] }],
    ['SELECT CAST(n AS string) AS _id, n FROM _input', { _id: 'x', n: 7 }, { _id: '7', n: 7 }],
    ["SELECT a || '-' || b AS _id FROM _input", { a: 'x', b: 'y' }, { _id: 'x-y' }],
    ["SELECT _id, COALESCE(x, y, 'none') AS v FROM _input", { _id: '1', y: 'b' }, { _id: '1', v: 'b' }],
    [
      'SELECT _id, JSON_PARSE(p).k AS k, TRY_CAST(s AS int) AS n FROM _input',
      { _id: '1', p: '{"k": "v"}', s: 'x' },
      { _id: '1', k: 'v' },
    ],
    [
      "SELECT *, upper(a) AS a, b.c[2]['d'] AS d FROM _input",
      { _id: '1', a: 'x', b: { c: [0, { d: 5 }] } },
      { _id: '1', a: 'X', b: { c: [0, { d: 5 }] }, d: 5 },
    ],
    ['SELECT * REPLACE (a + 1 AS a) FROM _input i', { _id: '1', a: 1 }, { _id: '1', a: 2 }],
    ['SELECT *, NULL AS gone FROM _input', { _id: '1', gone: 1, a: 2 }, { _id: '1', a: 2 }],
    ['SELECT _id, A AS x, _input.a AS y FROM _input', { _id: '1', a: 1 }, { _id: '1', y: 1 }],
    ['SELECT _id, a.b[1] AS p, a[1].b AS q, c.d AS r FROM _input', { _id: '1', a: { b: 3 }, c: [1] }, { _id: '1' }],
  ])('%s', async (sql, given, expected) => {
    const name = await create(sql);
    expect(statuses(await add(name, given))).toEqual(['ADDED']);
    const [document = {}] = await stored(name);
    expect(Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null))).toMatchObject(expected);
    expect(
      Object.keys(document)
        .filter((key) => document[key] !== null)
        .sort(),
    ).toEqual(Object.keys(expected).sort());
  });

  it('gives fields the types of its SQL, and _event_time its time', async () => {
    const name = await create(
      'SELECT _id, CAST(d AS date) AS day, CAST(m AS decimal(30, 20)) AS m, TIMESTAMP_SECONDS(u) AS _event_time FROM _input',
    );
    await add(name, { _id: 'a', d: '2024-01-02', m: '1.00000000000000000001', u: 1_700_000_000 });
    expect(await select(`SELECT typeof(day) AS d, CAST(m AS string) AS m, _event_time AS t FROM ${name}`)).toEqual([
      { d: 'date', m: '1.00000000000000000001', t: '2023-11-14T22:13:20.000000Z' },
    ]);
  });

  it('makes an _id, and takes the time of arrival, where it has no such output or it is NULL', async () => {
    const before = Date.now();
    const name = await create('SELECT a FROM _input');
    const answer = await add(name, { _id: 'mine', _event_time: '2001-01-01T00:00:00Z', a: 1 });
    const [document] = await select(`SELECT _id, unix_millis(_event_time) AS t, a FROM ${name}`);
    expect(document).toEqual({ _id: answer.body.data[0]._id, t: expect.any(Number), a: 1 });
    expect(document?.['_id']).not.toBe('mine');
    expect(document?.['t']).toBeGreaterThan(before - 60_000);
    const nulls = await create('SELECT NULL AS _id, NULL AS _event_time, a FROM _input');
    expect(statuses(await add(nulls, { a: 1 }, { a: 1 }))).toEqual(['ADDED', 'ADDED']);
  });

  it('leaves out documents for which the condition is not true, and says so', async () => {
    const name = await create(
      "SELECT *, CAST(n AS int) AS n FROM _input WHERE kind <> 'skip' AND TRY_CAST(n AS int) > 0",
    );
    await add(name, { _id: 'old', kind: 'a', n: 1 });
    const documents: JsonObject[] = [
      { _id: 'a', kind: 'a', n: '5' },
      { _id: 'old', kind: 'skip', n: 5 },
      { _id: 'c', n: 5 },
      { kind: 'a', n: { an: 'object' } },
      { _id: 'e', kind: 'a', n: 'not a number' },
    ];
    const answer = await add(name, ...documents);
    expect(statuses(answer)).toEqual(['ADDED', 'DELETED', 'DELETED', 'DELETED', 'DELETED']);
    expect(answer.body.data.map(({ _id, error }: JsonObject) => [_id, error])).toEqual([
      ...['a', 'old', 'c'].map((id) => [id, null]),
      [null, null],
      ['e', null],
    ]);
    expect(answer.body.warnings).toEqual([expect.stringMatching(/^4 documents .* not stored: the WHERE .* DELETED/)]);
    expect(await select(`SELECT _id, n FROM ${name} ORDER BY _id`)).toEqual([
      { _id: 'a', n: 5 },
      { _id: 'old', n: 1 },
    ]);
    const { stats } = (await call('GET', `${COLLECTIONS}/${name}`)).body.data;
    expect(stats).toMatchObject({ doc_count: 2, dropped_doc_count: 4 });
  });

  it('refuses documents for which an expression fails, each by itself, with the field', async () => {
    const name = await create(
      'SELECT _id, CAST(a AS int) AS a, upper(b) AS b, o.x AS x FROM _input WHERE a > 0 OR b IS NOT NULL',
    );
    const answer = await add(
      name,
      { _id: '1', a: 1, b: 'x' },
      { _id: '2', a: 1, b: 7 },
      { _id: '3', a: 'many' },
      { _id: '4', a: 2 ** 40, b: 'y', o: 'text' },
      { _id: '5', b: 'z', a: 'many' },
    );
    expect(statuses(answer)).toEqual(['ADDED', 'ERROR', 'ERROR', 'ADDED', 'ERROR']);
    expect(errors(answer)).toMatchObject([
      null,
      expect.stringMatching(/^field_mapping_query cannot make "b": .*upper\(BIGINT\)/),
      expect.stringMatching(/^the WHERE of field_mapping_query fails: /),
      null,
      expect.stringMatching(/^the WHERE of field_mapping_query fails: Cannot compare/),
    ]);
    expect(JSON.stringify(errors(answer))).not.toMatch(/:p\d/);
  });

  it.each<[string, JsonObject, string]>([
    ['SELECT n AS _id FROM _input', { n: 7 }, 'CAST(… AS VARCHAR)'],
    ["SELECT '' AS _id FROM _input", { n: 7 }, 'must not be empty'],
    ["SELECT 'never' AS _event_time FROM _input", { n: 7 }, 'cannot make "_event_time"'],
    ["SELECT CAST('nan' AS double) AS x FROM _input", { n: 7 }, 'cannot make "x": it gives NaN'],
  ])('%s makes a document that cannot be stored', async (sql, document, why) => {
    expect(errors(await add(await create(sql), document))).toEqual([expect.stringContaining(why)]);
  });

  it('comes before event_time_info, which also sees fields that it leaves out', async () => {
    const name = await create('SELECT _id, a FROM _input WHERE a > 0', { event_time_info: { field: 'at' } });
    const answer = await add(name, { _id: '1', a: 1, at: '2020-01-01T00:00:00Z' }, { _id: '2', a: 0, at: 'never' });
    expect(statuses(answer)).toEqual(['ADDED', 'DELETED']);
    expect(await select(`SELECT _event_time AS t, a FROM ${name}`)).toEqual([
      { t: '2020-01-01T00:00:00.000000Z', a: 1 },
    ]);
  });

  it('is not applied to patches', async () => {
    const name = await create('SELECT _id, upper(a) AS a FROM _input WHERE a IS NOT NULL');
    await add(name, { _id: '1', a: 'x' });
    await call('PATCH', `${COLLECTIONS}/${name}/docs`, {
      data: [{ _id: '1', patch: [{ op: 'REPLACE', path: '/a', value: 'y' }] }],
    });
    expect(await stored(name)).toEqual([{ _id: '1', a: 'y' }]);
  });

  it.each<[unknown, number, string]>([
    [{ sql: 'SELECT a FROM _input GROUP BY a' }, 400, 'field_mapping_query is refused: The query must be SELECT'],
    [{ sql: 'SELECT * FROM plain_orders' }, 400, 'the document is _input, and no collection can be read'],
    [{ sql: ' ' }, 400, '"field_mapping_query.sql" is empty'],
    [{ sql: 'SELECT a AS _meta FROM _input' }, 400, 'which documents do not have'],
    [{ sql: "SELECT *, 'DELETE' AS _op FROM _input" }, 400, 'deleteDocuments deletes'],
    ['SELECT * FROM _input', 400, 'field_mapping_query'],
    [{ sql: 7 }, 400, 'field_mapping_query.sql'],
    [{ query: 'SELECT * FROM _input' }, 400, 'field_mapping_query'],
  ])('%j is refused', async (field_mapping_query, status, why) => {
    const answer = await call('POST', COLLECTIONS, { name: 'refused', field_mapping_query });
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(why)]);
    expect((await call('GET', `${COLLECTIONS}/refused`)).status).toBe(404);
  });

  it('is refused beside field_mappings, and says where a mistake is', async () => {
    const field_mappings = [{ name: 'm', is_drop_all_fields: true }];
    const query = { sql: 'SELECT * FROM _input' };
    const both = await call('POST', COLLECTIONS, { name: 'both', field_mappings, field_mapping_query: query });
    expect(both.body.message).toContain('"field_mappings" and "field_mapping_query" are both there');
    const wrong = { sql: 'SELECT a,\n  uper(b) AS b FROM _input' };
    const { body } = await call('POST', COLLECTIONS, { name: 'wrong', field_mapping_query: wrong });
    expect(body).toMatchObject({ type: 'QUERY_ERROR', line: 2, column: 3 });
  });

  it('does the same to random documents as a simple model in JavaScript', { ...MORE, timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(queries, fc.array(documents, { minLength: 1, maxLength: 8 }), check),
      propertyRuns(40, 10),
    );
  });
});

/** Expressions over `a` and `o.x`, with what they yield; undefined: they fail. */
const EXPRESSIONS: Record<string, (document: JsonObject) => JsonValue | undefined> = {
  a: ({ a = null }) => a,
  '_input.o.x': (document) => xIn(document),
  'CAST(a AS integer)': ({ a = null }) => {
    if (a === null || typeof a === 'number') return a;
    return typeof a === 'string' && /^\d+$/.test(a) ? Number(a) : undefined;
  },
  "{'k': a, 'x': o.x}": (document) => ({ k: document['a'] ?? null, x: xIn(document) }),
  "pg_typeof(o['x']) || '!'": (document) => {
    const x = xIn(document);
    return `${x === null ? '"null"' : typeof x === 'number' ? 'bigint' : 'varchar'}!`;
  },
};
/** Text is compared with a number as one, which it has to be. */
const CONDITIONS: Record<string, (document: JsonObject) => boolean | undefined> = {
  '': () => true,
  'WHERE a IS NOT NULL': ({ a = null }) => a !== null,
  'WHERE o.x IS DISTINCT FROM 1': (document) => {
    const x = xIn(document);
    if (typeof x !== 'string') return x !== 1;
    return /^\d+$/.test(x) ? Number(x) !== 1 : undefined;
  },
  'WHERE NULL': () => false,
};
const STARS: Record<string, readonly string[] | null> = { '': null, '*, ': [], '* EXCEPT (z), ': ['z'] };

function xIn({ o }: JsonObject): JsonValue {
  return isObject(o ?? null) ? ((o as JsonObject)['x'] ?? null) : null;
}

const leaf = fc.oneof(fc.constantFrom<JsonValue>('x', '12', '', null), fc.integer({ min: -99, max: 99 }));
const documents = fc.record<JsonObject>(
  {
    a: leaf,
    o: fc.oneof(leaf, fc.record<JsonObject>({ x: fc.oneof(leaf, fc.constant(1)) }, { requiredKeys: [] })),
    z: leaf,
  },
  { requiredKeys: [] },
);
const queries = fc.record({
  star: fc.constantFrom(...Object.keys(STARS)),
  condition: fc.constantFrom(...Object.keys(CONDITIONS)),
  outputs: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'z'), fc.constantFrom(...Object.keys(EXPRESSIONS))),
});

/** The document as the query should make it; 'ERROR' or 'DELETED': it makes none. */
function model(
  given: JsonObject,
  { star, condition, outputs }: { star: string; condition: string; outputs: Record<string, string> },
) {
  const isKept = CONDITIONS[condition]?.(given);
  if (isKept !== true) return isKept === undefined ? 'ERROR' : 'DELETED';
  const hidden = STARS[star] ?? Object.keys(given);
  const made: JsonObject = Object.fromEntries(
    Object.entries(given).filter(([key]) => !hidden.includes(key) && key !== '_id'),
  );
  for (const [name, expression] of Object.entries(outputs)) {
    const value = EXPRESSIONS[expression]?.(given);
    if (value === undefined) return 'ERROR';
    made[name] = value;
  }
  return made;
}

/** Null, missing and empty objects are the same. */
function bare(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? undefined;
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const inner = bare(item);
    return inner === undefined ? [] : [[key, inner] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

async function check(query: Parameters<typeof model>[1], given: JsonObject[]): Promise<void> {
  const items = Object.entries(query.outputs).map(([name, sql]) => `${sql} AS ${name}`);
  // A star has the id with it.
  const id = query.star === '' ? '_id, ' : query.star;
  const name = await create(`SELECT ${id}${items.join(', ')} FROM _input ${query.condition}`);
  const answer = await add(name, ...given.map((document, index) => ({ ...document, _id: String(index) })));
  const expected = given.map((document) => model(document, query));
  expect(statuses(answer)).toEqual(expected.map((one) => (typeof one === 'string' ? one : 'ADDED')));
  const rows = await stored(name);
  for (const [index, document] of expected.entries()) {
    if (typeof document === 'string') continue;
    const { _id, ...fields } = rows.find((row) => row['_id'] === String(index)) as JsonObject;
    expect(bare(fields)).toEqual(bare(document));
  }
  await call('DELETE', `${COLLECTIONS}/${name}`);
}
