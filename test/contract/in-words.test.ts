import { expect, test } from 'vitest';
import { bytesText, counted } from '../../src/contract/in-words.ts';

test.each([
  [0, 'documents', '0 documents'],
  [1, 'documents', '1 document'],
  [1, 'child workspaces', '1 child workspace'],
  [1, 'aliases', '1 alias'],
  [1, 'queries', '1 query'],
  [1, 'changes', '1 change'],
  [12_345, 'queries', '12,345 queries'],
])('%i %s', (count, plural, text) => expect(counted(count, plural)).toBe(text));

test('bytes have three digits', () => {
  expect([0, 999, 1_000, 1_534_000, 999_500].map(bytesText)).toEqual(['0 B', '999 B', '1 kB', '1.53 MB', '1 MB']);
});
