import { expect } from 'vitest';
import { z } from 'zod';
import { type JsonValue, parseJson } from '../../src/contract/json/json.ts';
import type { Row } from '../../src/contract/row.ts';
import { keysOf } from '../service/shapes.ts';
import type { Exchange } from './recorder.ts';
import { deviations } from './strict.ts';
import { INNER, WIRE } from './wire.ts';

/**
 * Asserts that a raw request is exactly what the row says: its path, query string and body parse under the row's
 * schemas without unknown keys, and together they are the arguments that were given.
 */
export function checkRequest(row: Row, input: object, exchange: Exchange, key: string): void {
  const { pathname, searchParams } = new URL(exchange.url, 'http://localhost');
  expect(exchange.method).toBe(row.method);
  expect(exchange.headers).toMatchObject({ authorization: `ApiKey ${key}`, accept: 'application/json' });

  const params = pathParameters(row.path, pathname);
  expect(deviations(z.strictObject(row.params?.shape ?? {}), params)).toEqual([]);

  const query = Object.fromEntries([...searchParams].map(([name, text]) => [name, fromText(text)]));
  expect(Object.keys(query)).toHaveLength(searchParams.size);
  expect(deviations(z.strictObject(row.query?.shape ?? {}), query)).toEqual([]);

  if (row.body === undefined) {
    expect([exchange.body, exchange.headers['content-type']]).toEqual(['', undefined]);
  } else {
    expect(exchange.headers['content-type']).toBe('application/json');
    expect(deviations(row.body, parseJson(exchange.body))).toEqual([]);
  }
  const body = row.body === undefined ? {} : (parseJson(exchange.body) as object);
  expect({ ...params, ...query, ...body }).toEqual(input);
}

/** What only a collection has that was given it: the description says how it is given, and not how it is told. */
const OWN_KEYS: ReadonlySet<string> = new Set(['event_time_info']);

/**
 * Asserts that a raw answer has the envelope and the keys of the interface description, and parses under the row's schema without unknown
 * keys. Returns the result, without its envelope.
 */
export function checkResult(row: Row, answer: JsonValue): JsonValue {
  const wire = WIRE.get(row.number ?? 0);
  if (wire === undefined) throw new Error(`#${row.number} of the interface is not written down`);
  expect(wire.envelope).toBe(row.isBare === true ? 'bare' : 'data');
  if (wire.envelope === 'data') expect(keysOf(answer)).toEqual(['data']);
  const result = wire.envelope === 'data' ? (answer as { data: JsonValue }).data : answer;
  expect(deviations(row.result, result)).toEqual([]);

  expect(Array.isArray(result)).toBe(wire.isList);
  const entries = (wire.isList ? result : [result]) as readonly Record<string, JsonValue>[];
  // An empty list would prove nothing.
  expect(entries.length).toBeGreaterThan(0);
  for (const entry of entries) {
    expect(keysOf(entry).filter((key) => !OWN_KEYS.has(key))).toEqual(wire.keys);
    for (const [field, keys] of Object.entries(INNER.get(row.number ?? 0) ?? {})) {
      const inner = entry[field] ?? [];
      for (const one of Array.isArray(inner) ? inner : [inner]) expect(keysOf(one)).toEqual(keys.split(' ').sort());
    }
  }
  return result;
}

/** The parameters in a raw path, decoded. */
function pathParameters(template: string, path: string): Record<string, string> {
  const segments = path.split('/');
  const names = template.split('/');
  expect(segments).toHaveLength(names.length);
  return Object.fromEntries(
    names.flatMap((name, index) => {
      const segment = segments[index] ?? '';
      if (name.startsWith('{')) return [[name.slice(1, -1), decodeURIComponent(segment)] as const];
      expect(segment).toBe(name);
      return [];
    }),
  );
}

function fromText(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+$/.test(text) ? Number(text) : text;
}
