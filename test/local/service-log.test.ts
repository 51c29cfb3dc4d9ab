import { appendFile, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { boundLog, lastLines } from '../../src/local/service-log.ts';

let base = '';
let file = '';
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'colloquy-log-'));
  file = join(base, 'service.log');
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe('boundLog()', () => {
  test('moves a long log aside while its writer goes on', async () => {
    const writer = await open(file, 'a');
    await writer.write('x'.repeat(1_000));
    await boundLog(file, 100);
    await writer.write('later');
    await writer.close();
    expect(await readFile(file, 'utf8')).toBe('later');
    expect((await stat(`${file}.1`)).size).toBe(1_000);
  });

  test('leaves a short log, and none, as they are', async () => {
    await boundLog(file, 100);
    await writeFile(file, 'short');
    await boundLog(file, 100);
    expect(await readFile(file, 'utf8')).toBe('short');
    await expect(stat(`${file}.1`)).rejects.toThrow(/ENOENT/);
  });
});

describe('lastLines()', () => {
  test('shows the messages of the last lines from a place on', async () => {
    await writeFile(file, 'before\n');
    await appendFile(file, '{"level":50,"msg":"no","err":{"message":"why"}}\nplain text\n\n{"level":30}\n');
    expect(await lastLines(file, 7)).toEqual(['no: why', 'plain text', '{"level":30}']);
  });

  test('shows few lines, and each shortened', async () => {
    await writeFile(file, Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(3_000)}`).join('\n'));
    const lines = await lastLines(file, 0);
    expect(lines).toHaveLength(8);
    expect(lines.at(-1)).toMatch(/^99 x+$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBe(2_000);
  });

  test('shows nothing of a log that is not there, and all of one that was emptied', async () => {
    expect(await lastLines(file, 0)).toEqual([]);
    await writeFile(file, 'new');
    expect(await lastLines(file, 1_000)).toEqual(['new']);
  });
});
