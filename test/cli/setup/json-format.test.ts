import { expect, test } from 'vitest';
import { json, jsonc } from '../../../src/cli/setup/json-format.ts';

test.each([
  ['{"a":1 "b":2}', 'a comma is missing at line 1, column 8'],
  ['{"a" 1}', 'a colon is missing at line 1, column 6'],
  ['{1:2}', 'a name in quotes is missing at line 1, column 2'],
  ['{"a":1}\n}', 'something follows its end at line 2, column 1'],
  ['{"a":1', 'it ends too early at line 1, column 7'],
  ['{"a":tru}', 'it is not JSON at line 1, column 6'],
])('%j is refused, and it is said what is wrong with it', (text, why) => {
  for (const format of [json, jsonc]) expect(() => format.read(text)).toThrow(why);
});
