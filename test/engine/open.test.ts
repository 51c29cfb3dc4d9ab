import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openEngine } from '../../src/engine/duckdb/open.ts';
import { createDocs, doc, fileTest, openSmall, readBack, rowsOf, temporaryFolder } from './harness.ts';
import { exited, runScript } from './script.ts';

let folder: ReturnType<typeof temporaryFolder>;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  folder.dispose();
});

async function run(source: string) {
  const started = await runScript(folder.folder, source);
  children.push(started.child);
  return started;
}

describe('openEngine()', () => {
  test('makes the folder and the file, and nothing outside of them', async () => {
    const engine = await openEngine({ file: folder.file });
    await engine.close();
    expect(readdirSync(folder.folder)).toEqual(['data']);
    expect(readdirSync(dirname(folder.file))).toEqual(['_colloquy.duckdb']);
  });

  test('leaves no log behind after close, and finds everything again', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    await engine.commit([{ do: 'putRecord', kind: 'k', key: 'x', value: { n: 2n ** 60n, s: 'ü' } }]);
    await engine.addDocuments('t', [doc('a', { n: 1 })]);
    await engine.close();
    expect(readdirSync(dirname(folder.file))).not.toContain('_colloquy.duckdb.wal');
    const again = await openSmall(folder.file);
    expect(again.records).toEqual([{ kind: 'k', key: 'x', value: { n: 2n ** 60n, s: 'ü' } }]);
    expect(await readBack(again, 't', ['a'])).toEqual([{ n: 1 }]);
    await again.close();
  });

  test('can be closed at once, which lets go of the file', async () => {
    for (let round = 0; round < 3; round++) {
      const engine = await openSmall(folder.file);
      await engine.close();
    }
    expect(readdirSync(dirname(folder.file)).filter((name) => name.endsWith('.wal'))).toEqual([]);
  });

  fileTest('refuses a file that this process has open already', async () => {
    const engine = await openSmall(folder.file);
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringContaining('this process has it open'),
    });
    await engine.close();
    await (await openSmall(folder.file)).close();
  });

  fileTest('names the process that has the file open', async () => {
    const { child, line } = await run(`
      import { openEngine } from '../../src/engine/duckdb/open.ts';
      await openEngine({ file: ${JSON.stringify(folder.file)} });
      console.log('open');
      setInterval(() => undefined, 1000);
    `);
    expect(line).toBe('open');
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'not_ready',
      message: expect.stringContaining(`process ${child.pid} has it open`),
    });
  });

  fileTest('refuses a file that is no database, and leaves it as it is', async () => {
    mkdirSync(dirname(folder.file));
    writeFileSync(folder.file, 'not a database '.repeat(10_000));
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('is damaged, or is not a database'),
    });
    expect(readFileSync(folder.file, 'utf8')).toMatch(/^not a database/);
  });

  fileTest('refuses a file that was cut short', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    const text = Array.from({ length: 100_000 }, (_, index) => `${index * 7919}`).join(' ');
    await engine.addDocuments('t', [doc('a', { text })]);
    await engine.close();
    truncateSync(folder.file, 4_096);
    await expect(openSmall(folder.file)).rejects.toMatchObject({ code: 'internal' });
  });

  fileTest('refuses a path that is a folder', async () => {
    mkdirSync(folder.file, { recursive: true });
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining(JSON.stringify(folder.file)),
    });
  });

  test('refuses a folder that cannot be made', async () => {
    writeFileSync(join(folder.folder, 'file'), '');
    await expect(openSmall(join(folder.folder, 'file', 'data', '_colloquy.duckdb'))).rejects.toMatchObject({
      code: 'internal',
    });
  });

  fileTest('refuses a database of a later version', async () => {
    await (await openSmall(folder.file)).close();
    const instance = await DuckDBInstance.create(folder.file);
    const connection = await instance.connect();
    await connection.run('INSERT INTO "_meta"."versions" VALUES (99, now())');
    connection.closeSync();
    instance.closeSync();
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('Install a newer colloquy'),
    });
    // A failed open lets go of the file.
    await expect(openSmall(folder.file)).rejects.toMatchObject({ code: 'internal' });
  });

  test.each([{ threads: 0 }, { threads: -1 }, { memoryBytes: Number.NaN }])('refuses the limits %j', async (limits) => {
    await expect(openEngine({ file: folder.file, limits })).rejects.toMatchObject({ code: 'internal' });
  });
});

fileTest(
  'a killed process has stored every write that it was told of, columns and all',
  { timeout: 60_000 },
  async () => {
    const { child, line } = await run(`
      import { openEngine } from '../../src/engine/duckdb/open.ts';
      const engine = await openEngine({ file: ${JSON.stringify(folder.file)}, limits: { threads: 2 } });
      await engine.commit([
        { do: 'createWorkspace', workspace: 'commons' },
        { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
      ]);
      for (let round = 0; round < 20; round++) {
        const fields = { n: round, mixed: round < 10 ? { a: [round] } : [round], l: [{ ['f' + round]: 'x' }] };
        const documents = Array.from({ length: 200 }, (_, index) => ({
          id: String((round * 150 + index) % 2000), eventTimeMicros: null, fields,
        }));
        await engine.addDocuments('t', documents);
        await engine.commit([{ do: 'putRecord', kind: 'round', key: 'last', value: { round } }]);
      }
      process.stdout.write('written\\n', () => process.kill(process.pid, 'SIGKILL'));
    `);
    expect(line).toBe('written');
    await exited(child);
    expect(child.signalCode).toBe('SIGKILL');
    const engine = await openSmall(folder.file);
    expect(engine.records).toEqual([{ kind: 'round', key: 'last', value: { round: 19 } }]);
    const rows = await rowsOf(engine, 'SELECT count(*), count(DISTINCT _id), max(n), len(any_value(l)) FROM docs');
    expect(rows).toEqual([[2_000, 2_000, 19, 1]]);
    const [first, last] = await readBack(engine, 't', ['500', String((19 * 150 + 199) % 2_000)]);
    expect(first).toEqual({ n: 16, mixed: [16], l: [{ f16: 'x' }] });
    expect(last).toEqual({ n: 19, mixed: [19], l: [{ f19: 'x' }] });
    await engine.close();
  },
);

describe('close()', () => {
  test('waits for the writes that run, and can be called twice', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    const write = engine.addDocuments('t', [doc('a', {})]);
    await Promise.all([engine.close(), engine.close(), write]);
    const again = await openSmall(folder.file);
    expect(await readBack(again, 't', ['a'])).toEqual([{}]);
    await again.close();
  });

  test('makes every later call fail with not_ready', async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    await engine.close();
    const calls = [
      engine.addDocuments('t', [doc('a', {})]),
      engine.deleteDocuments('t', ['a']),
      engine.changeDocuments('t', ['a'], (same) => same),
      engine.commit([{ do: 'deleteRecord', kind: 'a', key: 'b' }]),
      engine.stats('t'),
      engine.query({ sql: 'SELECT 1' }),
      engine.inspect({ sql: 'SELECT 1' }),
    ];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'not_ready' } });
    }
  });
});
