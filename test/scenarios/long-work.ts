import { expect } from 'vitest';
import type { Scenario } from './scenarios.ts';

const ENDLESS = 'SELECT sum(a.range * b.range) AS total FROM range(10000000) a, range(10000000) b';
/** More than the service runs at once: a call that is not stopped would keep a place for good. */
const CALLS = 6;

const cancelled: Scenario = {
  name: 'stops queries and lambdas that the client gives up, and is idle again',
  async run({ open, workspace }) {
    const session = await open();
    await session.call('create_workspace', { name: workspace });
    const lambda = { workspace, lambda: 'endless' };
    const made = await session.call('create_lambda', { workspace, name: 'endless', sql: { query: ENDLESS } });
    const version = String(made.structured['version']);
    await session.call('tag_lambda_version', { ...lambda, tag: 'live', version });
    for (const [tool, args] of [
      ['run_query', { query: ENDLESS }],
      ['execute_lambda_version', { ...lambda, version }],
      ['execute_lambda_tag', { ...lambda, tag: 'live' }],
    ] as const) {
      const stop = new AbortController();
      const running = Array.from({ length: CALLS }, () => session.call(tool, args, stop.signal));
      const settled = Promise.allSettled(running);
      // An answer proves that the earlier calls have reached the server.
      await session.call('list_workspaces');
      stop.abort();
      for (const outcome of await settled) expect(outcome.status).toBe('rejected');
      const after = await session.call('run_query', { query: 'SELECT count(*) FROM range(1000)' });
      expect(after.structured['rows'], after.text).toEqual([[1_000]]);
    }
  },
};

/** Scenarios that take long, for every driver. */
export const LONG_WORK: readonly Scenario[] = [cancelled];
