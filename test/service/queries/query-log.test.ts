import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { createQueryLog, RECENT_MAX, SQL_CHARS_MAX } from '../../../src/service/queries/query-log.ts';

const caller = { email: 'me@example.com', keyName: 'k' };
const never = new AbortController().signal;
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('createQueryLog()', () => {
  it('shows what runs, and then how it ended', async () => {
    let now = 1_000;
    const log = createQueryLog(() => now);
    const rows = await log.watch({ id: 'a', sql: 'SELECT 1', caller }, never, async () => {
      expect(log.running()).toEqual([{ id: 'a', sql: 'SELECT 1', caller, startedAt: 1_000 }]);
      now += 7;
      return { rows: [[1], [2]] };
    });
    expect(rows).toEqual({ rows: [[1], [2]] });
    const failing = log.watch({ id: 'b', sql: 'x', caller }, never, async () => {
      throw new ApiError('query_error', 'no');
    });
    await expect(failing).rejects.toThrow('no');
    await expect(
      log.watch({ id: 'c', sql: 'x', caller }, never, () => Promise.reject(new Error('bug'))),
    ).rejects.toThrow('bug');
    expect(log.running()).toEqual([]);
    expect(log.recent()).toMatchObject([
      { id: 'c', outcome: 'internal', rows: undefined },
      { id: 'b', outcome: 'query_error', rows: undefined },
      { id: 'a', outcome: 'ok', rows: 2, ms: 7, startedAt: 1_000 },
    ]);
  });

  it('stops one query, and says who did', async () => {
    const log = createQueryLog();
    const one = log.watch({ id: 'a', sql: 'x', caller }, never, untilAborted);
    const other = new AbortController();
    const two = log.watch({ id: 'b', sql: 'y', caller }, other.signal, untilAborted);
    expect(await log.stop('c')).toBe(false);
    const stopped = Promise.all([log.stop('a'), log.stop('a')]);
    await expect(one).rejects.toMatchObject({ code: 'query_stopped', message: expect.stringMatching(/by a person/) });
    expect(await stopped).toEqual([true, true]);
    expect(await log.stop('a')).toBe(false);
    expect(log.running()).toMatchObject([{ id: 'b' }]);
    other.abort(new ApiError('aborted', 'hung up'));
    await expect(two).rejects.toThrow('hung up');
    expect(log.recent()).toMatchObject([
      { id: 'b', outcome: 'aborted' },
      { id: 'a', outcome: 'query_stopped' },
    ]);
  });

  it('has bounds, and keeps no API key', async () => {
    const log = createQueryLog();
    const key = 'Ab1'.repeat(21).concat('x');
    const sql = `SELECT '${key}', '${'x'.repeat(5_000)}'`;
    const run = (id: string) => log.watch({ id, sql, caller }, never, async () => ({ rows: [] }));
    for (let n = 0; n < RECENT_MAX + 3; n++) await run(String(n));
    expect(log.recent()).toHaveLength(RECENT_MAX);
    expect(log.recent()[0]?.id).toBe(String(RECENT_MAX + 2));
    expect(log.recent()[0]?.sql).not.toContain(key);
    expect(log.recent()[0]?.sql.length).toBeLessThan(SQL_CHARS_MAX + 20);
  });
});
