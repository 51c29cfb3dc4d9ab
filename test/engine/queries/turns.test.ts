import { describe, expect, test } from 'vitest';
import {
  decide,
  mayTake,
  type RunningTurn,
  type Turn,
  type TurnRules,
} from '../../../src/engine/duckdb/queries/turns.ts';

const RULES: TurnRules = { places: 6, longPlaces: 3, shortMs: 1_000 };
const NOW = 100_000;

function runs(caller: string, ageMs: number, more: Partial<RunningTurn> = {}): RunningTurn {
  const startedAt = NOW - ageMs;
  return { caller, askedAt: startedAt, startedAt, isAgain: false, mayRunAgain: true, ...more };
}

function waits(caller: string, forMs: number, more: Partial<Turn> = {}): Turn {
  return { caller, askedAt: NOW - forMs, isAgain: false, ...more };
}

function decided(running: RunningTurn[], waiting: Turn[], rules: Partial<TurnRules> = {}) {
  return decide({ running, waiting, now: NOW }, { ...RULES, ...rules });
}

describe('mayTake()', () => {
  /** What each caller has when they come one after the other and each takes all that it may. */
  function sharesOf(callers: number, max: number): number[] {
    const shares: number[] = [];
    let taken = 0;
    for (let caller = 0; caller < callers; caller++) {
      let held = 0;
      for (; mayTake(held, taken, max); held++) taken += 1;
      shares.push(held);
    }
    return shares;
  }

  test.each([
    [1, [1, 0]],
    [2, [2, 0]],
    [3, [2, 1]],
    [4, [3, 1]],
    [12, [7, 3, 2, 0]],
    [128, [65, 32, 16, 8]],
  ])('of %d: one caller has about half, the next half of the rest', (max, shares) => {
    expect(sharesOf(shares.length, max)).toEqual(shares);
  });
});

describe('decide() starts', () => {
  test('what finds a place within its caller’s share', () => {
    const query = waits('a', 5);
    expect(decided([], [query])).toEqual({ do: 'start', query });
    expect(decided([runs('a', 1), runs('a', 1), runs('b', 1)], [query])).toEqual({ do: 'start', query });
  });

  test('the one whose caller runs the fewest, then the one that asked first', () => {
    const [late, early, ofBusy] = [waits('b', 5), waits('c', 6), waits('a', 900)];
    const first = decided([runs('a', 1)], [late, ofBusy, early]);
    expect(first).toEqual({ do: 'start', query: early });
    expect(decided([runs('a', 1)], [late, ofBusy])).toEqual({ do: 'start', query: late });
  });

  test('nothing of a caller that has its share, although places are free', () => {
    const busy = [1, 2, 3, 4].map((age) => runs('a', age));
    expect(decided(busy, [waits('a', 50)])).toEqual({ do: 'look', afterMs: 996 });
    const other = waits('b', 1);
    expect(decided(busy, [waits('a', 50), other])).toEqual({ do: 'start', query: other });
  });

  test('what runs again only while there is room among the long ones', () => {
    const again = waits('a', 9_000, { isAgain: true });
    expect(decided([runs('a', 5_000), runs('a', 4_000)], [again])).toEqual({ do: 'nothing' });
    expect(decided([runs('a', 5_000), runs('a', 999)], [again])).toEqual({ do: 'start', query: again });
    const ofOthers = ['b', 'c', 'd'].map((caller) => runs(caller, 5_000));
    expect(decided(ofOthers, [again])).toEqual({ do: 'nothing' });
  });
});

describe('decide() stops', () => {
  const full = [5_000, 4_000, 3_000, 2_000].map((age) => runs('a', age));

  test('the newest long one of a caller whose share is used up, for one that may be short', () => {
    expect(decided(full, [waits('a', 1)])).toEqual({ do: 'stop', query: full[3] });
  });

  test('nothing while nobody waits, or only what was stopped itself', () => {
    expect(decided(full, [])).toEqual({ do: 'nothing' });
    expect(decided(full, [waits('a', 1, { isAgain: true })])).toEqual({ do: 'nothing' });
  });

  test('none of the oldest, none that ran before, none that cannot run again', () => {
    const [one, two, three, four] = full as [RunningTurn, RunningTurn, RunningTurn, RunningTurn];
    const stays = { mayRunAgain: false };
    expect(decided([one, two, { ...three, isAgain: true }, { ...four, ...stays }], [waits('a', 1)])).toEqual({
      do: 'stop',
      query: two,
    });
    expect(decided([one, two], [waits('a', 1)], { places: 2, longPlaces: 2 })).toEqual({ do: 'nothing' });
    expect(decided([one], [waits('a', 1)], { places: 1, longPlaces: 1 })).toEqual({ do: 'nothing' });
  });

  test('nothing before the first of them is long', () => {
    const young = [5_000, 4_000, 300, 100].map((age) => runs('a', age));
    expect(decided(young, [waits('a', 1)])).toEqual({ do: 'look', afterMs: 700 });
  });

  test('one at a time, and another if that takes long', () => {
    const told = (msAgo: number) => [...full.slice(0, 3), runs('a', 1_500, { toldAt: NOW - msAgo })];
    expect(decided(told(40), [waits('a', 1)])).toEqual({ do: 'look', afterMs: 210 });
    expect(decided(told(250), [waits('a', 1)])).toMatchObject({ do: 'stop', query: { startedAt: NOW - 3_000 } });
  });

  test('for a caller with few, one of those with most, if no place is left at all', () => {
    const taken = [...full, runs('b', 1_500), runs('c', 1_200)];
    expect(decided(taken, [waits('d', 1)])).toEqual({ do: 'stop', query: full[3] });
  });
});

