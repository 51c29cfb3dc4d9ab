import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { answerOf, newAnswers, setAnswers } from '../../../src/engine/duckdb/connections/answers.ts';

test('what is kept is bounded by its rows and by the texts that asked for them', async () => {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const answers = newAnswers();
    setAnswers(connection, answers);
    const asked = (at: number, chars: number) => answerOf(connection, `SELECT ${at} -- ${'x'.repeat(chars)}`);
    expect(await asked(1, 10)).toBe(await asked(1, 10));
    for (let at = 0; at < 30; at++) {
      expect(await asked(at, 100_000)).toEqual([[at]]);
      const kept = [...answers.rows.keys()].reduce((sum, sql) => sum + sql.length, 0);
      expect(kept).toBeLessThan(2_000_000);
    }
    expect(answers.rows.size).toBeGreaterThan(1);
    await answerOf(connection, 'FROM range(19_000)');
    expect([...answers.rows.keys()]).toEqual(['FROM range(19_000)']);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});
