import { describe, expect, test } from 'vitest';
import { afterRun, NO_FAILURES, type Run } from '../../../src/cli/serve/supervise.ts';

const RUN: Run = { wasReady: true, isStopping: false, ranMs: 120_000, code: null, signal: 'SIGKILL' };
const EVER = { ...NO_FAILURES, wasReady: true };

describe('after the service', () => {
  test.each<[string, Partial<Run>, boolean, number]>([
    ['was told to end, it ends', { isStopping: true, code: 0, signal: null }, false, 0],
    ['was told to end and had to be killed', { isStopping: true }, false, 137],
    ['left by itself', { code: 0, signal: null }, false, 0],
    ['has said what is wrong before it was ready', { wasReady: false, code: 2, signal: null }, false, 2],
  ])('%s', (_, run, wasReady, code) => {
    expect(afterRun({ ...RUN, ...run }, { ...NO_FAILURES, wasReady })).toEqual({ code });
  });

  test.each<[string, Partial<Run>]>([
    ['was killed', {}],
    ['crashed', { signal: 'SIGSEGV' }],
    ['failed', { code: 1, signal: null }],
    ['crashed while it started', { wasReady: false, signal: 'SIGSEGV', ranMs: 100 }],
  ])('%s, it starts again at once', (_, run) => {
    expect(afterRun({ ...RUN, ...run }, NO_FAILURES)).toMatchObject({ pauseMs: 0 });
  });

  test('failed to start a second time, it starts again: the folder may be held for a moment', () => {
    expect(afterRun({ ...RUN, wasReady: false, code: 1, signal: null }, EVER)).toMatchObject({ pauseMs: 0 });
  });

  /** The pauses before each start, and the exit code if there is one. */
  function play(run: Partial<Run>, runs: number): (number | string)[] {
    const pauses: (number | string)[] = [];
    let failures = EVER;
    for (let count = 0; count < runs; count++) {
      const next = afterRun({ ...RUN, ...run }, failures);
      if ('code' in next) return [...pauses, `exit ${next.code}`];
      pauses.push(next.pauseMs);
      failures = next.failures;
    }
    return pauses;
  }

  test('ended soon, again and again, it waits ever longer and goes on', () => {
    expect(play({ ranMs: 5_000 }, 9)).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  test('ended now and then, it never waits', () => {
    expect(play({}, 4)).toEqual([0, 0, 0, 0]);
  });

  test('does not get ready any more, it is given up', () => {
    expect(play({ wasReady: false, signal: 'SIGSEGV' }, 9)).toEqual([0, 1_000, 2_000, 4_000, 'exit 139']);
  });
});
