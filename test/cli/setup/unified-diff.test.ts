import { describe, expect, test } from 'vitest';
import { unifiedDiff } from '../../../src/cli/setup/unified-diff.ts';

const numbered = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join('');

describe('unifiedDiff()', () => {
  test('shows every changed line, however many', () => {
    const lines = unifiedDiff('file', numbered(1_000, 'old'), numbered(1_000, 'new')).split('\n');
    expect(lines.filter((line) => line.startsWith('-old'))).toHaveLength(1_000);
    expect(lines.filter((line) => line.startsWith('+new'))).toHaveLength(1_000);
  });

  test('names a file that does not exist yet as diff does', () => {
    expect(unifiedDiff('file', undefined, 'a\n')).toBe('--- /dev/null\n+++ file\n@@ -0,0 +1,1 @@\n+a');
  });

  test('has as many lines as its head says, blank ones at the end included', () => {
    expect(unifiedDiff('file', 'a\n\n', 'b\n\n')).toBe('--- file\n+++ file\n@@ -1,2 +1,2 @@\n-a\n+b\n ');
  });

  test('is empty for equal texts', () => {
    expect(unifiedDiff('file', 'a\n', 'a\n')).toBe('');
    expect(unifiedDiff('file', undefined, '')).toBe('');
  });
});
