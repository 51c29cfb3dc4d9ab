import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { COLLECTIONS, madeCollections, statuses } from './made-collections.ts';

const { call, create, select } = madeCollections();

describe('field_mappings', () => {
  it('do the same to random documents as a simple model in JavaScript', { ...MORE, timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(mappings, { maxLength: 5 }),
        fc.array(documents, { minLength: 1, maxLength: 8 }),
        check,
      ),
      propertyRuns(60, 10),
    );
  });
});

/** Expressions of one parameter, with what they yield; undefined: they fail. */
const EXPRESSIONS: Record<string, (value: JsonValue) => JsonValue | undefined> = {
  ':p': (value) => value,
  'CAST(:p AS INTEGER)': (value) => {
    if (value === null || typeof value === 'number') return value;
    return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined;
  },
  '[:p, :p]': (value) => [value, value],
  "{'k': :p}": (value) => ({ k: value }),
  "pg_typeof(:p) || '!'": (value) => `${value === null ? '"null"' : typeOf(value).toLowerCase()}!`,
};

/** The engine's name for the type of a value; arrays in this test contain one value twice. */
function typeOf(value: JsonValue | undefined): string {
  if (typeof value === 'number') return 'BIGINT';
  if (typeof value === 'string') return 'VARCHAR';
  return Array.isArray(value) ? `${typeOf(value[0])}[]` : 'JSON';
}

const FIELDS = ['a', 'b', 'c', 'o.x', 'o.y'];

const leaf = fc.oneof(fc.constantFrom<JsonValue>('x', '12', '', null), fc.integer({ min: -99, max: 99 }));
const documents = fc.record<JsonObject>(
  { a: leaf, b: leaf, c: leaf, o: fc.record<JsonObject>({ x: leaf, y: leaf }, { requiredKeys: [] }), z: leaf },
  { requiredKeys: [] },
);

interface Mapping {
  dropAll: boolean;
  input: string;
  ifMissing: 'SKIP' | 'PASS';
  isDrop: boolean;
  output: string | null;
  value: string;
  onError: 'SKIP' | 'FAIL';
}
const mappings: fc.Arbitrary<Mapping> = fc.record({
  dropAll: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  input: fc.constantFrom(...FIELDS),
  ifMissing: fc.constantFrom('SKIP', 'PASS'),
  isDrop: fc.boolean(),
  output: fc.constantFrom(...FIELDS, null),
  value: fc.constantFrom(...Object.keys(EXPRESSIONS)),
  onError: fc.constantFrom('SKIP', 'FAIL'),
});

function toApi(mapping: Mapping, index: number): object {
  if (mapping.dropAll) return { name: `m${index}`, is_drop_all_fields: true };
  const input = { field_name: mapping.input, param: 'p', if_missing: mapping.ifMissing };
  if (mapping.output === null) return { name: `m${index}`, input_fields: [{ ...input, is_drop: true }] };
  return {
    name: `m${index}`,
    input_fields: [{ ...input, is_drop: mapping.isDrop }],
    output_field: { field_name: mapping.output, value: mapping.value, on_error: mapping.onError },
  };
}

type Flat = Map<string, JsonValue>;

function get(object: JsonObject, name: string): JsonValue {
  let value: JsonValue | undefined = object;
  for (const key of name.split('.')) value = (value as JsonObject | null)?.[key];
  return value ?? null;
}

/** Sets a field by its path; false if something other than an object is in the way. */
function set(object: JsonObject, name: string, value: JsonValue): boolean {
  const [first = '', second] = name.split('.');
  if (second === undefined) object[first] = value;
  else {
    const inner = object[first] ?? {};
    if (typeof inner !== 'object' || Array.isArray(inner)) return false;
    object[first] = { ...(inner as JsonObject), [second]: value };
  }
  return true;
}

function unset(object: JsonObject, name: string): void {
  const [first = '', second] = name.split('.');
  if (second === undefined) delete object[first];
  else if (typeof object[first] === 'object' && object[first] !== null) {
    const { [second]: _, ...rest } = object[first] as JsonObject;
    object[first] = rest;
  }
}

/** The document as the mappings should change it; null: it is refused. */
function model(given: JsonObject, list: readonly Mapping[]): JsonObject | null {
  const document = structuredClone(given);
  const kept: JsonObject = {};
  for (const mapping of list) {
    if (mapping.dropAll) continue;
    const value = get(document, mapping.input);
    if (mapping.output === null) {
      unset(document, mapping.input);
      unset(kept, mapping.input);
      continue;
    }
    if (mapping.isDrop) {
      unset(document, mapping.input);
      unset(kept, mapping.input);
    }
    if (value === null && mapping.ifMissing === 'SKIP') continue;
    const result = EXPRESSIONS[mapping.value]?.(value);
    const isPut = result !== undefined && set(document, mapping.output, result);
    if (isPut) set(kept, mapping.output, result);
    else if (mapping.onError === 'FAIL') return null;
  }
  return list.some((mapping) => mapping.dropAll) ? kept : document;
}

/** All values by path: null, missing and empty objects are the same. */
function flat(value: JsonValue, path = '', into: Flat = new Map()): Flat {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [key, item] of Object.entries(value)) flat(item, `${path}.${key}`, into);
  } else if (value !== null) into.set(path, Array.isArray(value) ? JSON.stringify(value, withoutNulls) : value);
  return into;
}

function withoutNulls(this: unknown, _: string, value: JsonValue): JsonValue | undefined {
  return value === null && !Array.isArray(this) ? undefined : value;
}

async function check(list: Mapping[], given: JsonObject[]): Promise<void> {
  const name = await create({ field_mappings: list.map(toApi) });
  const answer = await call('POST', `${COLLECTIONS}/${name}/docs`, {
    data: given.map((document, index) => ({ ...document, _id: String(index) })),
  });
  const expected = given.map((document) => model(document, list));
  expect(statuses(answer)).toEqual(expected.map((document) => (document === null ? 'ERROR' : 'ADDED')));
  const rows = await select(`SELECT * EXCLUDE (_event_time) FROM ${name}`);
  for (const [index, document] of expected.entries()) {
    if (document === null) continue;
    const { _id, ...stored } = rows.find((row) => row['_id'] === String(index)) as JsonObject;
    expect(flat(stored)).toEqual(flat(document));
  }
  await call('DELETE', `${COLLECTIONS}/${name}`);
}
