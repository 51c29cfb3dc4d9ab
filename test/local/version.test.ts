import { describe, expect, test } from 'vitest';
import { isOlder, isOutdated } from '../../src/local/version.ts';

describe('isOlder()', () => {
  test.each([
    ['0.1.0', '0.2.0', true],
    ['0.9.0', '0.10.0', true],
    ['1.0.0-rc.1', '1.0.0', true],
    ['1.0.0-rc.2', '1.0.0-rc.10', true],
    ['v1.0.0', '1.0.1', true],
    ['1.0.0', '1.0.0', false],
    ['1.0.0+build', '1.0.0', false],
    ['1.0.0', '1.0.0-rc.1', false],
    ['2.0.0', '1.9.9', false],
    ['dev', '1.0.0', false],
    ['1.0.0', 'dev', false],
    ['', '1.0.0', false],
    ['1.0', '1.0.1', false],
  ])('%s than %s: %s', (a, b, expected) => {
    expect(isOlder(a, b)).toBe(expected);
  });
});

describe('isOutdated()', () => {
  const early = { version: '1.0.0', build: '2026-01-01T00:00:00.000Z' };
  const late = { version: '1.0.0', build: '2026-02-01T00:00:00.000Z' };
  const none = { version: '1.0.0' };
  const older = { version: '0.9.0', build: '2026-03-01T00:00:00.000Z' };

  test.each([
    [older, early, true],
    [early, late, true],
    [none, early, true],
    [late, late, false],
    [none, none, false],
  ])('%o beside %o: %s', (running, own, expected) => {
    expect(isOutdated(running, own)).toBe(expected);
    expect(isOutdated(own, running)).toBe(false);
  });
});
