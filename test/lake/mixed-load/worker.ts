import { expect } from 'vitest';
import type { Caller, Outcome } from './caller.ts';

/** Ids that all clients replace. */
export const HOT = ['hot-0', 'hot-1', 'hot-2'];

/** By id: the field `n` of the documents of a client. */
type Model = ReadonlyMap<string, number>;

/** A client that knows what it stored. */
export interface Worker {
  readonly counts: { acknowledged: number; failed: number; unclear: number; reads: number };
  run(goesOn: () => boolean): Promise<void>;
  /** Finds out what became of a write whose answer was lost. */
  settle(): Promise<void>;
  /** Rejects unless a node says what the model says. */
  compare(caller: Caller): Promise<void>;
}

export function createWorker(caller: Caller, index: number): Worker {
  const counts = { acknowledged: 0, failed: 0, unclear: 0, reads: 0 };
  let model: Model = new Map();
  /** What may be stored in its place: a write was not answered. */
  let other: Model | undefined;
  let made = 0;

  /** Does a write that makes `after` of the model. */
  async function write(after: Model, outcome: Outcome): Promise<void> {
    if (outcome.is === 'done') {
      counts.acknowledged += 1;
      model = after;
    } else if (outcome.is === 'unclear') {
      counts.unclear += 1;
      other = after;
      await settle();
    } else counts.failed += 1;
  }

  async function stored(at: Caller): Promise<Model> {
    const rows = await at.rows(`SELECT _id, n FROM docs WHERE client = ${index} AND NOT hot ORDER BY _id`);
    expect(new Set(rows.map(({ _id: id }) => id)).size).toBe(rows.length);
    return new Map(rows.map(({ _id: id, n }) => [String(id), Number(n)]));
  }

  async function settle(): Promise<void> {
    if (other === undefined) return;
    const now = sorted(await stored(caller));
    // As a whole, or not at all.
    expect([sorted(model), sorted(other)]).toContainEqual(now);
    model = new Map(now);
    other = undefined;
  }

  async function compare(at: Caller): Promise<void> {
    expect(sorted(await stored(at))).toEqual(sorted(model));
    counts.reads += 1;
  }

  const document = (id: string, n: number) => ({
    _id: id,
    client: index,
    hot: false,
    n,
    [`f${n % 5}`]: { [`k${n % 3}`]: n },
  });
  const anyId = () => [...model.keys()][Math.floor(Math.random() * model.size)];
  const docs = '/ws/commons/collections/docs/docs';
  const put = async (ids: readonly string[]) => {
    const n = made++;
    const data = ids.map((id) => document(id, n));
    await write(new Map([...model, ...ids.map((id) => [id, n] as const)]), await caller.send('POST', docs, { data }));
  };
  const newIds = (count: number) => Array.from({ length: count }, (_, at) => `${index}-${made}-${at}`);

  const steps: (() => Promise<void>)[] = [
    () => put(newIds(5)),
    () => put([`${index}-few`]),
    async () => {
      const id = anyId();
      if (id !== undefined) await put([id, ...newIds(1)]);
    },
    async () => {
      const id = anyId();
      if (id === undefined) return;
      const n = made++;
      const patch = { _id: id, patch: [{ op: 'replace', path: '/n', value: n }] };
      await write(new Map([...model, [id, n]]), await caller.send('PATCH', docs, { data: [patch] }));
    },
    async () => {
      const id = anyId();
      if (id === undefined) return;
      const left = new Map([...model].filter(([one]) => one !== id));
      await write(left, await caller.send('DELETE', docs, { data: [{ _id: id }] }));
    },
    async () => {
      const n = made++;
      const ids = Array.from({ length: 200 }, (_, at) => `${index}-load-${n}-${at}`);
      const lines = ids.map((id) => JSON.stringify(document(id, n))).join('\n');
      const path = '/ws/commons/collections/docs/load?format=json';
      await write(new Map([...model, ...ids.map((id) => [id, n] as const)]), await caller.send('POST', path, lines));
    },
    async () => {
      const data = HOT.map((_id) => ({ _id, hot: true, client: index, n: made }));
      const outcome = await caller.send('POST', docs, { data });
      counts[outcome.is === 'done' ? 'acknowledged' : outcome.is === 'unclear' ? 'unclear' : 'failed'] += 1;
    },
    () => changeNames(caller, `${index}_${made++}`),
    () => compare(caller),
    () => compare(caller),
  ];

  return {
    counts,
    async run(goesOn) {
      while (goesOn()) await steps[Math.floor(Math.random() * steps.length)]?.();
    },
    settle,
    compare,
  };
}

/** A collection, an alias and a lambda, made, used and removed again, each on any node. */
async function changeNames(caller: Caller, name: string): Promise<void> {
  const ws = '/ws/commons';
  const made = await caller.send('POST', `${ws}/collections`, { name: `c_${name}` });
  if (made.is !== 'done') return;
  await caller.must('POST', `${ws}/collections/c_${name}/docs`, { data: [{ _id: 'one', n: 1 }] });
  const query = `SELECT n FROM commons.c_${name}`;
  expect(await caller.rows(query)).toEqual([{ n: 1 }]);
  const lambda = await caller.send('POST', `${ws}/lambdas`, { name: `l_${name}`, sql: { query } });
  if (lambda.is === 'done') {
    const { version } = lambda.body.data;
    const run = await caller.must('POST', `${ws}/lambdas/l_${name}/versions/${version}`, {});
    expect(run.results).toEqual([{ n: 1 }]);
    await caller.remove(`${ws}/lambdas/l_${name}`);
  } else if (lambda.is === 'unclear') return;
  await caller.remove(`${ws}/collections/c_${name}`);
}

function sorted(model: Model): [string, number][] {
  return [...model].sort(([a], [b]) => (a < b ? -1 : 1));
}
