import { describe, expect, test } from 'vitest';
import { decide, mayTake, type RunningTurn, type Turn, type TurnRules } from '../../../src/contract/turns/shares.ts';

const RULES: TurnRules = { places: 6, longPlaces: 2, shortMs: 1_000 };
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

  test('what runs again only while one of the places for long queries is left', () => {
    const again = waits('a', 9_000, { isAgain: true });
    expect(decided([runs('b', 5_000), runs('c', 4_000)], [again])).toEqual({ do: 'nothing' });
    expect(decided([runs('b', 5_000), runs('c', 999)], [again])).toEqual({ do: 'start', query: again });
    expect(decided([runs('a', 5_000), runs('b', 4_000)], [again])).toEqual({ do: 'nothing' });
  });
});

describe('decide() stops', () => {
  const [one, two, three] = [runs('a', 5_000), runs('a', 4_000), runs('a', 3_000)];

  test('the newest long one, if there are more than may be', () => {
    expect(decided([three, one, two], [])).toEqual({ do: 'stop', query: three });
    expect(decided([one, two], [waits('b', 1)])).toMatchObject({ do: 'start' });
    expect(decided([one, two, runs('a', 400)], [])).toEqual({ do: 'look', afterMs: 600 });
  });

  test('one of a caller with more of them rather than the only one of another', () => {
    const only = runs('b', 1_500);
    expect(decided([one, two, only], [])).toEqual({ do: 'stop', query: two });
    const again = waits('b', 9_000, { isAgain: true });
    expect(decided([one, two], [again])).toEqual({ do: 'start', query: again });
    const started = runs('b', 0, { isAgain: true });
    expect(decided([one, two, started], [])).toEqual({ do: 'stop', query: two });
  });

  test('none that was told already, and none that cannot run again, which counts all the same', () => {
    expect(decided([one, two, { ...three, isLeaving: true }], [])).toEqual({ do: 'nothing' });
    expect(decided([one, two, { ...three, mayRunAgain: false }], [])).toEqual({ do: 'nothing' });
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
  function simulate(jobs: Job[], untilMs: number, rules: TurnRules = { places: 16, longPlaces: 4, shortMs: 1_000 }) {
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
    simulate([...attack, ...others], 60_000);
    expect(Math.max(...others.map(waitOf))).toBeLessThanOrEqual(1_000);
  });

  test('and the long query of another is not kept from ending by them', () => {
    const attack = times(90, (index) => job(`a${index % 3}`, index, ENDLESS_MS));
    const other = job('b', 20_000, 15_000);
    simulate([...attack, other], 60_000);
    expect(other.endedAt).toBeLessThan(37_000);
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

  test('all that can end do so, and few are stopped', () => {
    const jobs = times(40, (index) => job(`c${index % 5}`, index * 50, index % 4 === 0 ? 4_000 : 200));
    simulate(jobs, 60_000, { places: 4, longPlaces: 1, shortMs: 1_000 });
    expect(jobs.filter(({ endedAt }) => endedAt === undefined)).toEqual([]);
    expect(Math.max(...jobs.map(({ stops }) => stops))).toBeLessThanOrEqual(1);
  });
});
