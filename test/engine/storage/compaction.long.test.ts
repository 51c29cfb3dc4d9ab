import { statSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hashOf } from '../../../src/engine/duckdb/tables/columns.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => {
  folder.dispose();
});

/** Four pieces of a table, as the engine divides it. */
const DOCUMENTS = 4 * 122_880;
/** All documents but every fourth. */
const DELETED = Array.from({ length: DOCUMENTS }, (_, n) => n).filter((n) => n % 4 !== 0);
const BATCH = 100_000;

/** Runs a statement on the file, which nobody has open; closing it again makes a checkpoint. */
async function onFile(statement: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`ATTACH '${folder.file}' AS "_colloquy"`);
    return (await connection.runAndReadAll(statement)).getRowsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Adds documents, each with a text of its own, so that they take space. */
const load = (prefix: string) =>
  onFile(`INSERT INTO "_colloquy"."_data"."t" ("_id", "_event_time", "_meta", "text")
    SELECT '${prefix}' || i, now(), ${hashOf(`'${prefix}' || i`)}, md5('${prefix}' || i) FROM range(${DOCUMENTS}) t(i)`);

async function usedBlocks(): Promise<number> {
  const [row] = await onFile(`SELECT used_blocks FROM pragma_database_size() WHERE database_name = '_colloquy'`);
  return Number(row?.[0]);
}

async function withEngine(work: (engine: Engine) => Promise<unknown>): Promise<void> {
  const engine = await openSmall(folder.file);
  await work(engine);
  await engine.close();
}

test('the room of deleted documents is used again', { timeout: 240_000 }, async () => {
  await withEngine(async (engine) => {
    await createDocs(engine);
    await engine.addDocuments('t', [doc('first', { text: 'x' })]);
  });
  await load('a');
  const [full, size] = [await usedBlocks(), statSync(folder.file).size];
  // Spread over the whole table, so that every piece of it has rows that stay.
  await withEngine(async (engine) => {
    for (let from = 0; from < DELETED.length; from += BATCH) {
      await engine.deleteDocuments(
        't',
        DELETED.slice(from, from + BATCH).map((n) => `a${n}`),
      );
    }
  });
  for (let round = 0; round < 4; round += 1) {
    await withEngine((engine) => engine.deleteDocuments('t', [`a${round * 4}`]));
  }
  expect(await usedBlocks()).toBeLessThan(full / 2);
  await load('b');
  expect(statSync(folder.file).size).toBeLessThan(size * 1.8);
  await withEngine(async (engine) => {
    expect(await rowsOf(engine, `SELECT count(*), count(DISTINCT _id), count(text) FROM docs`)).toEqual([
      [DOCUMENTS / 4 - 4 + 1 + DOCUMENTS, DOCUMENTS / 4 - 4 + 1 + DOCUMENTS, DOCUMENTS / 4 - 4 + 1 + DOCUMENTS],
    ]);
  });
});
