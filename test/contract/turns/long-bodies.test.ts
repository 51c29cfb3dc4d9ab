import { setImmediate as nextLoop } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { type Body, enterBody } from '../../../src/contract/turns/long-bodies.ts';

/** Who got a place, in order, with what frees it. The places are those of the process, so each test gives all back. */
let inside: { caller: string; leave: () => void }[] = [];
let outside: AbortController[] = [];

function enter(caller: string, more: Partial<Body> = {}) {
  const abort = new AbortController();
  outside.push(abort);
  const result = enterBody({ length: 100_000, isWrite: false, caller, signal: abort.signal, ...more }).then(
    (leave) => void inside.push({ caller, leave }),
  );
  // A test that cares looks at it.
  result.catch(() => {});
  return { abort, result };
}

async function settled(): Promise<string> {
  for (let loop = 0; loop < 20; loop++) await nextLoop();
  return inside.map(({ caller }) => caller).join('');
}

afterEach(async () => {
  for (const abort of outside) abort.abort();
  await settled();
  for (const { leave } of inside) leave();
  [inside, outside] = [[], []];
});

/** As many as one caller may have wait. */
const WAITING_MAX = 65;

describe('enterBody()', () => {
  test('lets short bodies in at once, whoever waits', async () => {
    for (let count = 0; count < 10; count++) enter('a');
    expect(await settled()).toBe('aa');
    await enter('a', { length: 16_000 }).result;
    expect(await settled()).toBe('aaa');
  });

  test('keeps a place for another key, and then goes round', async () => {
    for (let count = 0; count < 5; count++) enter('a');
    for (let count = 0; count < 3; count++) enter('b');
    enter('c');
    expect(await settled()).toBe('aab');
    inside[0]?.leave();
    expect(await settled()).toBe('aabc');
    inside[1]?.leave();
    expect(await settled()).toBe('aabca');
  });

  test('has places for writes of documents beside those for other bodies', async () => {
    for (let count = 0; count < 5; count++) enter('a', { isWrite: true });
    expect(await settled()).toBe('aaaaa');
    await enter('a').result;
  });

  test('refuses one too many of a key and says when to come again, but not another key', async () => {
    for (let count = 0; count < 2 + WAITING_MAX; count++) enter('a');
    await expect(enter('a').result).rejects.toMatchObject({
      code: 'resource_exceeded',
      status: 429,
      message: `Too many long requests at once: 2 run and ${WAITING_MAX} wait, ${WAITING_MAX} of them yours. Try again later.`,
      details: { retryAfterMs: expect.toSatisfy((ms: number) => ms >= 100) },
    });
    await enter('b').result;
    expect(await settled()).toBe('aab');
  });

  test('forgets one that is given up while it waits', async () => {
    const asked = Array.from({ length: 2 + WAITING_MAX }, () => enter('a'));
    await expect(enter('a').result).rejects.toMatchObject({ code: 'resource_exceeded' });
    const given = asked.at(-1);
    given?.abort.abort();
    await expect(given?.result).rejects.toMatchObject({ code: 'aborted' });
    const next = enter('a');
    for (let left = 0; left < 2 + WAITING_MAX; left++) {
      await settled();
      inside[left]?.leave();
    }
    await next.result;
    expect(inside).toHaveLength(2 + WAITING_MAX);
  });
});
