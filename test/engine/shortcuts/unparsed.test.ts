import fc from 'fast-check';
import { parse as parseStrictly } from 'lossless-json';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from '../../../src/contract/json/json.ts';
import { patternOf } from '../../../src/engine/duckdb/shortcuts/pattern.ts';
import { createScanner } from '../../../src/engine/duckdb/shortcuts/scan.ts';
import { unparsed } from '../../../src/engine/duckdb/shortcuts/unparsed.ts';
import { contentFault } from '../../../src/engine/duckdb/tables/accept.ts';
import { FITS, NO_COLUMNS, type TableShape, widenTable } from '../../../src/engine/duckdb/tables/columns.ts';
import { exactText } from '../../../src/engine/duckdb/values/exact-text.ts';
import type { Change, DocumentsText, Engine, NewDocument } from '../../../src/engine/engine.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { canonical, nastyDocument } from '../documents.ts';
import { createDocs, doc, fileTest, openSmall, readBack, rowsOf, temporaryFolder } from '../harness.ts';

let made = 0;
const readTime = () => undefined;

/** As the service reads a document: `_id` is the id, everything else is a field. */
function read(document: JsonValue): NewDocument | undefined {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return undefined;
  const { _id = null, ...fields } = document as JsonObject;
  if (_id !== null && typeof _id !== 'string') return undefined;
  return { id: _id ?? `read-${made++}`, eventTimeMicros: null, fields };
}

function textOf(list: string): DocumentsText {
  const bytes = Buffer.from(`{"data":${list}}`);
  return { bytes, start: 8, end: bytes.length - 1, max: 100, makeId: () => `made-${made++}`, readTime, read };
}

function shapeOf(documents: readonly JsonObject[]): TableShape {
  const widening = widenTable(NO_COLUMNS);
  for (const document of documents) widening.add(document);
  return widening.result();
}

/** Writes a value as other programs might: with white space and unnecessary escapes. */
function written(value: JsonValue, random: () => number): string {
  const space = () => [' ', '', '', '\n', '\t', '\r\n'][Math.floor(random() * 6)];
  if (typeof value === 'string') {
    const units = [...Array(value.length).keys()].map((at) => value.charCodeAt(at));
    if (random() < 0.7) return JSON.stringify(value);
    return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
  }
  if (typeof value !== 'object' || value === null) return exactText(value);
  if (Array.isArray(value)) return `[${space()}${value.map((one) => written(one, random)).join(`${space()},`)}]`;
  const members = Object.entries(value).map(
    ([key, one]) => `${space()}${written(key, random)}${space()}:${space()}${written(one, random)}${space()}`,
  );
  return `{${space()}${members.join(',')}}`;
}

const randomly = fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));
const drawn = (stream: Iterable<number>) => {
  const iterator = stream[Symbol.iterator]();
  return () => Number(iterator.next().value);
};

