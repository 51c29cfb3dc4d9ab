import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Run } from '../../../src/engine/duckdb/connections/writer.ts';
import { FileStore } from '../../../src/engine/duckdb/storage/file-store.ts';
import { withMarks } from '../../../src/engine/duckdb/storage/log-marks.ts';
import { checkpoint } from '../../../src/engine/duckdb/storage/merge.ts';
import { LIMITS } from '../fixture.ts';
import { temporaryFolder } from '../harness.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };
const open = (file: string) => FileStore.open({ file, limits: LIMITS, log: LOG, load: async () => undefined });

let folder: ReturnType<typeof temporaryFolder>;
let store: FileStore;
let copies = 0;
beforeEach(async () => {
  folder = temporaryFolder();
  store = await open(folder.file);
  await store.transaction((sql) => sql('CREATE TABLE docs (n INTEGER)'));
});
afterEach(async () => {
  await store.close();
  folder.dispose();
});

const add = (n: number) => store.transaction((sql) => sql(`INSERT INTO docs VALUES (${n})`));

/** What a kill would leave now: the path of the copied database. */
function killed(only = /^_colloquy\.duckdb/): string {
  const to = join(folder.folder, `copy${copies++}`);
  mkdirSync(to);
  for (const name of readdirSync(dirname(folder.file))) {
    if (only.test(name)) cpSync(join(dirname(folder.file), name), join(to, name));
  }
  return join(to, '_colloquy.duckdb');
}

async function countIn(file: string): Promise<number> {
  const found = await open(file);
  try {
    return Number((await found.read((sql) => sql('SELECT count(*) FROM docs')))[0]?.[0]);
  } finally {
    await found.close();
  }
}

const ALONE = /^_colloquy\.duckdb$/;
const REFUSED = /its log "[^"]+_colloquy\.duckdb\.wal" is missing or was cut.*Put the log back/;

describe('a database whose log is missing', () => {
  test('is refused by name, and left as it is', async () => {
    await add(1);
    const file = killed(ALONE);
    const before = readFileSync(file);
    for (let time = 0; time < 2; time++) await expect(open(file)).rejects.toThrow(REFUSED);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(dirname(file))).toEqual(['_colloquy.duckdb']);
    // With the log it is whole.
    cpSync(`${folder.file}.wal`, `${file}.wal`);
    expect(await countIn(file)).toBe(1);
  });

  test('is refused after a merge as well, and after a start that found a log', async () => {
    await add(1);
    const again = killed();
    await store.close();
    store = await open(folder.file);
    await add(2);
    await expect(open(killed(ALONE))).rejects.toThrow(REFUSED);
    const second = await open(again);
    try {
      await second.transaction((sql) => sql('INSERT INTO docs VALUES (3)'));
      const file = join(folder.folder, 'second.duckdb');
      cpSync(again, file);
      await expect(open(file)).rejects.toThrow(/second\.duckdb\.wal" is missing/);
    } finally {
      await second.close();
    }
  });

  test.each([5, 8, 40])('is refused if the log was cut to %d bytes, which are left as they are', async (bytes) => {
    await add(1);
    const file = killed();
    truncateSync(`${file}.wal`, bytes);
    await expect(open(file)).rejects.toThrow(/missing or was cut|is damaged/);
    expect(readFileSync(`${file}.wal`)).toHaveLength(bytes);
  });

  test('opens if a person does without the log', async () => {
    await add(1);
    const file = killed(ALONE);
    writeFileSync(`${file}.merging`, '');
    await expect(open(file).then((found) => found.close())).resolves.toBeUndefined();
    expect(existsSync(`${file}.merging`)).toBe(false);
  });

  test('opens if there is nothing to miss: closed, or merged by another program', async () => {
    await add(1);
    const file = killed();
    const instance = await DuckDBInstance.create(file);
    instance.closeSync();
    rmSync(`${file}.wal`, { force: true });
    expect(await countIn(file)).toBe(1);
    await store.close();
    expect(await countIn(killed(ALONE))).toBe(1);
    store = await open(folder.file);
  });
});

describe('a database file that cannot be told of its log', () => {
  test('is only read until it can be, and then has no change that the file does not tell of', async () => {
    await add(1);
    await store.close();
    const mark = `${folder.file}.merging`;
    mkdirSync(mark);
    store = await open(folder.file);
    expect(await store.read((sql) => sql('SELECT n FROM docs'))).toEqual([[1]]);
    await expect(add(2)).rejects.toThrow(/EISDIR/);
    expect(await countIn(killed(ALONE))).toBe(1);
    rmdirSync(mark);
    await delay(2_100);
    await add(2);
    await expect(open(killed(ALONE))).rejects.toThrow(REFUSED);
    expect(await countIn(killed())).toBe(2);
  });

  test('nor opens without its log after a merge that failed', async () => {
    await add(1);
    const connection = await store.connect();
    const run: Run = async (text, ...values) => (await connection.runAndReadAll(text, values)).getRows();
    const fail = withMarks(run, { file: folder.file, isMarked: false }, async () => {
      throw new Error('the disk is full');
    });
    await expect(fail).rejects.toThrow('the disk is full');
    connection.closeSync();
    expect(existsSync(`${folder.file}.merging`)).toBe(true);
    const file = killed(/^_colloquy\.duckdb(\.merging)?$/);
    await expect(open(file)).rejects.toThrow(REFUSED);
    expect(await countIn(killed())).toBe(1);
  });
});

test('a kill at any moment of a merge leaves a database that opens, and never one that lost what was stored', async () => {
  await add(1);
  const left: { file: string; at: string }[] = [];
  const connection = await store.connect();
  const kill = (at: string) => left.push({ file: killed(), at });
  const run: Run = async (text, ...values) => {
    kill(`before ${text}`);
    const rows = (await connection.runAndReadAll(text, values)).getRows();
    kill(`after ${text}`);
    return rows;
  };
  await withMarks(run, { file: folder.file, isMarked: true }, async () => {
    kill('before the merge');
    await checkpoint(Object.assign(run, { again: run }), () => false);
    kill('after the merge');
  });
  kill('at the end');
  connection.closeSync();
  expect(left.length).toBeGreaterThan(8);
  for (const { file, at } of left) {
    const alone = `${file}.alone`;
    cpSync(file, alone);
    const before = await open(file);
    expect([at, existsSync(`${file}.merging`)]).toEqual([at, false]);
    await before.close();
    expect([at, await countIn(file)]).toEqual([at, 1]);
    // The file alone has everything, or is refused.
    const found = await countIn(alone).catch((error: Error) => error.message);
    expect([at, found]).toEqual([at, typeof found === 'number' ? 1 : expect.stringMatching(/is missing or was cut/)]);
  }
});
