import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { ON_LAKE } from '../../lake/lake-for.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { createDocs, doc, openAfterCrash, openSmall, rowsOf, temporaryFolder } from '../harness.ts';
import { fieldsArbitrary, sameText, setAt, valueAt, withoutNulls } from './model.ts';
import { QUESTIONS } from './questions.ts';

const id = fc.integer({ min: 0, max: 80 }).map((n) => `d${n}`);
const written = fc.array(fc.record({ id, fields: fieldsArbitrary }), { minLength: 1, maxLength: 40 });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ add: written }) },
  {
    weight: 2,
    arbitrary: fc.record({ patch: fc.array(fc.record({ id, fields: fieldsArbitrary }), { maxLength: 5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ remove: fc.uniqueArray(id, { maxLength: 25 }) }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
);
type Step = { add?: Written[]; patch?: Written[]; remove?: string[]; restart?: boolean };
type Written = { id: string; fields: JsonObject };

/** Does a step to the engine and to the model of its documents. */
async function take(engine: Engine, model: Map<string, JsonObject>, { add, patch, remove }: Step): Promise<void> {
  if (add !== undefined) {
    const outcomes = await engine.addDocuments(
      't',
      add.map((one) => doc(one.id, one.fields)),
    );
    expect(outcomes.filter(({ status }) => status === 'error')).toEqual([]);
    for (const one of add) model.set(one.id, withoutNulls(one.fields) as JsonObject);
  }
  for (const one of patch ?? []) {
    if (!model.has(one.id)) continue;
    const fields = new Set(Object.keys(one.fields));
    await engine.changeDocuments('t', [one.id], (document) => ({ ...document, ...one.fields }), fields);
    model.set(one.id, withoutNulls({ ...model.get(one.id), ...one.fields }) as JsonObject);
  }
  if (remove !== undefined) {
    await engine.deleteDocuments('t', remove);
    for (const one of remove) model.delete(one);
  }
}

const FIELDS = ['n', 'd', 'i', 's', 'b', 't', 'day', 'lt', 'l', 'lo', 'o', 'm', 'mix'];

/** Integers beyond 2^53 are text in answers. */
const shown = (value: JsonValue): JsonValue => {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shown(member as JsonValue)]));
};

/** Asserts that a plain read shows each document as it was written. */
async function expectPlain(engine: Engine, model: ReadonlyMap<string, JsonObject>): Promise<void> {
  const { columns, rows } = await engine.query({ sql: 'SELECT * EXCLUDE (_event_time) FROM docs ORDER BY _id' });
  const read = rows.map((row) => {
    const document: JsonObject = {};
    for (const [at, { name }] of columns.entries()) {
      const value = row[at] ?? null;
      if (name === '_extra') Object.assign(document, value);
      else if (value !== null) document[name] = value;
    }
    return sameText(withoutNulls(document));
  });
  const wanted = [...model].toSorted(([a], [b]) => (a < b ? -1 : 1));
  expect(read).toEqual(wanted.map(([_id, fields]) => sameText(shown({ _id, ...fields }))));
}

/** The documents as what SQL computes sees them, given which of their values are strays. */
async function seenDocuments(
  engine: Engine,
  model: ReadonlyMap<string, JsonObject>,
  types: ReadonlyMap<string, string>,
): Promise<{ documents: JsonObject[]; strays: Map<string, number>; texts: Map<string, number> }> {
  const strays = new Map<string, number>();
  /** Those that their text is all there is to: numbers and booleans. */
  const texts = new Map<string, number>();
  const seen = new Map([...model].map(([_id, fields]) => [_id, structuredClone({ _id, ...fields })]));
  if (!types.has('_strays')) return { documents: [...seen.values()], strays, texts };
  const known = FIELDS.filter((name) => types.has(name));
  const list = known.map((name) => `to_json(${name})`).join(', ');
  for (const [_id, places, ...columns] of await rowsOf(engine, `SELECT _id, _strays, ${list} FROM docs`)) {
    const document = seen.get(String(_id)) ?? {};
    for (const [place, value] of Object.entries((places ?? {}) as JsonObject)) {
      const exact = valueAt(document, place) ?? null;
      expect(sameText(shown(exact))).toBe(sameText(value ?? null));
      const [field = ''] = place.split('/');
      const inColumn = valueAt({ [field]: columns[known.indexOf(field)] ?? null }, place) ?? null;
      // The column has the time that is spelled otherwise.
      if (typeof exact === 'string' && /^(TIMESTAMP|DATE)/.test(types.get(field) ?? '') && inColumn !== null) continue;
      strays.set(field, (strays.get(field) ?? 0) + 1);
      const rounded = typeof exact === 'bigint' ? Number(exact) : undefined;
      const isText =
        typeof inColumn === 'string' && inColumn === (typeof exact === 'string' ? exact : stringifyJson(exact));
      if (isText && typeof exact !== 'object' && typeof exact !== 'string')
        texts.set(field, (texts.get(field) ?? 0) + 1);
      if (isText || (rounded !== undefined && Number(inColumn) === rounded))
        setAt(document, place, isText ? inColumn : (rounded ?? null));
      else {
        expect(inColumn, `${_id} ${place}`).toBeNull();
        // A map has the key.
        setAt(document, place, place !== field && /^MAP/.test(types.get(field) ?? '') ? null : undefined);
      }
    }
  }
  return { documents: [...seen.values()], strays, texts };
}

