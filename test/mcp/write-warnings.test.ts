import { expect, test } from 'vitest';
import { Warnings } from '../../src/mcp/write-warnings.ts';

/** As the service says it. */
const stray = (count: string, path: string, document: string, type = 'DOUBLE') => {
  const [do_, them] = count === '1 value' ? ['does', 'it'] : ['do', 'them'];
  return `${count} of ${path} of commons.docs ${do_} not fit its type ${type} (document "${document}" has text): SELECT of the field shows ${them} as given, what SQL computes sees NULL, and (_strays->>'n') has ${them}.`;
};

test('the same of several writes is said once, added up, and of strays in one line per collection', () => {
  const warnings = new Warnings();
  for (const given of [stray('1 value', '"n"', 'a'), stray('1,200 values', '"n"', 'b'), stray('3 values', '"n"', 'c')])
    warnings.add([given]);
  warnings.add([stray('2,000 values', '"o"."a of b"', 'd', 'STRUCT("x" BIGINT)')]);
  warnings.add([stray('1 value', '"n"', 'e').replace('commons.docs', 'commons.other')]);
  warnings.add(['Other.', 'Other.', '2 documents are old.', '3 documents are old.', 7]);
  const start = 'values that do not fit their field. SELECT of it shows them as given; what SQL computes sees';
  expect(warnings.shown()).toEqual({
    warnings: [
      `commons.docs: ${start} 2,000 of "o"."a of b" (STRUCT("x" BIGINT), document "d" has text) as NULL, and (_strays->>'n') has them; 1,204 of "n" (DOUBLE, document "a" has text) as NULL, and (_strays->>'n') has them.`,
      `commons.other: ${start} 1 of "n" (DOUBLE, document "e" has text) as NULL, and (_strays->>'n') has them.`,
      'Other.',
      '5 documents are old.',
    ],
  });
});

test('of files the names are said, of many the first', () => {
  const warnings = new Warnings();
  warnings.add(['2 rows are odd.', 'Only here.'], 'a.csv');
  for (const name of ['a.csv', 'b.csv', 'c.csv', 'd.csv', 'e.csv']) warnings.add(['2 rows are odd.'], name);
  expect(warnings.shown().warnings).toEqual(['a.csv, b.csv, c.csv and 2 more: 12 rows are odd.', 'a.csv: Only here.']);
  expect(warnings.hints).toEqual(['read warnings']);
  warnings.add([stray('1 value', '"n"', 'a')], 'a.csv');
  expect(warnings.hints).toEqual([expect.stringContaining('read warnings: what SQL computes does not see')]);
});

test('of many fields some are named', () => {
  const warnings = new Warnings();
  warnings.add(Array.from({ length: 7 }, (_, at) => stray('1 value', `"f${at}"`, 'a')));
  expect(warnings.shown().warnings).toHaveLength(1);
  expect(warnings.shown().warnings?.[0]).toMatch(/; and 2 more fields\.$/);
});
