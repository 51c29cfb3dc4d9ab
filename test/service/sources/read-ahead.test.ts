import { expect, test } from 'vitest';
import { readAhead } from '../../../src/service/sources/read-ahead.ts';

const never = new AbortController().signal;

/** Yields numbers; `log` has what happened. */
async function* numbers(log: string[], count: number, failsAt?: number) {
  try {
    for (let n = 0; n < count; n++) {
      if (n === failsAt) throw new Error('cannot be read');
      log.push(`read ${n}`);
      yield n;
    }
  } finally {
    log.push('closed');
  }
}

test('the next is read while the one before is taken, and all are taken in order', async () => {
  const log: string[] = [];
  const take = async (n: number, before: Promise<void>) => {
    await before;
    await new Promise((resolve) => setTimeout(resolve, 20));
    log.push(`took ${n}`);
  };
  await readAhead(() => numbers(log, 4), take, never);
  expect(log.filter((one) => one.startsWith('took'))).toEqual(['took 0', 'took 1', 'took 2', 'took 3']);
  expect(log.indexOf('read 1')).toBeLessThan(log.indexOf('took 0'));
  expect(log.indexOf('read 3')).toBeGreaterThan(log.indexOf('took 0'));
});

test('a failure to take ends the reading, also where it waits for what does not come', async () => {
  const log: string[] = [];
  async function* read(signal: AbortSignal) {
    yield* numbers(log, 1);
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  }
  const take = () => Promise.reject(new Error('cannot be stored'));
  await expect(readAhead(read, take, never)).rejects.toThrow('cannot be stored');
  expect(log).toEqual(['read 0', 'closed']);
});

test('a failure to read is thrown when what was read is taken', async () => {
  const log: string[] = [];
  const take = async (n: number, before: Promise<void>) => {
    await before;
    await new Promise((resolve) => setTimeout(resolve, 20));
    log.push(`took ${n}`);
  };
  await expect(readAhead(() => numbers(log, 3, 2), take, never)).rejects.toThrow('cannot be read');
  expect(log).toContain('took 1');
});

test('a failure to take is thrown, also where the next cannot be read before', async () => {
  const take = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new Error('cannot be stored');
  };
  await expect(readAhead(() => numbers([], 3, 1), take, never)).rejects.toThrow('cannot be stored');
});

test('an abort from outside ends the reading, with its reason', async () => {
  const log: string[] = [];
  const outside = new AbortController();
  async function* read(signal: AbortSignal) {
    yield* numbers(log, 1);
    outside.abort(new Error('no longer wanted'));
    signal.throwIfAborted();
  }
  await expect(readAhead(read, (_, before) => before, outside.signal)).rejects.toThrow('no longer wanted');
  expect(log).toEqual(['read 0', 'closed']);
});