const inOrder = (rows: readonly (readonly JsonValue[])[]) => rows.map((row) => sameText([...row].map(number))).sort();
const number = (value: JsonValue): JsonValue => (typeof value === 'number' ? Number(value.toPrecision(12)) : value);

const tried = { questions: 0, answered: 0, otherwise: 0, strays: 0 };

/** Asks everything: each answer is what JavaScript computes, or says of which fields some values were not seen. */
async function ask(engine: Engine, model: ReadonlyMap<string, JsonObject>): Promise<void> {
  const described = await rowsOf(engine, 'SHOW docs');
  const types = new Map(described.map(([name, type]) => [String(name), String(type)]));
  await expectPlain(engine, model);
  const { documents, strays, texts } = await seenDocuments(engine, model, types);
  const exact = [...model].map(([_id, fields]): JsonObject => ({ _id, ...fields }));
  for (const count of strays.values()) tried.strays += count;
  for (const { sql, of, answer } of QUESTIONS) {
    tried.questions += 1;
    if (!Object.entries(of).every(([name, type]) => type.test(types.get(name) ?? ''))) continue;
    const { rows, warnings } = await engine.query({ sql }).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      throw new Error(`${sql}: ${error.message}`);
    });
    tried.answered += 1;
    expect(inOrder(rows), `${sql} ${[...types]}`).toEqual(inOrder(answer(documents)));
    for (const name of Object.keys(of)) {
      // One warning names all fields of a collection, with what is within them.
      const counts = new RegExp(`(?:here: |; )([\\d,]+) of ${name}(?!\\w)`, 'g');
      const said = warnings.flatMap((text) => Array.from(text.matchAll(counts), ([, count = '']) => count));
      const total = said.reduce((all, one) => all + Number(one.replaceAll(',', '')), 0);
      // A field within an object or list that the SQL does not read is not counted.
      const [most, plain] = [strays.get(name) ?? 0, texts.get(name) ?? 0];
      expect(total, sql).toBeLessThanOrEqual(most);
      // Those in a column of text are told where they are put in order.
      if (!/[.[]|unnest|list|json|map/.test(sql)) expect([most, most - plain], sql).toContain(total);
    }
    let otherwise: string[] | undefined;
    try {
      otherwise = inOrder(answer(exact));
    } catch {
      otherwise = undefined;
    }
    if (otherwise?.join('\n') === inOrder(rows).join('\n')) continue;
    tried.otherwise += 1;
    expect(warnings.length, `${sql} differs from the documents, and says nothing`).toBeGreaterThan(0);
  }
}

test('answers are those of JavaScript over the documents, or say what they did not see', {
  ...MORE,
  timeout: 1_800_000,
}, async () => {
  const copies = mkdtempSync(join(tmpdir(), 'colloquy-oracle-'));
  let copy = 0;
  try {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 2, maxLength: 7 }), async (recognizeTimes, steps) => {
        const { file, dispose } = temporaryFolder();
        let engine = await openSmall(file);
        try {
          await createDocs(engine, recognizeTimes);
          const model = new Map<string, JsonObject>();
          for (const one of steps as Step[]) {
            if (one.restart) {
              await engine.close();
              engine = await openSmall(file);
            } else await take(engine, model, one);
            await expectPlain(engine, model);
          }
          await ask(engine, model);
          const crashed = await openAfterCrash(file, join(copies, String(copy++)));
          await expectPlain(crashed, model);
          await crashed.close();
        } finally {
          await engine.close();
          dispose();
        }
      }),
      propertyRuns(60, ON_LAKE ? 4 : 6),
    );
  } finally {
    rmSync(copies, { recursive: true, force: true });
  }
  // The test would be pointless if few questions could be asked, or nothing were a stray.
  expect(tried.answered).toBeGreaterThan(tried.questions / 4);
  expect(tried.strays).toBeGreaterThan(30);
  expect(tried.otherwise).toBeGreaterThan(30);
});
