import { describe, expect, test } from 'vitest';
import { levelOf, placesOf } from '../../src/cli/serve.ts';

describe('levelOf()', () => {
  test.each([
    ['a person at a terminal', undefined, false, true, 'warn'],
    ['a person who asked for more', 'info', false, true, 'info'],
    ['a file or another program', undefined, false, false, 'info'],
    ['the local service', undefined, true, false, 'info'],
    ['the local service, as asked', 'error', true, false, 'error'],
  ] as const)('%s', (_, logLevel, local, isTerminal, expected) => {
    expect(levelOf({ logLevel }, local, isTerminal)).toBe(expected);
  });
});

describe('placesOf()', () => {
  test.each([
    [1, 1, 1],
    [4, 2, 1],
    [6, 4, 1],
    [8, 4, 2],
    [16, 4, 4],
  ])(
    'of %d threads: %d queries at once, and %d more beside those that do not stop',
    (threads, queriesMax, stuckMax) => {
      expect(placesOf(threads)).toEqual({ queriesMax, stuckMax });
    },
  );
});
