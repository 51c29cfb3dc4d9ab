/** @module-tag more */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerText } from '../../src/mcp/answer-text.ts';
import { readAnswerText } from '../../src/view/answer-text.ts';
import { propertyRuns } from '../property.ts';

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    '',
    'null',
    'true',
    '1',
    '-1.5e3',
    'a,b',
    'a"b',
    ' a',
    '[1]',
    '{"a":1}',
    '(2)',
    '(2 of 3)',
    'a\\',
    '"x":1',
    'a (b',
    'x\ny',
  ),
);
const json = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  text,
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(text, text, { maxKeys: 2 }),
);
const TYPES = {
  VARCHAR: fc.oneof(fc.constant(null), text),
  JSON: json,
  BIGINT: fc.oneof(fc.constant(null), fc.integer()),
  'DECIMAL(18,2)': fc.double({ noNaN: true, noDefaultInfinity: true }),
  'VARCHAR[]': fc.array(text, { maxLength: 3 }),
  'TIMESTAMP WITH TIME ZONE': fc.constant('2024-05-01T00:00:00Z'),
};
const column = fc.record({ name: text, type: fc.constantFrom(...(Object.keys(TYPES) as (keyof typeof TYPES)[])) });
const table = fc
  .array(column, { minLength: 1, maxLength: 4 })
  .chain((columns) =>
    fc
      .array(fc.tuple(...columns.map(({ type }): fc.Arbitrary<unknown> => TYPES[type])), { maxLength: 4 })
      .map((rows) => ({ columns, rows })),
  );

describe('readAnswerText()', () => {
  it('reads what answerText() writes', () => {
    fc.assert(
      fc.property(table, fc.boolean(), fc.nat(5), ({ columns, rows }, isAtLeast, offset) => {
        const data = JSON.parse(
          JSON.stringify({
            query_id: 'a-1',
            columns: columns.map(({ name }) => name),
            types: columns.map(({ type }) => type),
            rows,
            ...(offset > 0 && rows.length > 0 ? { offset } : {}),
            returned: rows.length,
            [isAtLeast ? 'at_least' : 'total']: rows.length + offset + (isAtLeast ? 1 : 0),
            truncated: false,
            warnings: ['one, "two"', '(3)'],
          }),
        );
        const { returned: _, truncated: __, ...expected } = data;
        expect(readAnswerText(answerText(data))).toEqual(expected);
      }),
      propertyRuns(2_000),
    );
  });

  it('is empty for anything else', () => {
    expect(readAnswerText('run_query failed (query_error): no')).toEqual({});
    expect(readAnswerText('')).toEqual({});
  });
});
