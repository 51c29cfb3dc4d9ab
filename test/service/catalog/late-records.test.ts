import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Engine, NOT_SHARED } from '../../../src/engine/engine.ts';
import { openCatalog, put } from '../../../src/service/catalog/catalog.ts';
import { createLateRecords } from '../../../src/service/catalog/late-records.ts';

const FIGURES = { lastExecuted: null, lastExecutedBy: null, lastError: null, lastErrorMessage: null };

let fails: boolean;
let commits: number;
let release: () => void;
let held: Promise<void> | undefined;

/** Stores texts as the last executor of a lambda. */
function open() {
  const commit = async () => {
    commits += 1;
    await held;
    if (fails) throw new Error('the disk is full');
  };
  const catalog = openCatalog({ ...NOT_SHARED, records: [], commit } as unknown as Engine);
  const late = createLateRecords<string>({
    catalog,
    log: pino({ level: 'silent' }),
    what: 'texts',
    delayMs: 1_000,
    changesOf: (values) =>
      [...values].map(([key, text]) => put('lambdaStats', key, { ...FIGURES, lastExecutedBy: text })),
  });
  const stored = (key: string) => catalog.all('lambdaStats').get(key)?.lastExecutedBy;
  return { late, stored };
}

beforeEach(() => {
  vi.useFakeTimers();
  fails = false;
  commits = 0;
  held = undefined;
});
afterEach(() => {
  vi.useRealTimers();
});

describe('createLateRecords()', () => {
  it('stores many values once, after the delay, and shows them before', async () => {
    const { late, stored } = open();
    for (let n = 0; n < 5; n++) late.set('a', `v${n}`);
    late.set('b', 'w');
    expect([late.get('a'), stored('a')]).toEqual(['v4', undefined]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([stored('a'), stored('b'), commits, late.get('a')]).toEqual(['v4', 'w', 1, undefined]);
  });

  it('keeps values whose commit fails, and stores them with the next', async () => {
    const { late, stored } = open();
    fails = true;
    late.set('a', 'old');
    late.set('b', 'kept');
    await late.flush();
    expect([late.get('a'), late.get('b'), stored('b')]).toEqual(['old', 'kept', undefined]);
    fails = false;
    late.set('a', 'new');
    await late.flush();
    expect([stored('a'), stored('b')]).toEqual(['new', 'kept']);
  });

  it('shows values while they are being stored, and a newer one over them, which a failure does not undo', async () => {
    const { late, stored } = open();
    held = new Promise((resolve) => {
      release = resolve;
    });
    late.set('a', 'first');
    const flushing = late.flush();
    await vi.advanceTimersByTimeAsync(0);
    expect(late.get('a')).toBe('first');
    late.set('a', 'second');
    fails = true;
    release();
    await flushing;
    expect(late.get('a')).toBe('second');
    fails = false;
    await late.flush();
    expect(stored('a')).toBe('second');
  });

  it('stores many in several commits, so that other changes need not wait for all', async () => {
    const { late, stored } = open();
    for (let n = 0; n < 250; n++) late.set(`k${n}`, 'v');
    await late.flush();
    expect([commits, stored('k0'), stored('k249')]).toEqual([3, 'v', 'v']);
  });

  it('tries again by itself after a failure, without what was forgotten meanwhile', async () => {
    const { late, stored } = open();
    fails = true;
    held = new Promise((resolve) => {
      release = resolve;
    });
    late.set('a', 'kept');
    late.set('b', 'gone');
    const flushing = late.flush();
    await vi.advanceTimersByTimeAsync(0);
    late.forget('b');
    release();
    await flushing;
    fails = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect([stored('a'), stored('b'), late.get('b')]).toEqual(['kept', undefined, undefined]);
  });

  it('stores what is set while it stores after the delay, not at once', async () => {
    const { late, stored } = open();
    held = new Promise((resolve) => {
      release = resolve;
    });
    late.set('a', 'first');
    const flushing = late.flush();
    await vi.advanceTimersByTimeAsync(0);
    late.set('b', 'meanwhile');
    release();
    await flushing;
    expect([commits, stored('b')]).toEqual([1, undefined]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([commits, stored('b')]).toEqual([2, 'meanwhile']);
  });

  it('tries no more once it is closed, though that failed', async () => {
    const { late } = open();
    fails = true;
    late.set('a', 'v');
    await late.close();
    late.set('b', 'w');
    const tried = commits;
    await vi.advanceTimersByTimeAsync(600_000);
    expect([tried, commits]).toEqual([1, 1]);
  });

  it('stores at once what is to be known at once', async () => {
    const { late, stored } = open();
    late.set('a', 'v', true);
    await vi.advanceTimersByTimeAsync(1);
    expect(stored('a')).toBe('v');
  });
});
