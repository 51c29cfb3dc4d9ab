import { afterEach, beforeEach, expect, test } from 'vitest';
import { type JsonObject, type JsonValue, stringifyJson } from '../../../src/contract/json/json.ts';
import { hashOf } from '../../../src/engine/duckdb/tables/columns.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import {
  columnsOf,
  createDocs,
  doc,
  openAfterCrash,
  openSmall,
  readBack,
  rowsOf,
  temporaryFolder,
} from '../harness.ts';
import { runOnFile } from '../raw-file.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

const KEYS = Array.from({ length: 40 }, (_, n) => `K${n}`);

/** Documents as an earlier version has them: each kind of what it stored otherwise. */
const DOCUMENTS: readonly JsonObject[] = Array.from({ length: 120 }, (_, n) => ({
  keyed: { [`K${n % 40}`]: n, [`K${(n + 7) % 40}`]: 1 },
  n: n === 5 ? 'oops' : n === 6 ? { deep: [1] } : n,
  d: n === 3 ? 2n ** 60n + 1n : n / 2 + 0.25,
  text: n % 3 === 0 ? n : `t${n}`,
  mixed: n % 2 === 0 ? [n] : n % 3 === 0 ? { k: n } : `m${n}`,
  list: [{ v: n === 7 ? 'odd' : n }, { v: null, w: 'x' }],
  flag: n === 9 ? 'maybe' : n % 2 === 0,
})).map((one) => JSON.parse(stringifyJson(one), (_, value) => value));
// JSON.parse above rounds it.
(DOCUMENTS[3] as JsonObject)['d'] = 2n ** 60n + 1n;

const SHAPE = stringifyJson({
  columns: [
    ['keyed', { object: KEYS.map((key): JsonValue => [key, 'int53']) }],
    ['n', 'json'],
    ['d', 'json'],
    ['text', 'json'],
    ['mixed', 'json'],
    [
      'list',
      {
        list: {
          object: [
            ['v', 'json'],
            ['w', 'string'],
          ],
        },
      },
    ],
    ['flag', 'json'],
  ],
  extra: false,
});

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const json = (value: JsonValue | undefined) => quoted(stringifyJson(value ?? null));

/** A table as the version before wrote it, with a document in the trash of another. */
function earlierTable(): string[] {
  const fields = KEYS.map((key) => `"${key}" BIGINT`).join(', ');
  const rows = DOCUMENTS.map((document, n) => {
    const id = quoted(idOf(n));
    const keyed = `from_json(${json(document['keyed'])}, '{${KEYS.map((key) => `"${key}":"BIGINT"`).join(',')}}')`;
    const list = `from_json(${json(document['list'])}, '[{"v":"JSON","w":"VARCHAR"}]')`;
    const [a, b, c, e, f] = ['n', 'd', 'text', 'mixed', 'flag'].map((name) => json(document[name]));
    return `(${id}, '2024-01-01 00:00:00+00', ${hashOf(id)}, ${keyed}, ${a}, ${b}, ${c}, ${e}, ${list}, ${f})`;
  });
  return [
    `CREATE TABLE "_data"."t" ("_id" VARCHAR NOT NULL, "_event_time" TIMESTAMP WITH TIME ZONE NOT NULL, "_meta" UBIGINT,
       "keyed" STRUCT(${fields}), n JSON, d JSON, text JSON, mixed JSON, list STRUCT(v JSON, w VARCHAR)[], flag JSON)`,
    `INSERT INTO "_data"."t" VALUES ${rows.join(', ')}`,
    `UPDATE "_meta"."tables" SET shape = ${quoted(SHAPE)} WHERE id = 't'`,
    `CREATE OR REPLACE VIEW "commons"."docs" AS SELECT * EXCLUDE ("_meta") FROM "_colloquy"."_data"."t"`,
  ];
}

const idOf = (n: number) => `d${String(n).padStart(3, '0')}`;
const ids = DOCUMENTS.map((_, n) => idOf(n));
const withoutNull = (documents: readonly JsonObject[]) =>
  documents.map((one) => ({ ...one, list: [(one['list'] as JsonValue[])[0], { w: 'x' }] }));

