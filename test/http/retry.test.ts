import { describe, expect, test } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import { mayRepeat, parseRetryAfter, pause, pauseBeforeRetry } from '../../src/http/retry.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');

describe('parseRetryAfter()', () => {
  test.each([
    ['0', 0],
    ['3', 3_000],
    [' 10 ', 10_000],
    ['Fri, 20 Nov 2026 12:00:07 GMT', 7_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['', undefined],
    ['soon', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e9', undefined],
    ['99999999999999999999', undefined],
    ['Mon, nonsense', undefined],
    [undefined, undefined],
    [['1', '2'], undefined],
  ])('%j asks for %s ms', (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms);
  });
});

describe('mayRepeat()', () => {
  test.each([
    ['read', new ApiError('connection_failed', ''), true],
    ['read', new ApiError('not_ready', ''), true],
    ['read', new ApiError('resource_exceeded', ''), false],
    ['read', new ApiError('resource_exceeded', '', { retryAfterMs: 0 }), true],
    ['read', new ApiError('internal', '', { status: 502 }), true],
    ['read', new ApiError('internal', '', { status: 504 }), true],
    ['read', new ApiError('internal', ''), false],
    ['read', new ApiError('query_timeout', ''), false],
    ['read', new ApiError('invalid_input', ''), false],
    ['read', new ApiError('contract_mismatch', ''), false],
    ['read', new ApiError('aborted', ''), false],
    ['read', new TypeError('bug'), false],
    ['create', new ApiError('connection_failed', ''), false],
    ['update', new ApiError('not_ready', ''), false],
    ['delete', new ApiError('resource_exceeded', ''), false],
    ['read', new ApiError('storage_full', ''), false],
    ['create', new ApiError('storage_full', '', { retryAfterMs: 0 }), false],
  ] as const)('%s after %s: %s', (effect, error, expected) => {
    expect(mayRepeat(effect, error)).toBe(expected);
  });
});

describe('pauseBeforeRetry()', () => {
  const busy = new ApiError('resource_exceeded', '');

  test('doubles up to its bound, between half and all of it', () => {
    const at = (tries: number, random: number) =>
      pauseBeforeRetry(busy, tries, { triesMax: 99, pauseMaxMs: 1_000, random: () => random });
    expect([1, 2, 3, 4].map((tries) => at(tries, 1))).toEqual([250, 500, 1_000, 1_000]);
    expect([1, 2, 3, 4].map((tries) => at(tries, 0))).toEqual([125, 250, 500, 500]);
  });

  test('ends after three tries', () => {
    expect(pauseBeforeRetry(busy, 2, {})).toBeDefined();
    expect(pauseBeforeRetry(busy, 3, {})).toBeUndefined();
  });

  test('waits as long as the service asks, up to its bound', () => {
    const asked = (retryAfterMs: number) => new ApiError('resource_exceeded', '', { retryAfterMs });
    expect(pauseBeforeRetry(asked(7_000), 1, {})).toBe(7_000);
    expect(pauseBeforeRetry(asked(0), 1, {})).toBe(0);
    expect(pauseBeforeRetry(asked(31_000), 1, {})).toBeUndefined();
  });
});

describe('pause()', () => {
  test('rejects with the reason of a signal that aborts while it waits, or before', async () => {
    const controller = new AbortController();
    const waiting = pause(60_000, controller.signal);
    controller.abort('why');
    await expect(waiting).rejects.toBe('why');
    await expect(pause(0, controller.signal)).rejects.toBe('why');
  });
});
