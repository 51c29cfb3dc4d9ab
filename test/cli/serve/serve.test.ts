import { describe, expect, test } from 'vitest';
import { levelOf, placesOf } from '../../../src/cli/serve/serve.ts';

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
    [1, 1],
    [4, 2],
    [8, 6],
    [16, 14],
    [24, 16],
    [64, 16],
  ])('of %d threads: %d queries at once', (threads, places) => {
    expect(placesOf(threads)).toBe(places);
  });
});