beforeEach(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  await engine.close();
  await runOnFile(folder.file, ['DROP VIEW "commons"."docs"', 'DROP TABLE "_data"."t"', ...earlierTable()]);
  engine = await openSmall(folder.file);
});

afterEach(async () => {
  await engine.close();
  folder.dispose();
});

const COLUMNS = [
  '_id VARCHAR',
  '_event_time TIMESTAMP WITH TIME ZONE',
  'keyed MAP(VARCHAR, BIGINT)',
  'n BIGINT',
  'd DOUBLE',
  'text VARCHAR',
  'mixed JSON',
  'list STRUCT(v BIGINT, w VARCHAR)[]',
  'flag BOOLEAN',
  '_strays JSON',
];

async function expectReshaped(on: Engine): Promise<void> {
  expect(await columnsOf(on)).toEqual(COLUMNS);
  expect(await readBack(on, 't', ids)).toEqual(withoutNull(DOCUMENTS));
  expect(await rowsOf(on, 'SELECT sum(n), count(n), max(keyed.K7), count(flag) FROM docs')).toEqual([
    [7_129, 118, 87, 119],
  ]);
  expect(await rowsOf(on, 'SELECT count(*) FROM docs, unnest(map_keys(keyed))')).toEqual([[240]]);
  expect(await rowsOf(on, "SELECT count(*) FROM docs WHERE text = '3'")).toEqual([[1]]);
}

test('an earlier table has all documents before and after it is reshaped, and is so once', async () => {
  expect(engine.outdated()).toEqual(['t']);
  expect(await readBack(engine, 't', ids)).toEqual(withoutNull(DOCUMENTS));
  const changes = await engine.reshape('t');
  expect(changes.map(({ path, after }) => `${path} ${after}`)).toEqual([
    '"keyed" MAP(VARCHAR, BIGINT)',
    '"n" BIGINT',
    '"d" DOUBLE',
    '"text" VARCHAR',
    '"list"[]."v" BIGINT',
    '"flag" BOOLEAN',
  ]);
  await expectReshaped(engine);
  expect(engine.outdated()).toEqual([]);
  expect(await engine.reshape('t')).toEqual([]);
  await engine.close();
  engine = await openSmall(folder.file);
  expect(engine.outdated()).toEqual([]);
  await expectReshaped(engine);
  await engine.addDocuments('t', [doc('new', { keyed: { other: 5 }, n: 'again' })]);
  expect(await rowsOf(engine, "SELECT n FROM docs WHERE _id = 'new'")).toEqual([['again']]);
});

test('a process that dies meanwhile leaves all documents, and the next one goes on', async () => {
  const reshaping = engine.reshape('t');
  const copies: Engine[] = [];
  for (let copy = 0; copy < 6; copy++) {
    copies.push(await openAfterCrash(folder.file, `${folder.folder}/copy${copy}`));
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
  await reshaping;
  for (const copy of copies) {
    expect(await readBack(copy, 't', ids)).toEqual(withoutNull(DOCUMENTS));
    for (const table of copy.outdated()) await copy.reshape(table);
    await expectReshaped(copy);
    await copy.close();
  }
});

test('documents in the trash come back as they were, and aliases have the new columns', async () => {
  await engine.commit([{ do: 'putAlias', workspace: 'commons', name: 'together', tables: ['t'] }]);
  const record = { do: 'putRecord' as const, kind: 'trash', key: 'k', value: {} };
  await engine.deleteDocuments('t', ids.slice(0, 10), { trash: 'k', record: () => record });
  await engine.reshape('t');
  expect(await columnsOf(engine, 'together')).toEqual(COLUMNS);
  await engine.restoreDocuments('k', 't', () => []);
  await expectReshaped(engine);
});

test('a table of this version is never reshaped', async () => {
  await engine.commit([{ do: 'createCollection', table: 'u', workspace: 'commons', name: 'fresh' }]);
  await engine.addDocuments('u', [doc('a', { x: [1, 'a', {}, true] }), doc('b', { x: 'a' })]);
  expect(engine.outdated()).toEqual(['t']);
});