describe('what fits', () => {
  /** Asserts that a document that fits reads the same from its text as when parsed; returns whether it fits. */
  function expectTakable(text: string, shape: TableShape): boolean {
    const bytes = Buffer.from(text);
    const scanner = createScanner(bytes, patternOf(shape));
    const end = scanner.fits(0);
    if (end < 0) return false;
    const json = bytes.toString('utf8', 0, end);
    // Fails on a duplicate key.
    parseStrictly(json, null, { onDuplicateKey: () => expect.fail(`${json} has a key twice`) });
    const { _id, ...fields } = parseJson(json) as JsonObject;
    expect(_id ?? null).toBe(scanner.id);
    expect(contentFault(fields)).toBeNull();
    const widening = widenTable(shape);
    expect(widening.add(fields)).toEqual(FITS);
    expect(widening.changes).toBe(0);
    expect(json).not.toContain('\u001e');
    return true;
  }

  test('is JSON of the shape, whatever is done to its text', MORE, () => {
    let fitted = 0;
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      cut: fc.nat(3),
      put: fc.oneof(
        fc.constantFrom(
          '',
          ' ',
          '"',
          '\\',
          ',',
          ':',
          '{',
          '}',
          '[',
          ']',
          '-',
          '-0',
          '0',
          '1',
          '.5',
          'e5',
          'e999',
          'null',
        ),
        fc.constantFrom(
          '\\ud800',
          '\\ud83d\\ude00',
          '\\u0000',
          '\\x',
          '\u0001',
          '\u001e',
          '"a":1,',
          'tru',
          '9'.repeat(16),
        ),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(nastyDocument, { minLength: 1, maxLength: 4 }),
        fc.array(change, { maxLength: 2 }),
        randomly,
        (documents, changes, stream) => {
          const [first = {}] = documents;
          let text = written(
            { _id: 'one', ...first, ...(typeof first['_id'] === 'string' ? {} : { _id: 'x' }) },
            drawn(stream),
          );
          for (const { at, cut, put } of changes) {
            const place = Math.floor(at * text.length);
            text = text.slice(0, place) + put + text.slice(place + cut);
          }
          const shape = shapeOf(documents.map(({ _id, ...fields }) => fields));
          if (expectTakable(text, shape)) fitted += 1;
        },
      ),
      propertyRuns(3_000),
    );
    // The test would be pointless if nothing fitted.
    expect(fitted).toBeGreaterThan(20);
  });

  const TYPED = shapeOf([{ n: 1, l: 2n ** 60n, h: 2n ** 100n, d: 0.5, s: 'x', b: true, o: { p: 1, q: ['x'] } }]);
  const SHAPE = { ...TYPED, columns: new Map(TYPED.columns).set('j', 'json') };

  test.each([
    '{}',
    ' {"n":1}'.trim(),
    '{"n":-5,"d":-0.5,"s":"","b":false,"o":{"q":[],"p":null},"j":null}',
    '{"d":7}',
    '{"d":1.5E-07}',
    '{"j":12}',
    '{"s":"\\u00e9\\ud83d\\ude00\\n"}',
    '{ "s" : "é😀" , "n" :\t3 }',
    '{"_id":"a","n":999999999999999}',
    '{"l":-8999999999999999999,"h":8999999999999999999}',
    '{"l":1234567890123456,"h":0}',
  ])('%s does', (text) => {
    expect(expectTakable(text, SHAPE)).toBe(true);
  });

  test.each([
    ['a number that would widen', '{"n":0.5}'],
    ['an integer written as another number', '{"n":1e3}'],
    ['an integer past 15 digits', '{"n":1234567890123456}'],
    ['an integer that may have more than 64 bits', '{"l":9000000000000000000}'],
    ['an integer of more than 64 bits', '{"h":12345678901234567890}'],
    ['a long integer in a column of doubles', '{"d":1234567890123456}'],
    ['minus zero', '{"d":-0}'],
    ['minus zero among long integers', '{"l":-0}'],
    ['a long integer with zeros before it', '{"l":0123456789012345678}'],
    ['minus zero with a fraction', '{"d":-0.00}'],
    ['minus zero with an exponent', '{"d":-0e5}'],
    ['what is as good as minus zero', `{"d":-0.${'0'.repeat(330)}1}`],
    ['a number too large for a double', '{"d":1e400}'],
    ['a number that is none', '{"n":01}'],
    ['a fraction without digits', '{"d":1.}'],
    ['a key twice', '{"n":1,"n":2}'],
    ['a key twice, further in', '{"o":{"p":1,"q":[],"p":2}}'],
    ['a key twice, once escaped', '{"n":1,"\\u006e":2}'],
    ['a new key', '{"new":null}'],
    ['an object where there is JSON', '{"j":{"a":1}}'],
    ['a fraction where there is JSON', '{"j":1.0}'],
    ['half of a surrogate pair', '{"s":"\\ud800"}'],
    ['a control character', '{"s":"\u001e"}'],
    ['an id that is no text', '{"_id":1}'],
    ['an id that is null', '{"_id":null}'],
    ['an empty id', '{"_id":""}'],
    ['an escaped id', '{"_id":"\\u0061"}'],
    ['no end', '{"n":1'],
    ['a comma too many', '{"n":1,}'],
    ['a list', '[]'],
  ])('%s does not', (_, text) => {
    expect(expectTakable(text, SHAPE)).toBe(false);
  });
});

