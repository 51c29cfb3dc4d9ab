import { mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { LIMITS } from '../fixture.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';
import { runScript } from '../script.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.dispose());

function goal(name: string): string {
  const path = join(folder.folder, name);
  mkdirSync(path);
  return path;
}

describe('copyTo()', () => {
  test('copies whole changes, all that were acknowledged before it, while others write', {
    timeout: 60_000,
  }, async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    await engine.commit([{ do: 'createCollection', table: 'u', workspace: 'commons', name: 'others' }]);
    let isDone = false;
    const acknowledged = { t: 0, u: 0 };
    const write = async (table: 't' | 'u') => {
      for (let batch = 0; !isDone; batch++) {
        const pad = 'x'.repeat(2_000);
        const fields = { batch, pad, ...(batch % 7 === 0 ? { [`f${batch}`]: batch } : {}) };
        const documents = Array.from({ length: 20 }, (_, index) => doc(`${batch}-${index}`, fields));
        await engine.addDocuments(table, documents);
        acknowledged[table] = batch + 1;
      }
    };
    const writers = [write('t'), write('u')];
    await expect.poll(() => Math.min(acknowledged.t, acknowledged.u), { timeout: 30_000 }).toBeGreaterThan(0);
    const copies = [];
    for (let round = 0; round < 4; round++) {
      const before = { ...acknowledged };
      const path = goal(`copy${round}`);
      copies.push({ path, before, copy: await engine.copyTo(path) });
    }
    isDone = true;
    await Promise.all(writers);
    await engine.close();
    for (const { path, before, copy } of copies) {
      const again = await openSmall(join(path, '_colloquy.duckdb'));
      expect(await again.counts()).toEqual(copy.counts);
      for (const [name, least] of [
        ['docs', before.t],
        ['others', before.u],
      ] as const) {
        const rows = await rowsOf(again, `SELECT batch, count(*) FROM ${name} GROUP BY batch ORDER BY batch`);
        expect(rows).toEqual(rows.map((_, batch) => [batch, 20]));
        expect(rows.length).toBeGreaterThanOrEqual(least);
      }
      await again.close();
    }
  });

  test('keeps other processes out of the file, during it and after', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    for (const name of ['one', 'two']) await engine.copyTo(goal(name));
    const { line } = await runScript(
      folder.folder,
      `
      import { openEngine } from '../../src/engine/duckdb/open.ts';
      const error = await openEngine({ file: ${JSON.stringify(folder.file)} }).then(() => ({ code: 'opened' }), (one) => one);
      process.stdout.write(error.code + '\\n', () => process.exit(0));
    `,
    );
    expect(line).toBe('not_ready');
    await engine.close();
    // The handle is released with everything else.
    await (await openSmall(folder.file)).close();
  });

  test('stops when it is given up, and leaves the engine as it was', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    const path = goal('copy');
    await expect(engine.copyTo(path, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    await engine.addDocuments('t', [doc('a', { n: 1 })]);
    expect(await rowsOf(engine, 'SELECT n FROM docs')).toEqual([[1]]);
    await engine.close();
  });

  test('never writes over a file', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    const path = goal('copy');
    await engine.copyTo(path);
    await expect(engine.copyTo(path)).rejects.toMatchObject({ code: 'EEXIST' });
    await engine.close();
    expect(await readdir(dirname(folder.file))).toEqual(['_colloquy.duckdb']);
  });
});

function signal() {
  let give: () => void = () => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { give, given };
}

describe('FileStore.still()', () => {
  test('waits for what writes, holds up what wants to, and lets reading go on', async () => {
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const store = await FileStore.open({ file: folder.file, limits: LIMITS, log, load: async () => undefined });
    const order: string[] = [];
    await store.transaction((sql) => sql('CREATE TABLE x (n INTEGER)'));
    const [firstRuns, firstMayEnd, isStill, stillMayEnd] = [signal(), signal(), signal(), signal()];
    const first = store.transaction(async (sql) => {
      await sql('INSERT INTO x VALUES (0)');
      firstRuns.give();
      await firstMayEnd.given;
      order.push('first');
    });
    await firstRuns.given;
    const still = store.still(async (sql) => {
      order.push('still');
      isStill.give();
      await stillMayEnd.given;
      order.push('still ends');
      return sql('SELECT count(*) FROM x');
    });
    // By then it is known that no new writes may begin.
    await store.read((sql) => sql('SELECT 1'));
    const second = store.transaction(async (sql) => {
      order.push('second');
      await sql('INSERT INTO x VALUES (1)');
    });
    firstMayEnd.give();
    await first;
    await isStill.given;
    expect(await store.read((sql) => sql('SELECT count(*) FROM x'))).toEqual([[1n]]);
    order.push('read');
    stillMayEnd.give();
    expect(await still).toEqual([[1n]]);
    await second;
    await store.close();
    expect(order).toEqual(['first', 'still', 'read', 'still ends', 'second']);
  });
});
