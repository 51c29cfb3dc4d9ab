import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { type Change, NOT_SHARED, type RecordsListener, type StoredRecord } from '../../src/engine/engine.ts';
import { openCatalog } from '../../src/service/catalog/catalog.ts';
import { createClock, type Watches } from '../../src/service/clock.ts';
import type { ServiceOptions } from '../../src/service/start.ts';
import { startTestService, type TestService } from './harness.ts';

const COLLECTIONS = '/v1/orgs/self/ws/commons/collections';
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
const RETENTION_SECS = 3_600;

/** Clocks that tests set; while nothing is set, both go on with the real time. */
function clocks() {
  const set = { aheadMs: 0, passedMs: 0 };
  const watches: Watches = {
    wallMs: () => Date.now() + set.passedMs + set.aheadMs,
    steadyMs: () => performance.now() + set.passedMs,
    boot: () => 'one',
  };
  return { set, watches };
}

let service: TestService | undefined;
afterEach(async () => {
  await service?.remove();
  service = undefined;
});

async function start(options: Partial<ServiceOptions>, folder?: string): Promise<TestService> {
  service = await startTestService({ purgeEveryMs: 10, ...options }, folder);
  return service;
}

/** Stores documents of which one has expired in a year at the latest, and puts some into the trash. */
async function fill({ call }: TestService): Promise<void> {
  await call('POST', COLLECTIONS, { name: 'short', retention_secs: RETENTION_SECS });
  await call('POST', `${COLLECTIONS}/short/docs`, { data: [{ _id: 'a' }, { _id: 'b' }] });
  await call('POST', COLLECTIONS, { name: 'gone' });
  await call('DELETE', `${COLLECTIONS}/gone`);
}

async function left({ call }: TestService) {
  const counted = await call('POST', '/v1/orgs/self/queries', { sql: { query: 'SELECT count(*) AS n FROM short' } });
  return {
    documents: counted.body.results[0].n,
    trash: (await call('GET', '/v1/colloquy/trash')).body.data.length,
  };
}
const ALL = { documents: 2, trash: 1 };

const beforeOf = async ({ call }: TestService) => (await call('GET', '/v1/colloquy')).body.data.clock_before;

/** Several rounds of removing what has expired. */
const rounds = () => new Promise((resolve) => setTimeout(resolve, 150));

async function until(check: () => Promise<boolean>): Promise<void> {
  for (const endsAt = performance.now() + 10_000; !(await check()); await rounds()) {
    if (performance.now() > endsAt) throw new Error('it did not happen in time');
  }
}

test('a clock that is wrong for a moment removes nothing', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  set.aheadMs = YEAR_MS;
  await until(async () => (await beforeOf(on)) !== null);
  await rounds();
  // Not after some hours either.
  set.passedMs += DAY_MS / 2;
  await rounds();
  set.aheadMs = 0;
  set.passedMs = 0;
  await until(async () => (await beforeOf(on)) === null);
  expect(await left(on)).toEqual(ALL);
});

test('nor does one that is wrong at the start, and right again at the next', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  await on.stop();
  set.aheadMs = YEAR_MS;
  const wrong = await start({ watches }, on.folder);
  await until(async () => (await beforeOf(wrong)) !== null);
  await rounds();
  await wrong.stop();
  set.aheadMs = 0;
  const right = await start({ watches }, on.folder);
  await until(async () => (await beforeOf(right)) === null);
  expect(await left(right)).toEqual(ALL);
});

test('a jump that holds for a day counts, over restarts too; so does time that passes', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  set.aheadMs = YEAR_MS;
  await until(async () => (await beforeOf(on)) !== null);
  await on.stop();
  const again = await start({ watches }, on.folder);
  await rounds();
  expect((await left(again)).trash).toBe(1);
  expect(await beforeOf(again)).not.toBeNull();
  set.passedMs += DAY_MS + 1_000;
  await until(async () => (await left(again)).trash === 0);
  expect(await beforeOf(again)).toBeNull();
});

test('an ordinary week does not raise a doubt', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  for (let day = 0; day < 8; day++) {
    set.passedMs += DAY_MS;
    await rounds();
  }
  await until(async () => (await left(on)).trash === 0);
  await on.stop();
  set.passedMs += 6 * DAY_MS;
  const later = await start({ watches }, on.folder);
  await rounds();
  expect(await beforeOf(later)).toBeNull();
});

