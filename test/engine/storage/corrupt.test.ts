import { cpSync, existsSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, rowsOf, temporaryFolder } from '../harness.ts';

const BATCHES = 12;
const PER_BATCH = 5;
const FRAME_BYTES = 16;

/** Folders with what a killed process leaves (a log), and with what a closed one leaves (a single file). */
let home: ReturnType<typeof temporaryFolder>;
let killed = '';
let closed = '';

beforeAll(async () => {
  home = temporaryFolder();
  const engine = await openSmall(home.file);
  await createDocs(engine);
  for (let batch = 0; batch < BATCHES; batch++) {
    const documents = Array.from({ length: PER_BATCH }, (_, index) =>
      doc(`${batch}-${index}`, { n: batch, s: 'text' }),
    );
    await engine.addDocuments('t', documents);
  }
  killed = join(home.folder, 'killed');
  cpSync(dirname(home.file), killed, { recursive: true });
  const many = Array.from({ length: 20_000 }, (_, index) => doc(`m${index}`, { n: index, s: `text ${index * 7919}` }));
  await engine.addDocuments('t', many);
  await engine.close();
  closed = join(home.folder, 'closed');
  cpSync(dirname(home.file), closed, { recursive: true });
});
afterAll(() => home.dispose());

let folder: ReturnType<typeof temporaryFolder>;
const opened: Engine[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
  folder.dispose();
});

async function open(): Promise<Engine> {
  const engine = await openSmall(folder.file);
  opened.push(engine);
  return engine;
}

const log = () => `${folder.file}.wal`;

/** Where each entry of a log begins, including its size and checksum; the first follows the log's version. */
function entriesOf(bytes: Buffer): { at: number; size: number }[] {
  const entries = [];
  for (let at = 8; at < bytes.length; ) {
    const size = Number(bytes.readBigUInt64LE(at));
    entries.push({ at, size });
    at += FRAME_BYTES + size;
  }
  return entries;
}

/** The large entry of the sixth batch from the end: there are whole changes before and after it. */
function middle(bytes: Buffer): { at: number; size: number } {
  const large = entriesOf(bytes).filter(({ size }) => size > 100);
  const found = large.at(-6);
  if (found === undefined) throw new Error('the log is too short');
  return found;
}

function damageLog(change: (bytes: Buffer) => Buffer): Buffer {
  cpSync(killed, dirname(folder.file), { recursive: true });
  const changed = change(readFileSync(log()));
  writeFileSync(log(), changed);
  return changed;
}

function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}

describe('a log that a crash cut short', () => {
  test.each([
    ['in the last change', (bytes: Buffer) => bytes.length - 7, BATCHES - 1],
    ['in the data of an earlier one', (bytes: Buffer) => middle(bytes).at + FRAME_BYTES + 3, BATCHES - 6],
    ['in the size of an entry', (bytes: Buffer) => middle(bytes).at + 3, BATCHES - 6],
    ['between two entries of a change', (bytes: Buffer) => middle(bytes).at, BATCHES - 6],
  ])('%s: opens, with every whole change and no half one', async (_, end, batches) => {
    const cut = damageLog((bytes) => bytes.subarray(0, end(bytes)));
    const warn = vi.fn();
    const engine = await openSmall(folder.file, {}, { info: vi.fn(), warn, error: vi.fn() });
    opened.push(engine);
    expect(warn.mock.calls).toEqual([
      [
        { log: log(), bytes: cut.length, readable: expect.any(Number) },
        expect.stringContaining('ends within a change'),
      ],
    ]);
    expect(warn.mock.calls[0]?.[0].readable).toBeLessThan(cut.length);
    expect(await rowsOf(engine, 'SELECT count(*), count(DISTINCT n) FROM docs')).toEqual([
      [batches * PER_BATCH, batches],
    ]);
    await engine.addDocuments('t', [doc('new', { n: 99 })]);
    expect(await rowsOf(engine, 'SELECT count(*) FROM docs WHERE n = 99')).toEqual([[1]]);
  });

  test('in its first bytes, when nothing was stored: opens', async () => {
    cpSync(closed, dirname(folder.file), { recursive: true });
    writeFileSync(log(), readFileSync(join(killed, '_colloquy.duckdb.wal')).subarray(0, 5));
    const engine = await open();
    expect(await rowsOf(engine, 'SELECT count(*) FROM docs')).toEqual([[20_000 + BATCHES * PER_BATCH]]);
  });
});

