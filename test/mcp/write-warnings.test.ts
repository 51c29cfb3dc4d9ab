import { expect, test } from 'vitest';
import { Warnings } from '../../src/mcp/write-warnings.ts';

const stray = (count: string, id: string, type = 'DOUBLE') =>
  `${count} of "n" of commons.docs ${count === '1 value' ? 'does' : 'do'} not fit its type ${type} (document "${id}" has text): SELECT of the field shows ${count === '1 value' ? 'it' : 'them'} as given, what SQL computes sees NULL, and _strays has ${count === '1 value' ? 'it' : 'them'}.`;

test('the same of several writes is said once, added up, with the first example', () => {
  const warnings = new Warnings();
  for (const given of [stray('1 value', 'a'), stray('1,200 values', 'b'), stray('3 values', 'c')])
    warnings.add([given]);
  warnings.add(['Other.', 'Other.', '2 documents are old.', '3 documents are old.', 7]);
  expect(warnings.shown()).toEqual({ warnings: [stray('1,204 values', 'a'), 'Other.', '5 documents are old.'] });
});