test('a person can say that the clock is right', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await fill(on);
  set.aheadMs = YEAR_MS;
  await until(async () => (await beforeOf(on)) !== null);
  const confirmed = await on.call('POST', '/v1/colloquy/clock');
  expect(confirmed.body.data.clock_before).toBeNull();
  await until(async () => (await left(on)).trash === 0);
});

test('what is deleted while the clock is behind stays as long as otherwise', async () => {
  const { set, watches } = clocks();
  const on = await start({ watches });
  await rounds();
  set.aheadMs = -YEAR_MS;
  await fill(on);
  await rounds();
  set.aheadMs = 0;
  await until(async () => (await beforeOf(on)) !== null);
  // After a day the clock counts again.
  set.passedMs += DAY_MS + 1_000;
  await until(async () => (await beforeOf(on)) === null);
  await rounds();
  expect((await left(on)).trash).toBe(1);
});

test('the clock is confirmed over the local socket only', async () => {
  const on = await start({ listen: [{ host: '127.0.0.1', port: 0 }] });
  const [address] = on.service.addresses;
  const answer = await fetch(`${address}/v1/colloquy/clock`, {
    method: 'POST',
    headers: { authorization: `ApiKey ${on.key}`, 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(403);
});

describe('compared with a clock that nobody sets', () => {
  const MINUTE_MS = 60_000;
  const BEGAN_MS = Date.parse('2026-03-01T00:00:00Z');

  /** A machine with a clock, and a service on it that looks at it. */
  async function machine() {
    const time = { wallMs: BEGAN_MS, steadyMs: DAY_MS, boot: 0 };
    const stored: StoredRecord[] = [];
    const start = () => {
      const commit = async (changes: readonly Change[]) => {
        for (const change of changes) {
          if (change.do === 'putRecord')
            stored.splice(0, 1, { kind: change.kind, key: change.key, value: change.value });
        }
      };
      const watches = { wallMs: () => time.wallMs, steadyMs: () => time.steadyMs, boot: () => `${time.boot}` };
      return createClock(
        openCatalog({ ...NOT_SHARED, records: [...stored], commit }),
        pino({ level: 'silent' }),
        watches,
      );
    };
    let clock = start();
    await clock.look();
    return {
      time,
      look: () => clock.look(),
      /** Time passes, with a look every so often, and the clock gains on it; returns what was last believed. */
      async pass(ms: number, { gain = 0, everyMs = MINUTE_MS } = {}) {
        let believed: number | undefined;
        for (let passed = 0; passed < ms; passed += everyMs) {
          time.steadyMs += everyMs;
          time.wallMs += everyMs * (1 + gain);
          believed = await clock.look();
        }
        return believed;
      },
      /** The service is off for some time, and so may the machine be. */
      restart(ms: number, { isBoot = false, jumpMs = 0 } = {}) {
        time.wallMs += ms + jumpMs;
        if (isBoot) time.boot += 1;
        time.steadyMs = isBoot ? MINUTE_MS : time.steadyMs + ms;
        clock = start();
        return clock.look();
      },
    };
  }

  test.each([0.5, 1, 1_000])(
    'a clock that gains %d times the time that passes does not confirm itself',
    async (gain) => {
      const { pass } = await machine();
      for (const everyMs of [MINUTE_MS, 60 * MINUTE_MS]) {
        expect(await pass(2 * DAY_MS, { gain, everyMs })).toBeUndefined();
      }
    },
  );

  test('nor does one that gains a little with each look', async () => {
    const { time, look } = await machine();
    for (let looks = 0; looks < 100; looks++) {
      time.wallMs += MINUTE_MS / 2;
      const believed = await look();
      expect(believed ?? 0).toBeLessThan(BEGAN_MS + 2 * MINUTE_MS);
    }
  });

  test('that has run for long on another machine, a jump is not confirmed by it', async () => {
    const { restart, time } = await machine();
    time.boot += 1;
    time.steadyMs = 300 * DAY_MS;
    expect(await restart(0, { jumpMs: 200 * DAY_MS })).toBeUndefined();
    expect(await restart(0)).toBeUndefined();
    time.boot += 1;
    time.steadyMs = 900 * DAY_MS;
    expect(await restart(0)).toBeUndefined();
  });

  test('a machine that went on while the service was off confirms how long that was', async () => {
    const { restart, time } = await machine();
    expect(await restart(20 * DAY_MS)).toBe(time.wallMs);
  });

  test('one that drifts as clocks do is believed', async () => {
    const { pass, time } = await machine();
    expect(await pass(60 * DAY_MS, { gain: 0.0001, everyMs: 60 * MINUTE_MS })).toBe(time.wallMs);
  });

  test('a jump is not confirmed by another one, at a restart, nor by a day that was not there', async () => {
    const { pass, restart, time } = await machine();
    time.wallMs += 365 * DAY_MS;
    expect(await pass(MINUTE_MS)).toBeUndefined();
    expect(await restart(MINUTE_MS, { jumpMs: 3 * DAY_MS })).toBeUndefined();
    expect(await restart(MINUTE_MS, { jumpMs: 3 * DAY_MS, isBoot: true })).toBeUndefined();
    expect(await pass(DAY_MS)).toBe(time.wallMs);
  });

  test('a day that passes while the service is off counts, unless the machine was off too', async () => {
    for (const isBoot of [false, true]) {
      const { pass, restart, time } = await machine();
      time.wallMs += 365 * DAY_MS;
      await pass(DAY_MS / 4);
      const believed = await restart(DAY_MS, { isBoot });
      expect(believed).toBe(isBoot ? undefined : time.wallMs);
      // What was held before counts as well.
      expect(await pass(DAY_MS * 0.8)).toBe(time.wallMs);
    }
  });

  test('a clock that goes back after the jump, but not all the way, begins anew', async () => {
    const { pass, time } = await machine();
    time.wallMs += 365 * DAY_MS;
    await pass(DAY_MS / 2);
    time.wallMs -= 300 * DAY_MS;
    expect(await pass(DAY_MS * 0.9)).toBeUndefined();
    expect(await pass(DAY_MS / 2)).toBe(time.wallMs);
    // And is right again at once where it is what passed.
    time.wallMs += 365 * DAY_MS;
    expect(await pass(MINUTE_MS)).toBeUndefined();
    time.wallMs -= 365 * DAY_MS;
    expect(await pass(MINUTE_MS)).toBe(time.wallMs);
  });

  /** Two machines with the same data, of which each is told what the other stores. */
  function two() {
    const time = { wallMs: BEGAN_MS, steadyMs: DAY_MS };
    const listeners: RecordsListener[] = [];
    const clockOf = (boot: string) => {
      const commit = async (changes: readonly Change[]) => {
        const own = listeners.indexOf(listener);
        const records = changes.filter((change) => change.do === 'putRecord');
        for (const [place, tell] of listeners.entries()) if (place !== own) tell(records, false);
      };
      let listener: RecordsListener = () => undefined;
      const onRecords = (one: RecordsListener) => {
        listener = one;
        listeners.push(one);
      };
      const watches = { wallMs: () => time.wallMs, steadyMs: () => time.steadyMs, boot: () => boot };
      const catalog = openCatalog({ ...NOT_SHARED, records: [], commit, onRecords });
      return createClock(catalog, pino({ level: 'silent' }), watches);
    };
    return { time, clocks: [clockOf('a'), clockOf('b')] as const };
  }

  test('a node that takes over after weeks goes on from what the one before saw', async () => {
    const {
      time,
      clocks: [a, b],
    } = two();
    for (let day = 0; day < 20; day++) {
      expect(await a.look()).toBe(time.wallMs);
      time.wallMs += DAY_MS;
      time.steadyMs += DAY_MS;
    }
    expect(await b.look()).toBe(time.wallMs);
  });

  test('what one node doubts the other does, and what a person says to one both know', async () => {
    const {
      time,
      clocks: [a, b],
    } = two();
    await a.look();
    time.wallMs += YEAR_MS;
    expect(await a.look()).toBeUndefined();
    expect(b.doubt).toEqual(a.doubt);
    expect(await b.look()).toBeUndefined();
    await b.confirm();
    expect(a.doubt).toBeUndefined();
    expect(await a.look()).toBe(time.wallMs);
  });
});
