import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type JsonObject, stringifyJson } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { FieldNews } from '../../../src/engine/field-news.ts';
import { columnsOf, createDocs, doc, openSmall, readBack, rowsOf, temporaryFolder, textOf } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

/** Documents with few of many keys each: `k0` and `k1` in the first, `k1` and `k2` in the second. */
function keyed<T>(count: number, value: (n: number) => T): { [key: string]: T }[] {
  return Array.from({ length: count }, (_, n) => ({ [`k${n}`]: value(n), [`k${n + 1}`]: value(n + 1) }));
}

const idOf = (n: number) => `d${String(n).padStart(3, '0')}`;

async function add(fields: readonly JsonObject[], from = 0): Promise<FieldNews[]> {
  const told: FieldNews[] = [];
  const documents = fields.map((one, n) => doc(idOf(from + n), one));
  const outcomes = await engine.addDocuments('t', documents, (one) => told.push(one));
  expect(outcomes.filter(({ status }) => status === 'error')).toEqual([]);
  return told;
}

/** As a request brings them. */
async function addAsText(documents: readonly JsonObject[]): Promise<void> {
  if ((await engine.addText('t', textOf(documents))) !== undefined) return;
  // It has to be parsed.
  const parsed = documents.map(({ _id, ...fields }) => doc(String(_id), fields));
  const outcomes = await engine.addDocuments('t', parsed);
  expect(outcomes.filter(({ status }) => status === 'error')).toEqual([]);
}

const typeOfColumn = async (name: string) =>
  (await columnsOf(engine)).find((column) => column.startsWith(`${name} `))?.slice(name.length + 1);

async function expectStored(fields: readonly JsonObject[]): Promise<void> {
  const ids = fields.map((_, n) => idOf(n));
  expect(await readBack(engine, 't', ids)).toEqual(fields);
  const rows = await rowsOf(engine, 'SELECT * EXCLUDE (_id, _event_time) FROM docs ORDER BY _id');
  const names = (await columnsOf(engine)).map((column) => column.split(' ')[0] ?? '').slice(2);
  expect(
    rows.map((row) =>
      Object.fromEntries(row.map((value, at) => [names[at], value]).filter(([, value]) => value !== null)),
    ),
  ).toEqual(fields);
}