describe('a text', () => {
  const { file, dispose } = temporaryFolder();
  let engine: Engine;
  let next = 0;

  beforeAll(async () => {
    engine = await openSmall(file);
    await createDocs(engine);
  });
  afterAll(async () => {
    await engine.close();
    dispose();
  });

  /** A new table, for a collection of the same name. */
  async function newTable(): Promise<string> {
    const table = `t${next++}`;
    await engine.commit([{ do: 'createCollection', table, workspace: 'commons', name: table }]);
    return table;
  }

  test('is stored as its documents are', { ...MORE, timeout: 240_000 }, async () => {
    const ids = ['1', 'two', 'ü', "it's", 'nul\u0000'];
    const batch = fc.uniqueArray(fc.record({ id: fc.constantFrom(...ids), fields: nastyDocument }), {
      selector: ({ id }) => id,
      minLength: 1,
      maxLength: 4,
    });
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 4 }), randomly, async (batches, stream) => {
        const [asText, asDocuments] = [await newTable(), await newTable()];
        for (const documents of batches) {
          const lists = documents.map(({ id, fields: { _id, ...fields } }) => ({ id, fields }));
          const list = written(
            lists.map(({ id, fields }) => ({ _id: id, ...fields })),
            drawn(stream),
          );
          const given = (parseJson(list) as JsonObject[]).map(({ _id, ...fields }) => doc(String(_id), fields));
          const outcomes = await engine.addText(asText, textOf(list));
          if (outcomes === undefined) await engine.addDocuments(asText, given);
          else taken += 1;
          const expected = await engine.addDocuments(asDocuments, given);
          if (outcomes !== undefined) {
            expect(outcomes.map(({ status }) => status)).toEqual(expected.map(({ status }) => status));
            expect(outcomes.map(({ id }) => id)).toEqual(lists.map(({ id }) => id));
          }
          const [stored, wanted] = [await readBack(engine, asText, ids), await readBack(engine, asDocuments, ids)];
          expect(stored.map((one) => one && canonical(one))).toEqual(wanted.map((one) => one && canonical(one)));
        }
        const rows = (table: string) => rowsOf(engine, `SELECT * EXCLUDE (_event_time) FROM ${table} ORDER BY _id`);
        expect(await rows(asText)).toEqual(await rows(asDocuments));
        expect(await rowsOf(engine, `DESCRIBE ${asText}`)).toEqual(await rowsOf(engine, `DESCRIBE ${asDocuments}`));
      }),
      propertyRuns(40, 10),
    );
    expect(taken).toBeGreaterThan(10);
  });

  test('whose values have several types leaves the types that its documents would', {
    ...MORE,
    timeout: 240_000,
  }, async () => {
    const kinds: Readonly<Record<string, (n: number) => JsonValue>> = {
      number: (n) => n,
      large: (n) => 2 ** 60 + n * 512,
      fraction: (n) => n + 0.5,
      text: (n) => `t${n}`,
      date: (n) => `2024-05-0${1 + (n % 9)}`,
      time: (n) => `2024-05-0${1 + (n % 9)}T0${n % 10}:00:00`,
      object: (n) => ({ n }),
      list: (n) => [n],
      null: () => null,
    };
    const two = fc.constantFrom<[string, string]>(
      ['number', 'text'],
      ['date', 'time'],
      ['date', 'text'],
      ['number', 'large'],
      ['fraction', 'large'],
      ['object', 'number'],
      ['list', 'null'],
    );
    const batch = fc.record({ isTurned: fc.boolean(), share: fc.double({ min: 0, max: 0.8, noNaN: true }) });
    const written = fc.array(batch, { minLength: 2, maxLength: 4 });
    let [taken, all] = [0, 0];
    await fc.assert(
      fc.asyncProperty(two, written, fc.boolean(), async (both, batches, times) => {
        const tables = [`t${next++}`, `t${next++}`] as const;
        for (const table of tables)
          await engine.commit([
            { do: 'createCollection', table, workspace: 'commons', name: table, recognizeTimes: times },
          ]);
        for (const [at, { isTurned, share }] of batches.entries()) {
          const [usual, other] = isTurned ? both.toReversed() : both;
          const documents = Array.from({ length: at === 0 ? 8 : 40 }, (_, n) => {
            const value = kinds[((n * 7) % 40 < share * 40 ? other : usual) ?? '']?.(n) ?? null;
            return { _id: `${at}-${n}`, v: value, a: { v: value }, l: [value] };
          });
          const list = stringifyJson(documents);
          const given = (parseJson(list) as JsonObject[]).map(({ _id, ...fields }) => doc(String(_id), fields));
          all += 1;
          if ((await engine.addText(tables[0], textOf(list))) !== undefined) taken += 1;
          else await engine.addDocuments(tables[0], given);
          await engine.addDocuments(tables[1], given);
          const [asText, asDocuments] = await Promise.all(
            tables.map(async (table) => [
              await rowsOf(engine, `DESCRIBE ${table}`),
              await rowsOf(engine, `SELECT * EXCLUDE (_event_time) FROM ${table} ORDER BY _id`),
            ]),
          );
          expect(asText).toEqual(asDocuments);
        }
      }),
      propertyRuns(40, 10),
    );
    expect(taken).toBeGreaterThan(all / 10);
  });

  test('gives ids to documents without, also to one without members', async () => {
    const table = await newTable();
    await engine.addText(table, textOf('[{"n":1}]'));
    const outcomes = await engine.addText(table, textOf('[{"n":2},{ },{"_id":"own","n":3},{"n":4}]'));
    expect(outcomes?.map(({ id }) => id)).toEqual([
      expect.stringMatching(/^made-/),
      expect.stringMatching(/^made-/),
      'own',
      expect.stringMatching(/^made-/),
    ]);
    const ids = outcomes?.map(({ id }) => id) ?? [];
    expect(await readBack(engine, table, ids)).toEqual([{ n: 2 }, {}, { n: 3 }, { n: 4 }]);
  });

  test('replaces what is there, and keeps its event time', async () => {
    const table = await newTable();
    await engine.addDocuments(table, [doc('a', { n: 1 }, 5n)]);
    const outcomes = await engine.addText(table, textOf('[{"_id":"a","n":2},{"_id":"b","n":3}]'));
    expect(outcomes).toMatchObject([{ status: 'replaced' }, { status: 'added' }]);
    expect(await rowsOf(engine, `SELECT _id, n, epoch_us(_event_time) = 5 FROM ${table} ORDER BY _id`)).toEqual([
      ['a', 2, true],
      ['b', 3, false],
    ]);
  });

  test('of one id, added and replaced at once by many, makes one document', async () => {
    const table = await newTable();
    await engine.addText(table, textOf('[{"_id":"first","n":0}]'));
    const lists = Array.from({ length: 12 }, (_, n) => `[{"_id":"a","n":${n}},{"_id":"own ${n}","n":${n}}]`);
    const outcomes = await Promise.all(lists.map((list) => engine.addText(table, textOf(list))));
    expect(outcomes.map((one) => one?.map(({ status }) => status))).toEqual([
      ['added', 'added'],
      ...Array(11).fill(['replaced', 'added']),
    ]);
    expect(await rowsOf(engine, `SELECT n FROM ${table} WHERE _id = 'a'`)).toEqual([[11]]);
    expect(await rowsOf(engine, `SELECT count(*) FROM ${table}`)).toEqual([[14]]);
  });

  test('is added and replaced by turns as if each were the only one', async () => {
    const table = await newTable();
    const add = async (list: string) => (await engine.addText(table, textOf(list)))?.map(({ status }) => status);
    await add('[{"_id":"a","n":1}]');
    expect(await add('[{"_id":"b","n":2},{"_id":"c","n":3}]')).toEqual(['added', 'added']);
    expect(await add('[{"_id":"b","n":4},{"_id":"d","n":5}]')).toEqual(['replaced', 'added']);
    expect(await add('[{"_id":"e","n":6}]')).toEqual(['added']);
    expect(await add('[{"_id":"f","n":6}]')).toEqual(['added']);
    // The same statements, now over other columns.
    expect(await add('[{"_id":"g","n":7,"m":[1]}]')).toEqual(['added']);
    expect(await add('[{"_id":"h","n":8},{"_id":"i","m":[2]}]')).toEqual(['added', 'added']);
    await engine.deleteDocuments(table, ['a', 'h']);
    expect(await add('[{"_id":"a","n":9},{"_id":"i","n":10}]')).toEqual(['added', 'replaced']);
    expect(await rowsOf(engine, `SELECT _id, n, m FROM ${table} ORDER BY _id`)).toEqual([
      ['a', 9, null],
      ['b', 4, null],
      ['c', 3, null],
      ['d', 5, null],
      ['e', 6, null],
      ['f', 6, null],
      ['g', 7, [1]],
      ['i', 10, null],
    ]);
  });

  test('in the place of what is past the retention is added', async () => {
    const short = { do: 'createCollection', table: 'short', workspace: 'commons', name: 'short', retentionSecs: 3_600 };
    await engine.commit([short as Change]);
    await engine.addText('short', textOf('[{"_id":"z","n":0}]'));
    await engine.addDocuments('short', [doc('a', { n: 1 }, 5n)]);
    expect(await engine.addText('short', textOf('[{"_id":"a","n":2}]'))).toMatchObject([{ status: 'added' }]);
    expect(await rowsOf(engine, 'SELECT _id, n FROM short ORDER BY _id')).toEqual([
      ['a', 2],
      ['z', 0],
    ]);
    expect(await engine.stats('short')).toMatchObject({ docCount: 2 });
  });

  test('goes into a collection that was dropped and made again', async () => {
    for (const columns of ['"n":1', '"n":"one"', '"n":1']) {
      const change = { table: 'again', workspace: 'commons', name: 'again' };
      await engine.commit([{ do: 'createCollection', ...change }]);
      for (const id of ['a', 'b', 'c']) {
        expect(await engine.addText('again', textOf(`[{"_id":"${id}",${columns}}]`))).toMatchObject([
          { status: 'added' },
        ]);
      }
      expect(await rowsOf(engine, 'SELECT count(*) FROM again')).toEqual([[3]]);
      await engine.commit([{ do: 'dropCollection', table: 'again' }]);
    }
  });

  fileTest('keeps integers of any size exactly', async () => {
    const table = await newTable();
    const list =
      '[{"_id":"a","n":1},{"_id":"b","n":9007199254740993},{"_id":"c","n":170141183460469231731687303715884105727}]';
    await engine.addText(table, textOf(list));
    await engine.addText(table, textOf(list));
    expect(await readBack(engine, table, ['a', 'b', 'c'])).toEqual([
      { n: 1 },
      { n: 9007199254740993n },
      { n: 170141183460469231731687303715884105727n },
    ]);
  });

  test.each([
    ['64 bits', 9007199254740993n],
    ['more', 2n ** 100n],
  ])('has long integers as parsed documents when a fraction comes, whether they have %s', async (_, long) => {
    const [asText, asDocuments] = [await newTable(), await newTable()];
    for (const table of [asText, asDocuments]) await engine.addDocuments(table, [doc('z', { n: long, l: [long] })]);
    const list = '[{"_id":"a","n":9007199254740995,"l":[-9007199254740995]},{"_id":"b","n":0.5,"l":[0.5]}]';
    const given = (parseJson(list) as JsonObject[]).map(({ _id, ...fields }) => doc(String(_id), fields));
    if ((await engine.addText(asText, textOf(list))) === undefined) await engine.addDocuments(asText, given);
    await engine.addDocuments(asDocuments, given);
    const ids = ['a', 'b', 'z'];
    expect(await readBack(engine, asText, ids)).toEqual(await readBack(engine, asDocuments, ids));
    const rows = (table: string) => rowsOf(engine, `SELECT n::VARCHAR, l::VARCHAR, _strays FROM ${table} ORDER BY _id`);
    expect(await rows(asText)).toEqual(await rows(asDocuments));
  });

  test.each([
    ['a column', '[{"_id":"a","d":3.0},{"_id":"b","d":9007199254740993}]', 'd::VARCHAR'],
    ['a list', '[{"_id":"a","l":[3.0,1E2]},{"_id":"b","l":["x"]}]', 'l::VARCHAR'],
    ['an object', '[{"_id":"a","o":{"p":3.0}},{"_id":"b","o":7}]', 'o::VARCHAR'],
    ['a column that came with it', '[{"_id":"a","n":0.5},{"_id":"b","n":3.0},{"_id":"c","n":"x"}]', 'n::VARCHAR'],
  ])('has numbers spelled as in parsed documents when %s becomes JSON', async (_, list, column) => {
    const [asText, asDocuments] = [await newTable(), await newTable()];
    const before = [doc('z', { d: 0.5, l: [0.5], o: { p: 0.5 } })];
    for (const table of [asText, asDocuments]) await engine.addDocuments(table, before);
    const given = (parseJson(list) as JsonObject[]).map(({ _id, ...fields }) => doc(String(_id), fields));
    if ((await engine.addText(asText, textOf(list))) === undefined) await engine.addDocuments(asText, given);
    await engine.addDocuments(asDocuments, given);
    const texts = (table: string) => rowsOf(engine, `SELECT ${column} FROM ${table} ORDER BY _id`);
    expect(await texts(asText)).toEqual(await texts(asDocuments));
  });

  test('in which each document has a field that is new is read once, and not again for each of them', async () => {
    const documents = Array.from({ length: 5_000 }, (_, n) => {
      const field = Math.floor(n / 100);
      return { [`c${n % 100}`]: { [`f${field}`]: field % 2 === 0 ? n : 'x' } };
    });
    const scanned = await unparsed.try({ ...textOf(stringifyJson(documents)), max: documents.length }, NO_COLUMNS);
    expect(scanned?.documents).toHaveLength(documents.length);
    expect(scanned?.shape).toEqual(shapeOf(documents));
  });

  test('of many documents is stored in several statements', async () => {
    const table = await newTable();
    const long = 'x'.repeat(1_500_000);
    const list = stringifyJson([1, 2, 3, 4, 5, 6].map((n) => ({ _id: String(n), n, long })));
    expect(await engine.addText(table, textOf(list))).toHaveLength(6);
    expect(await engine.addText(table, textOf(list))).toHaveLength(6);
    expect(await rowsOf(engine, `SELECT count(*), sum(n), min(length(long)) FROM ${table}`)).toEqual([
      [6, 21, 1_500_000],
    ]);
  });

  test.each([
    ['two documents with one id', '[{"_id":"a"},{"_id":"a"}]'],
    ['something else than a document', '[{"_id":"a"},1]'],
    ['nothing', '[]'],
    ['more documents than there may be', `[${Array(101).fill('{}').join(',')}]`],
    ['text that is no JSON', '[{"_id":"a","n":tru}]'],
    ['a list that ends before', '[{"_id":"a"}],[]'],
    ['a comma too many', '[{"_id":"a"},]'],
    ['half of a surrogate pair', '[{"_id":"a","s":"\\ud800"}]'],
    ['a number too large for a double', '[{"_id":"a","n":1e400}]'],
  ])('with %s is not stored, but left to addDocuments()', async (_, list) => {
    const table = await newTable();
    await engine.addDocuments(table, [doc('z', { n: 1, s: 'x' })]);
    expect(await engine.addText(table, textOf(list))).toBeUndefined();
    expect(await rowsOf(engine, `SELECT _id FROM ${table}`)).toEqual([['z']]);
  });
});
