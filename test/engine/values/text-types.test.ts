import { afterAll, beforeAll, expect, test } from 'vitest';
import { holdsTextOf, strayCountsSql } from '../../../src/contract/strays.ts';
import { quoteText } from '../../../src/engine/duckdb/sql/names.ts';
import { isLongDecimal, type TypedShape, typedIn } from '../../../src/engine/duckdb/values/declared.ts';
import { typeOf } from '../../../src/engine/duckdb/values/types.ts';
import { createFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

/** The types that strays with these texts say, in order. */
async function typesOf(texts: readonly string[]): Promise<(string | null)[]> {
  const rows = texts.map((text, index) => `('${index}', ${quoteText(text)})`).join(', ');
  const table = `(SELECT json_object(p, t)::JSON AS "_strays" FROM (VALUES ${rows}) v(p, t))`;
  const found = await fixture.direct(`SELECT type FROM ${strayCountsSql(table)} ORDER BY place::INTEGER`);
  return found.map(([type]) => (type === null ? null : String(type)));
}

const SHAPES: readonly TypedShape[] = [
  'time 0000-00-00',
  'time 0000-00-00T00:00:00',
  'time 0000-00-00T00:00:00Z',
  'clock',
  'uuid',
];
const DAYS =
  '2024-05-01 2023-02-29 2024-02-29 1900-02-29 2000-02-29 0000-05-01 0001-01-01 0001-01-02 9999-12-31 9999-12-30 2024-13-01 2024-00-10 2024-04-31 24-05-01 10000-01-01';
const CLOCKS = '|T10:00:00|T10:00| 10:00:00.123456789|T10:00:00.1234567891|T24:00:00|T23:59:60|T10:60|T10';
const ZONES = '|Z|+00:00|-00:00|+00|-0000|+01:00|-05:00|+0530|+18:59|+19:00|z|+1';
const OTHERS = [
  '',
  '10:00',
  '10:00:00.1234567',
  '24:00',
  'F0E1D2C3-0000-4000-8000-00000000000a',
  'f0e1d2c3',
  '2024-05-01\n',
  '0000-',
];

test('SQL and JavaScript agree on which text a column of times, times of day or UUIDs holds', async () => {
  const times = DAYS.split(' ').flatMap((day) =>
    CLOCKS.split('|').flatMap((clock) => ZONES.split('|').map((zone) => `${day}${clock}${zone}`)),
  );
  const texts = [...times, ...OTHERS];
  const types = await typesOf(texts);
  expect(types.length).toBe(texts.length);
  const wrong = texts.flatMap((text, index) => {
    const type = types[index] ?? null;
    return SHAPES.filter((shape) => {
      const isHeld = typedIn(text, shape) !== undefined;
      return isHeld !== holdsTextOf(typeOf(shape), type);
    }).map((shape) => [text, type, shape]);
  });
  expect(wrong).toEqual([]);
});

test('and on which text is a decimal of more digits than a double has', async () => {
  const texts = ['1.5', '123456789012345.5', '-12345678901234567.12', '0.000000000000001', '-0.1234567890123456']
    .concat([
      '1234567890123456.000',
      '123456789012345678',
      '1e20',
      '1.5.5',
      '12345678901234567.',
      '10000000000000000.0',
    ])
    .concat(['000000000000000000.1', '1'.repeat(41).concat('.1'), 'x', '']);
  const types = await typesOf(texts);
  expect(texts.map((text, index) => [text, types[index] === 'DECIMAL'])).toEqual(
    texts.map((text) => [text, isLongDecimal(text)]),
  );
  expect(texts.filter(isLongDecimal)).toEqual(
    ['-12345678901234567.12', '123456789012345.5', '1234567890123456.000', '-0.1234567890123456'].toSorted(
      (a, b) => texts.indexOf(a) - texts.indexOf(b),
    ),
  );
});
