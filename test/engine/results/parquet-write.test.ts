import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { openSmall, temporaryFolder } from '../harness.ts';
import { openParquet } from '../parquet-file.ts';

let home: ReturnType<typeof temporaryFolder>;
let engine: Engine;
let folder = '';
beforeAll(async () => {
  home = temporaryFolder();
  engine = await openSmall(home.file);
  folder = engine.results.exportsFolder;
  mkdirSync(folder, { recursive: true });
});
afterAll(async () => {
  await engine.close();
  home.dispose();
});

let count = 0;
/** Runs a query whose whole result is kept. */
async function keep(sql: string) {
  count += 1;
  const id = `k-${count}`;
  await engine.query({ sql, keep: { id, rowsMax: 50 } });
  return { id };
}

describe('results.writeParquet()', () => {
  it('writes into the folder for exports only', async () => {
    const { id } = await keep('SELECT i AS "the n" FROM range(100) t(i)');
    await engine.results.writeParquet(id, 'x.parquet');
    expect(statSync(join(folder, 'x.parquet')).size).toBeGreaterThan(100);
    await expect(engine.results.writeParquet(id, '../escaped.parquet')).rejects.toMatchObject({ code: 'internal' });
    expect(existsSync(join(folder, '../escaped.parquet'))).toBe(false);
  });
});

describe('results.writeParquet() of what Parquet lacks', () => {
  async function written(sql: string) {
    const { id } = await keep(`SELECT * FROM (${sql}) x, range(60) r(n)`);
    const retyped = await engine.results.writeParquet(id, `${id}.parquet`);
    const parquet = await openParquet(join(folder, `${id}.parquet`));
    for await (const [first] of parquet.documents) {
      parquet.close();
      return { types: Object.fromEntries(retyped.map(({ name, writtenAs }) => [name, writtenAs])), document: first };
    }
    throw new Error('no rows');
  }

  it('keeps every digit of large integers, wherever they are', async () => {
    const { types, document } = await written(`SELECT 9007199254741003::HUGEINT AS small,
      99999999999999999999999999999999999999::HUGEINT AS dec, 170141183460469231731687303715884105727::HUGEINT AS max,
      340282366920938463463374607431768211455::UHUGEINT AS umax, 9007199254741003 AS big,
      {'a "b"': [99999999999999999999999::HUGEINT, NULL], 'j': '{"n":1}'::JSON} AS s, [9007199254741003]::HUGEINT[1] AS arr,
      MAP {'k': 9007199254741003::HUGEINT} AS m, {'h': 170141183460469231731687303715884105727::HUGEINT} AS t`);
    expect(types).toEqual({
      small: 'BIGINT',
      dec: 'DECIMAL(38,0)',
      max: 'VARCHAR',
      umax: 'VARCHAR',
      s: 'STRUCT("a ""b""" DECIMAL(38,0)[], "j" JSON)',
      arr: 'BIGINT[1]',
      m: 'MAP(VARCHAR, BIGINT)',
      t: 'STRUCT("h" VARCHAR)',
    });
    expect(document).toMatchObject({
      small: 9007199254741003n,
      dec: 99999999999999999999999999999999999999n,
      max: '170141183460469231731687303715884105727',
      umax: '340282366920938463463374607431768211455',
      big: 9007199254741003n,
      s: { 'a "b"': [99999999999999999999999n, null], j: { n: 1 } },
      arr: [9007199254741003n],
      m: { k: 9007199254741003n },
      t: { h: '170141183460469231731687303715884105727' },
    });
  });

  it('looks at all values of a column', async () => {
    const { id } =
      await keep(`SELECT 100000000000000000000000::HUGEINT + i AS h, CASE WHEN i = 99 THEN NULL ELSE i::HUGEINT END AS n
      FROM range(100) t(i)`);
    const retyped = await engine.results.writeParquet(id, 'all.parquet');
    expect(retyped.map(({ writtenAs }) => writtenAs)).toEqual(['DECIMAL(38,0)', 'BIGINT']);
    const parquet = await openParquet(join(folder, 'all.parquet'));
    const values = new Set();
    for await (const documents of parquet.documents) for (const { h } of documents) values.add(h);
    parquet.close();
    expect(values.size).toBe(100);
    expect(values).toContain(100000000000000000000099n);
  });

  it('writes as text what would be cut or moved', async () => {
    const { types, document } =
      await written(`SELECT INTERVAL '1 month 1.234567 seconds' AS iv, '01:02:03+05'::TIMETZ AS tz,
      union_value(u := 9007199254741003::HUGEINT) AS un, TIMESTAMP '2026-01-02 03:04:05.678901' AS ts`);
    expect(types).toEqual({ iv: 'VARCHAR', tz: 'VARCHAR', un: 'VARCHAR' });
    expect(document).toMatchObject({
      iv: '1 month 00:00:01.234567',
      tz: '01:02:03+05',
      un: '9007199254741003',
      ts: '2026-01-02T03:04:05.678901',
    });
  });
});
