import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root, SUITES, testFiles } from '../../scripts/long-suites.mjs';

const isLong = (file: string) => file.endsWith('.long.test.ts');

describe('the long suites', () => {
  test.each(testFiles.filter(isLong))('%s is in exactly one', (file) => {
    const holding = SUITES.filter(({ long = [] }) => long.some((start) => file.startsWith(start)));
    expect(holding).toHaveLength(1);
  });

  test.each(testFiles.filter((file) => !isLong(file)))('%s says what its short form tries', (file) => {
    const text = readFileSync(join(root, file), 'utf8');
    if (/\b(?:propertyRuns|someOf)\(/.test(text)) expect(text).toMatch(/\bMORE\b|@module-tag more\b/);
  });

  test('name only what there is', () => {
    const idle = SUITES.flatMap(({ long = [], usual = [] }) => [
      ...long.filter((start) => !testFiles.some((file) => isLong(file) && file.startsWith(start))),
      ...usual.filter((start) => !testFiles.some((file) => !isLong(file) && file.startsWith(start))),
    ]);
    expect(idle).toEqual([]);
  });
});
