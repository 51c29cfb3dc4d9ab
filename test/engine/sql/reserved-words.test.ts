import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { RESERVED_WORDS } from '../../../src/contract/reserved-words.ts';

/** Words that the engine takes for no column, and that name nothing in JSON. */
const OPERATORS =
  `analyse and as asof asymmetric authorization cast collate concurrently deferrable distinct ilike is isnull
  notnull or pivot_longer pivot_wider references tablesample unpack variadic null true false`.split(/\s+/);

test('the reserved words are those that the engine takes for no column', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const words = (await connection.runAndReadAll('SELECT keyword_name FROM duckdb_keywords()')).getRows().flat();
    const taken: string[] = [];
    for (const word of words.map(String)) {
      await connection.run(`CREATE OR REPLACE TABLE t AS SELECT 1 AS "${word}"`);
      const isColumn = await connection.run(`SELECT ${word} FROM t`).then(
        () => true,
        () => false,
      );
      if (!isColumn) taken.push(word);
    }
    expect(taken.filter((word) => !RESERVED_WORDS.has(word) && !OPERATORS.includes(word))).toEqual([]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});