describe('over time,', () => {
  interface Job {
    caller: string;
    needsMs: number;
    askedAt: number;
    startedAt?: number;
    endedAt?: number;
    stops: number;
  }

  /** Runs the rule with a clock of its own, in steps of 10 ms. Jobs ask at `askedAt`. */
  function simulate(jobs: Job[], untilMs: number, rules: TurnRules = { places: 12, longPlaces: 6, shortMs: 1_000 }) {
    type Entry = RunningTurn & { job: Job };
    const [running, waiting]: [Entry[], Entry[]] = [[], []];
    const left = jobs.toSorted((a, b) => a.askedAt - b.askedAt);
    for (let now = 0; now <= untilMs; now += 10) {
      for (const entry of [...running]) {
        if (now - entry.startedAt < entry.job.needsMs) continue;
        entry.job.endedAt = now;
        running.splice(running.indexOf(entry), 1);
      }
      for (let job = left[0]; job !== undefined && job.askedAt <= now; job = left[0]) {
        left.shift();
        const { caller, askedAt } = job;
        waiting.push({ caller, askedAt, isAgain: false, mayRunAgain: true, startedAt: 0, job });
      }
      for (;;) {
        const decision = decide({ running, waiting, now }, rules);
        if (decision.do === 'start') {
          const entry = decision.query;
          waiting.splice(waiting.indexOf(entry), 1);
          entry.startedAt = now;
          entry.job.startedAt ??= now;
          running.push(entry);
        } else if (decision.do === 'stop') {
          const entry = decision.query;
          running.splice(running.indexOf(entry), 1);
          entry.isAgain = true;
          entry.job.stops += 1;
          waiting.push(entry);
        } else break;
      }
      expect(running.length).toBeLessThanOrEqual(rules.places);
    }
    return jobs;
  }

  const ENDLESS_MS = 1e9;
  const job = (caller: string, askedAt: number, needsMs: number): Job => ({ caller, askedAt, needsMs, stops: 0 });
  const times = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index));
  const waitOf = ({ askedAt, startedAt = Number.POSITIVE_INFINITY }: Job) => startedAt - askedAt;

  test('one caller with hundreds of endless queries keeps no other waiting', () => {
    const attack = times(200, (index) => job('a', index * 5, ENDLESS_MS));
    const others = times(100, (index) => job('b', 10 + index * 300, 5));
    simulate([...attack, ...others], 40_000);
    expect(Math.max(...others.map(waitOf))).toBe(0);
  });

  test('nor do three of them, once their queries are known to be long', () => {
    const attack = times(300, (index) => job(`a${index % 3}`, index, ENDLESS_MS));
    const others = times(100, (index) => job('b', 5_000 + index * 300, 5));
    simulate([...attack, ...others], 40_000);
    expect(Math.max(...others.map(waitOf))).toBeLessThanOrEqual(1_000);
  });

  test('short queries of a caller do not wait for its own endless ones', () => {
    const endless = times(20, () => job('a', 0, ENDLESS_MS));
    const others = times(100, (index) => job('a', 20_000 + index * 100, 5));
    simulate([...endless, ...others], 40_000);
    expect(Math.max(...others.map(waitOf))).toBe(0);
  });

  test('two long queries end beside any number of short ones, without being stopped', () => {
    const long = [job('a', 0, 20_000), job('a', 0, 25_000)];
    const short = times(5_000, (index) => job('a', 1 + index * 6, 20));
    simulate([...long, ...short], 40_000);
    expect(long.map(({ stops, endedAt }) => [stops, endedAt])).toEqual([
      [0, 20_000],
      [0, 25_000],
    ]);
  });

  test('no query is stopped more than once, and all that end do so', () => {
    const jobs = times(40, (index) => job(`c${index % 5}`, index * 50, index % 4 === 0 ? 4_000 : 200));
    simulate(jobs, 60_000, { places: 4, longPlaces: 2, shortMs: 1_000 });
    expect(jobs.filter(({ endedAt }) => endedAt === undefined)).toEqual([]);
    expect(Math.max(...jobs.map(({ stops }) => stops))).toBeLessThanOrEqual(1);
  });
});