describe('a damaged log', () => {
  test.each([
    ['a size, which makes it look cut short', (bytes: Buffer) => middle(bytes).at + 2],
    ['the highest byte of a size', (bytes: Buffer) => middle(bytes).at + 7],
    ['a size, by one', (bytes: Buffer) => middle(bytes).at],
    ['a checksum', (bytes: Buffer) => middle(bytes).at + 9],
    ['the data of an entry', (bytes: Buffer) => middle(bytes).at + FRAME_BYTES + 20],
    [
      'the size of the last data',
      (bytes: Buffer) => (entriesOf(bytes).findLast(({ size }) => size > 100)?.at ?? 0) + 2,
    ],
    ['the last entry', (bytes: Buffer) => bytes.length - 3],
    ['the version, at its beginning', () => 2],
  ])('in %s: is refused, and left as it is', async (_, where) => {
    const bytes = damageLog((whole) => flipped(whole, where(whole)));
    await expect(open()).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/its log ".*\.wal" is damaged\. .* stored change.*colloquy restore/),
    });
    expect(readFileSync(log()).equals(bytes)).toBe(true);
  });

  test('says how much of it can be read; cut there, it opens with that', async () => {
    damageLog((bytes) => flipped(bytes, middle(bytes).at + 2));
    const { message } = await open().then(
      () => new Error('it opened'),
      (error: Error) => error,
    );
    const [, at, after] =
      /the first (\d+) can be read, .*?; (\d+) stored changes or more after that/.exec(message) ?? [];
    expect(Number(after)).toBe(6);
    truncateSync(log(), Number(at));
    const engine = await open();
    expect(await rowsOf(engine, 'SELECT count(*) FROM docs')).toEqual([[(BATCHES - 6) * PER_BATCH]]);
  });

  test('followed by bytes that are no entry: opens with all that was stored', async () => {
    damageLog((bytes) => Buffer.concat([bytes, Buffer.alloc(3_000, 0xa7)]));
    expect(await rowsOf(await open(), 'SELECT count(*) FROM docs')).toEqual([[BATCHES * PER_BATCH]]);
  });

  test('followed by zeros, as a loss of power leaves it: is refused, and opens when cut as the message says', async () => {
    const whole = readFileSync(join(killed, '_colloquy.duckdb.wal')).length;
    damageLog((bytes) => Buffer.concat([bytes, Buffer.alloc(4_096)]));
    await expect(open()).rejects.toMatchObject({ message: expect.stringContaining(`cut the log to ${whole} bytes`) });
    truncateSync(log(), whole);
    expect(await rowsOf(await open(), 'SELECT count(*) FROM docs')).toEqual([[BATCHES * PER_BATCH]]);
  });
});

describe('a log without its database file', () => {
  test('is left as it is, and is read once the file is back', async () => {
    cpSync(killed, dirname(folder.file), { recursive: true });
    const before = readFileSync(log());
    const elsewhere = `${folder.file}-moved`;
    renameSync(folder.file, elsewhere);
    await expect(openSmall(folder.file)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/_colloquy\.duckdb": it is missing.*Put the file back/),
    });
    expect(readFileSync(log()).equals(before)).toBe(true);
    expect(existsSync(folder.file)).toBe(false);
    renameSync(elsewhere, folder.file);
    expect(await rowsOf(await open(), 'SELECT count(*) FROM docs')).toEqual([[BATCHES * PER_BATCH]]);
  });
});

describe('a damaged database file', () => {
  test.each([
    ['its first block', 20],
    ['its first header', 4_096 + 30],
    ['its second header', 8_192 + 30],
  ])('in %s: is refused by name, and left as it is', async (_, at) => {
    cpSync(closed, dirname(folder.file), { recursive: true });
    const bytes = flipped(readFileSync(folder.file), at);
    writeFileSync(folder.file, bytes);
    await expect(open()).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/_colloquy\.duckdb": the file is damaged.*colloquy restore/),
    });
    expect(readFileSync(folder.file).equals(bytes)).toBe(true);
  });

  test.each([
    ['in its first block', 5_000],
    ['in half', 0.5],
    ['near its end', 0.95],
  ])('cut %s: is refused by name, or says so where it is read', async (_, at) => {
    cpSync(closed, dirname(folder.file), { recursive: true });
    const { length } = readFileSync(folder.file);
    truncateSync(folder.file, at < 1 ? Math.floor(length * at) : at);
    const engine = await open().catch((error: unknown) => error);
    const error =
      engine instanceof Error
        ? engine
        : await rowsOf(engine as Engine, 'SELECT sum(n), sum(hash(s)) FROM docs').catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/_colloquy\.duckdb".* is damaged.*colloquy restore/),
    });
  });

  test('anywhere: never gives other values than those that were stored', { timeout: 120_000 }, async () => {
    const whole = readFileSync(join(closed, '_colloquy.duckdb'));
    const sql = 'SELECT count(*), sum(n), sum(hash(s))::VARCHAR FROM docs';
    cpSync(closed, dirname(folder.file), { recursive: true });
    const first = await openSmall(folder.file);
    const expected = await rowsOf(first, sql);
    await first.close();
    const seen = { unchanged: 0, notOpened: 0, notRead: 0 };
    for (let round = 0; round < 30; round++) {
      // Spread evenly over the file, at the same places in every run.
      const at = 12_288 + Math.floor(((whole.length - 12_288) * (round + 0.37)) / 30);
      writeFileSync(folder.file, flipped(Buffer.from(whole), at));
      const engine = await openSmall(folder.file).catch((error: unknown) => error as Error);
      if (engine instanceof Error) {
        expect(engine.message).toMatch(/the file is damaged/);
        seen.notOpened += 1;
        continue;
      }
      const rows = await rowsOf(engine, sql).catch((error: unknown) => error as Error);
      if (rows instanceof Error) {
        expect(rows).toMatchObject({
          code: 'internal',
          message: expect.stringMatching(/^Cannot run the query: the database ".*_colloquy\.duckdb" is damaged/),
        });
        seen.notRead += 1;
      } else {
        expect(rows).toEqual(expected);
        seen.unchanged += 1;
      }
      await engine.close();
    }
    expect(seen.notRead).toBeGreaterThan(0);
  });
});