describe('an object whose keys are data', () => {
  test('is a map from the first load that shows it, and each document has its own keys', async () => {
    const documents = keyed(40, (n) => n * 1.5).map((m) => ({ m }));
    await add(documents);
    expect(await typeOfColumn('m')).toBe('MAP(VARCHAR, DOUBLE)');
    await expectStored(documents);
    expect(await rowsOf(engine, "SELECT map_keys(m), json_keys(m), m.k1, m['k0'] FROM docs LIMIT 1")).toEqual([
      [['k0', 'k1'], ['k0', 'k1'], 1.5, 0],
    ]);
  });

  test('becomes one when a struct grows into it, document by document, and the write says so', async () => {
    const documents = keyed(30, (n) => ({ name: `n${n}` })).map((m) => ({ m }));
    const told: FieldNews[] = [];
    for (const [n, one] of documents.entries()) told.push(...(await add([one], n)));
    expect(await typeOfColumn('m')).toBe('MAP(VARCHAR, STRUCT("name" VARCHAR))');
    await expectStored(documents);
    expect(told).toMatchObject([
      { changed: 1, changes: [{ path: '"m"', after: 'MAP(VARCHAR, STRUCT("name" VARCHAR))' }] },
    ]);
    await engine.close();
    engine = await openSmall(folder.file);
    await expectStored(documents);
  });

  test('within lists, structs and other maps is one as well', async () => {
    const inner = keyed(40, (n) => n);
    const documents = inner.map((m, n) => ({
      o: { m, x: 1 },
      l: [{ m }, { m: { k1: n } }],
      mm: { [`a${n}`]: m, [`a${n + 1}`]: m },
    }));
    await add(documents);
    expect(await typeOfColumn('o')).toBe('STRUCT(m MAP(VARCHAR, BIGINT), x BIGINT)');
    expect(await typeOfColumn('l')).toBe('STRUCT(m MAP(VARCHAR, BIGINT))[]');
    expect(await typeOfColumn('mm')).toBe('MAP(VARCHAR, MAP(VARCHAR, BIGINT))');
    await expectStored(documents);
  });

  test('takes wider values and any key, and keeps every document', async () => {
    const documents: JsonObject[] = keyed(20, (n) => n).map((m) => ({ m }));
    await add(documents);
    const odd: JsonObject[] = [
      { m: { K1: 0.5, k1: 2, '': 3, '9': 4, '10': 5, 'a "b"': 6, "it's": 7, é: 8, '\u{1F600}': 9, constructor: 1 } },
      { m: {} },
      { x: 1 },
      { m: JSON.parse('{"__proto__": 1, "z": 2}') },
    ];
    await add(odd, documents.length);
    expect(await typeOfColumn('m')).toBe('MAP(VARCHAR, DOUBLE)');
    await expectStored([...documents, ...odd]);
  });

  test('keeps its type if a value does not fit the others, and nothing is lost', async () => {
    const documents: JsonObject[] = keyed(20, (n) => ({ n: [{ deep: n, at: null }] })).map((m) => ({ m }));
    await add(documents);
    const type = await typeOfColumn('m');
    const odd: JsonObject[] = [{ m: { k1: 'text', 'a/b~c': [1], k3: { n: [{ deep: 'x' }] } } }, { m: 5 }];
    const [told] = await add(odd, 20);
    expect(told?.strays.map(({ path, count }) => `${path} ${count}`)).toEqual([
      '"m".<key> 2',
      '"m".<key>."n"[]."deep" 1',
      '"m" 1',
    ]);
    expect(await typeOfColumn('m')).toBe(type);
    const stored = keyed(20, (n) => ({ n: [{ deep: n }] })).map((m) => ({ m }));
    await expectStored([...stored, ...odd]);
    expect(await rowsOf(engine, "SELECT m, m.k3, m['a/b~c'] FROM docs WHERE _id >= 'd020' ORDER BY _id")).toEqual([
      [odd[0]?.['m'], { n: [{ deep: 'x' }] }, null],
      [5, null, null],
    ]);
    expect(await rowsOf(engine, "SELECT m, m.k3 AS k FROM docs WHERE _id >= 'd020' ORDER BY _id")).toEqual([
      [odd[0]?.['m'], { n: [{ deep: 'x' }] }],
      [5, null],
    ]);
  });

  test.each([
    ['text among scalars', (n: number) => (n % 2 === 0 ? String(n) : n % 3 === 0 ? n : false), 'VARCHAR'],
    ['the type of three quarters', (n: number) => (n === 7 ? 'none' : n), 'BIGINT'],
  ] as const)('has in the objects within %s, and nothing is lost', async (_, value, type) => {
    const fields = keyed(60, (n) => ({ since: value(n), on: true })).map((m) => ({ m }));
    await add(fields.slice(0, 12));
    expect(await typeOfColumn('m')).toContain('STRUCT(');
    await add(fields.slice(12), 12);
    expect(await typeOfColumn('m')).toBe(`MAP(VARCHAR, STRUCT(since ${type}, "on" BOOLEAN))`);
    await expectStored(fields);
    const sql = `SELECT count(*) FROM docs, unnest(map_values(m)) AS u(one) WHERE one.since = '4'`;
    const outcome = await engine.query({ sql });
    expect(outcome.rows).toEqual([[2]]);
    expect(outcome.warnings).toEqual(type === 'VARCHAR' ? [] : [expect.stringContaining(' of m.<key>.since (')]);
    await add(fields.slice(0, 3).map(({ m }) => ({ m: { ...m, k99: { since: '4' } } })));
    expect((await engine.query({ sql })).rows).toEqual([[type === 'VARCHAR' ? 5 : 2]]);
  });

  test('two maps with the same keys are equal in whatever order they were written', async () => {
    await add(keyed(20, (n) => n).map((m) => ({ m })));
    await addAsText([
      { _id: 'a', m: { 10: 1, 9: 2, b: 3, a: 4 } },
      { _id: 'b', m: { a: 4, b: 3, 9: 2, 10: 1 } },
    ]);
    await engine.changeDocuments('t', ['a'], (document) => ({ ...document }), new Set(['m']));
    expect(await rowsOf(engine, "SELECT count(DISTINCT m) FROM docs WHERE _id IN ('a', 'b')")).toEqual([[1]]);
  });

  test('has no key whose value is null', async () => {
    await add(keyed(20, (n) => n).map((m) => ({ m })));
    await addAsText([{ _id: 'a', m: { k1: null, x: 1 } }]);
    expect(await rowsOf(engine, "SELECT map_keys(m) FROM docs WHERE _id = 'a'")).toEqual([[['x']]]);
  });

  test('comes in as text of a request as it does in documents', async () => {
    const documents = keyed(90, (n) => ({ v: n / 2 })).map((m, n) => ({ _id: idOf(n), m, n }));
    await addAsText(documents);
    await addAsText(documents.slice(0, 50));
    expect(await typeOfColumn('m')).toBe('MAP(VARCHAR, STRUCT(v DOUBLE))');
    await expectStored(documents.map(({ _id, ...fields }) => fields));
  });

  test('is joined with a struct by an alias', async () => {
    await engine.commit([
      { do: 'createCollection', table: 'u', workspace: 'commons', name: 'others' },
      { do: 'putAlias', workspace: 'commons', name: 'joined', tables: ['t', 'u'] },
    ]);
    await add(keyed(20, (n) => n).map((m) => ({ m })));
    await engine.addDocuments('u', [doc('z', { m: { a: 0.5, b: 2 } })]);
    expect(await rowsOf(engine, "SELECT m, pg_typeof(m) FROM joined WHERE _id IN ('d000', 'z') ORDER BY 1")).toEqual([
      [{ a: 0.5, b: 2 }, 'map(varchar, double)'],
      [{ k0: 0, k1: 1 }, 'map(varchar, double)'],
    ]);
  });

  test('of documents that were deleted is restored', async () => {
    const documents = keyed(20, (n) => n).map((m) => ({ m }));
    await add(documents);
    const record = { do: 'putRecord' as const, kind: 'trash', key: 'k', value: {} };
    await engine.deleteDocuments('t', ['d000', 'd001'], { trash: 'k', record: () => record });
    await engine.commit([
      { do: 'dropCollection', table: 't' },
      { do: 'createCollection', table: 't2', workspace: 'commons', name: 'docs' },
    ]);
    await engine.restoreDocuments('k', 't2', () => []);
    expect(await readBack(engine, 't2', ['d000', 'd001'])).toEqual(documents.slice(0, 2));
  });
});

describe('an object stays a struct', () => {
  test.each([
    ['with few keys', keyed(9, (n) => n)],
    [
      'with many keys that most documents have',
      Array.from({ length: 40 }, () => Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, n]))),
    ],
    ['with values of different kinds', keyed(40, (n) => (n % 2 === 0 ? n : 'x'))],
    ['with objects that have little in common', keyed(40, (n) => ({ [`a${n}`]: n, [`b${n}`]: 'x' }))],
  ])('%s', async (_, objects) => {
    const documents = objects.map((o) => ({ o })) as JsonObject[];
    await add(documents);
    expect(await typeOfColumn('o')).toMatch(/^STRUCT/);
    await expectStored(documents);
  });

  test('when one document brings a key, and those of the table have nearly all', async () => {
    const full = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${n}`, n]));
    await add(Array.from({ length: 20 }, () => ({ o: full })));
    await add([{ o: { other: 1 } }], 20);
    expect(await typeOfColumn('o')).toMatch(/^STRUCT/);
    expect(stringifyJson(await readBack(engine, 't', ['d020']))).toBe('[{"o":{"other":1}}]');
  });
});
