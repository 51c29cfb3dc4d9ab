import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CallContext } from '../../../src/service/context.ts';
import { enterLoad } from '../../../src/service/loading/load-places.ts';
import { rowsOf } from '../../engine/harness.ts';
import { type Loads, openLoads } from './loads.ts';

let loads: Loads;
beforeEach(async () => {
  loads = await openLoads();
});
afterEach(async () => {
  expect(loads.spooled()).toEqual([]);
  await loads.dispose();
});

/** A body that goes on when it is told to; `isRead`: whether somebody has begun to read it. */
function heldBody() {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const body = {
    isRead: false,
    goOn,
    async *pieces() {
      body.isRead = true;
      yield Buffer.from('_id,v\n');
      await held;
      yield Buffer.from('a,1\n');
    },
  };
  return body;
}

describe('loads of rows at once', () => {
  test('are four, of one key three; others are not read before it is their turn', async () => {
    const docs = await loads.create('docs');
    const bodies = Array.from({ length: 5 }, heldBody);
    const done = bodies.map(({ pieces }) => loads.load(docs, pieces(), {}, 'greedy'));
    const other = heldBody();
    const others = loads.load(docs, other.pieces(), {}, 'other');
    const isRead = () => [...bodies, other].map((one) => one.isRead);
    await expect.poll(isRead).toEqual([true, true, true, false, false, true]);
    await sleep(100);
    expect(isRead()).toEqual([true, true, true, false, false, true]);
    // With those of another key, its share is two.
    for (const at of [0, 1]) {
      bodies[at]?.goOn();
      await done[at];
    }
    await expect.poll(isRead).toEqual([true, true, true, true, false, true]);
    for (const { goOn } of [...bodies, other]) goOn();
    const outcomes = await Promise.all([...done, others]);
    expect(outcomes.map(({ added, replaced }) => added + replaced)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await rowsOf(loads.engine, 'SELECT count(*) FROM docs')).toEqual([[1]]);
  });

  test('that fail leave their place, and one that waits too long says so', async () => {
    const docs = await loads.create('docs');
    for (let n = 0; n < 6; n++) await expect(loads.load(docs, '"a')).rejects.toThrow('never closed');
    const call = { caller: { keyHash: 'key' }, signal: new AbortController().signal } as unknown as CallContext;
    const leave = await Promise.all([1, 2, 3].map(() => enterLoad(call)));
    await expect(enterLoad(call, 20)).rejects.toMatchObject({
      code: 'resource_exceeded',
      message: expect.stringContaining('no place for this one within 0.02 s'),
    });
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(enterLoad({ ...call, signal: gone })).rejects.toThrow('gone');
    for (const one of leave) one();
  });
});
