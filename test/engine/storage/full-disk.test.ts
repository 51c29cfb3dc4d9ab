import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MORE, someOf } from '../../long.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';
import { exited, runScript } from '../script.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  folder.dispose();
});

const MIB = 1024 * 1024;

/** Two ways to write documents: with a different field each time, or as text with always the same field. */
const WAYS = {
  documents: `(id, texts) => engine.addDocuments('t', texts.map((text, index) => (
    { id: id + '-' + index, eventTimeMicros: null, fields: { ['f' + id]: text } })))`,
  text: `(id, texts) => {
    const documents = texts.map((text, index) => ({ _id: id + '-' + index, f: text }));
    const bytes = Buffer.from(JSON.stringify(documents));
    const read = ({ _id, ...fields }) => ({ id: _id, eventTimeMicros: null, fields });
    return engine.addText('t', { bytes, start: 0, end: bytes.length, max: 100, makeId: () => '', readTime: () => undefined, read });
  }`,
};

/** Writes 4 MiB at a time until that fails, continues with small writes and queries, and reports. */
const script = (file: string, way: keyof typeof WAYS) => `
  import { randomBytes } from 'node:crypto';
  import { openEngine } from '../../src/engine/duckdb/open.ts';
  const engine = await openEngine({ file: ${JSON.stringify(file)}, limits: { threads: 2 } });
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs' },
  ]);
  const stored = new Set();
  const errors = [];
  const add = ${WAYS[way]};
  const write = async (id, bytes) => {
    const texts = Array.from({ length: 4 }, () => randomBytes(bytes).toString('base64'));
    await add(id, texts).then(
      () => texts.forEach((_, index) => stored.add(id + '-' + index)),
      (error) => errors.push(error.code + ': ' + error.message),
    );
  };
  for (let round = 0; errors.length === 0 && round < 100; round++) await write('big' + round, ${0.75 * MIB});
  const counts = [];
  for (let round = 0; round < 5; round++) {
    await write('small' + round, 10);
    await write('again' + round, ${0.75 * MIB});
    const { rows } = await engine.query({ sql: 'SELECT count(*) FROM docs' });
    counts.push(rows[0][0] === stored.size);
  }
  console.log(JSON.stringify({ stored: [...stored], errors, counts }));
  process.kill(process.pid, 'SIGKILL');
`;

// A full disk is simulated by a limit on the size of a process's files, which Windows does not have.
describe.runIf(process.platform !== 'win32')('a disk that fills up', () => {
  const cases = [
    ['while the log is written', 24 * MIB, 'documents'],
    ['while the log is merged into the main file', 72 * MIB, 'documents'],
    ['while the log of a single statement is written', 24 * MIB, 'text'],
    ['while that log is merged into the main file', 72 * MIB, 'text'],
  ] as const;
  test.each(someOf(cases, cases.length))(
    '%s: writes say so, queries go on, and what was stored stays',
    { ...MORE, timeout: 120_000 },
    async (_, bytes, way) => {
      const { child, line } = await runScript(folder.folder, script(folder.file, way), bytes);
      await exited(child);
      const report = JSON.parse(line) as { stored: string[]; errors: string[]; counts: boolean[] };
      expect(report.errors.length).toBeGreaterThan(0);
      for (const error of report.errors) {
        expect(error).toMatch(/^storage_full: /);
        expect(error).toContain(
          `the disk of the data folder "${dirname(folder.file)}" is full. Nothing of it is stored`,
        );
      }
      expect(report.counts).toEqual([true, true, true, true, true]);
      const engine = await openSmall(folder.file);
      const ids = (await rowsOf(engine, 'SELECT _id FROM docs')).map(([id]) => id);
      expect(ids.sort()).toEqual(report.stored.sort());
      await engine.close();
    },
  );
});

/** Opens a file whose log has to be combined with that of an interrupted merge, while no file can be written. */
const reading = (file: string) => `
  import { openEngine } from '../../src/engine/duckdb/open.ts';
  const engine = await openEngine({ file: ${JSON.stringify(file)}, limits: { threads: 2 } });
  const { rows } = await engine.query({ sql: 'SELECT count(*) FROM docs' });
  const write = await engine.deleteDocuments('t', ['a']).catch((error) => error.message);
  console.log(JSON.stringify({ rows, write }));
  process.kill(process.pid, 'SIGKILL');
`;

/** Merges the log into the main file, which fails halfway, and dies. */
const merging = (file: string) => `
  import { DuckDBInstance } from '@duckdb/node-api';
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  await connection.run("ATTACH '" + ${JSON.stringify(file)} + "' AS d");
  console.log(JSON.stringify(await connection.run('CHECKPOINT d').then(() => '', (error) => error.message)));
  process.kill(process.pid, 'SIGKILL');
`;

test.runIf(process.platform !== 'win32')(
  'a merge that a full disk interrupted: the file can still be read',
  async () => {
    const data = () => randomBytes(3 * MIB).toString('base64');
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    await engine.addDocuments('t', [doc('a', { data: data() })]);
    await engine.close();
    const later = await openSmall(folder.file);
    await later.addDocuments('t', [doc('b', { data: data() })]);
    const copy = join(folder.folder, 'copy', '_colloquy.duckdb');
    cpSync(dirname(folder.file), dirname(copy), { recursive: true });
    await later.close();
    const merge = await runScript(folder.folder, merging(copy), 6 * MIB);
    await exited(merge.child);
    expect(merge.line).toContain('File too large');

    const { child, line } = await runScript(folder.folder, reading(copy), 0);
    await exited(child);
    expect(JSON.parse(line)).toEqual({
      rows: [[2]],
      write: expect.stringContaining(`the disk of the data folder "${dirname(copy)}" is full. Nothing of it is stored`),
    });
    const again = await openSmall(copy);
    expect(await rowsOf(again, 'SELECT count(*) FROM docs')).toEqual([[2]]);
    await again.deleteDocuments('t', ['a']);
    await again.close();
  },
);

/** Writes a little, after the disk has filled up, and dies. */
const writing = (file: string) => `
  import { openEngine } from '../../src/engine/duckdb/open.ts';
  const engine = await openEngine({ file: ${JSON.stringify(file)}, limits: { threads: 2 } });
  const outcome = await engine.addDocuments('t', [{ id: 'b', eventTimeMicros: null, fields: {} }]).then(() => 'stored', (error) => error.code);
  const { rows } = await engine.query({ sql: 'SELECT count(*) FROM docs' });
  console.log(JSON.stringify({ outcome, rows }));
  process.kill(process.pid, 'SIGKILL');
`;

test.runIf(process.platform !== 'win32')(
  'a start on a full disk, with room for a little log: nothing gets into a log that the file does not tell of',
  async () => {
    const engine = await openSmall(folder.file);
    await createDocs(engine);
    await engine.addDocuments('t', [doc('a', { data: randomBytes(3 * MIB).toString('base64') })]);
    await engine.close();
    const { child, line } = await runScript(folder.folder, writing(folder.file), statSync(folder.file).size);
    await exited(child);
    expect(JSON.parse(line)).toEqual({ outcome: 'storage_full', rows: [[1]] });
    const alone = join(folder.folder, 'alone', '_colloquy.duckdb');
    mkdirSync(dirname(alone));
    cpSync(folder.file, alone);
    const again = await openSmall(alone);
    expect(await rowsOf(again, 'SELECT _id FROM docs')).toEqual([['a']]);
    await again.close();
  },
);
