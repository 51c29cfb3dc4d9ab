import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findRecords, openAuditLog } from '../../src/local/audit-log.ts';

let base = '';
let dataDir = '';
let warnings: string[] = [];
const log = { warn: (_: object, message: string) => void warnings.push(message) };

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-audit-'));
  dataDir = join(base, 'data');
  warnings = [];
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** All records, oldest first. */
const kept = async () => (await findRecords(dataDir, () => true, Number.POSITIVE_INFINITY)).reverse();

async function append(records: object[], limits = {}): Promise<void> {
  const audit = openAuditLog({ dataDir, log, ...limits });
  for (const record of records) audit.append(record);
  await audit.settled();
}

/** Starts Node.js processes that append `count` records each, all at the same time. */
async function appendInProcesses(processes: number, count: number, limits: object): Promise<void> {
  const bundle = join(base, 'audit-log.mjs');
  const entry = resolve(import.meta.dirname, '../../src/local/audit-log.ts');
  await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', outfile: bundle });
  const script = `
    const { openAuditLog } = await import(${JSON.stringify(bundle)});
    const options = ${JSON.stringify({ dataDir, ...limits })};
    const warn = (details) => { console.error(details); process.exitCode = 1; };
    const audit = openAuditLog({ ...options, log: { warn } });
    for (let n = 0; n < ${count}; n++) {
      audit.append({ time: n, process: process.argv[1], filler: 'x'.repeat(200) });
      if (n % 10 === 0) await audit.settled();
    }
    await audit.settled();`;
  const run = (name: string) => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, name]);
  await Promise.all(Array.from({ length: processes }, (_, index) => run(`p${index}`)));
}

describe('openAuditLog()', () => {
  it('appends one line per record to a file of its owner alone', async () => {
    await append([{ tool: 'a' }, { tool: 'b\nc' }]);
    await append([{ tool: 'd' }]);
    const file = join(dataDir, 'audit.log');
    expect(readFileSync(file, 'utf8')).toBe('{"tool":"a"}\n{"tool":"b\\nc"}\n{"tool":"d"}\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  it('keeps no more than so many files, the newest lines in them', async () => {
    const records = Array.from({ length: 400 }, (_, n) => ({ n }));
    await append(records, { bytesMax: 500, filesMax: 3 });
    const files = readdirSync(dataDir).filter((name) => name.startsWith('audit'));
    expect(files.length).toBeLessThanOrEqual(3);
    for (const name of files) expect(statSync(join(dataDir, name)).size).toBeLessThan(600);
    const left = await kept();
    expect(left.length).toBeGreaterThan(50);
    expect(left).toEqual(records.slice(-left.length));
    expect(warnings).toEqual([]);
  });

  it('loses and mixes no line of several processes, files put aside in between', async () => {
    await appendInProcesses(4, 250, { bytesMax: 20_000, filesMax: 1_000 });
    const unreadable = vi.fn();
    const records = await findRecords(dataDir, () => true, Number.POSITIVE_INFINITY, unreadable);
    expect(unreadable).not.toHaveBeenCalled();
    for (const process of ['p0', 'p1', 'p2', 'p3']) {
      const times = records.flatMap((record) => (record['process'] === process ? [Number(record['time'])] : []));
      expect(times.sort((a, b) => a - b)).toEqual(Array.from({ length: 250 }, (_, n) => n));
    }
    expect(readdirSync(dataDir).length).toBeGreaterThan(5);
  }, 30_000);

  it('says once that it cannot write, and again after it could', async () => {
    const audit = openAuditLog({ dataDir, log });
    mkdirSync(join(dataDir, 'audit.log'), { recursive: true, mode: 0o700 });
    rmSync(join(dataDir, 'audit.log'), { recursive: true });
    const block = () => mkdirSync(join(dataDir, 'audit.log'));
    const free = () => rmSync(join(dataDir, 'audit.log'), { recursive: true });
    const write = (n: number) => {
      audit.append({ n });
      return audit.settled();
    };
    block();
    await write(1);
    await write(2);
    expect(warnings).toHaveLength(1);
    free();
    await write(3);
    free();
    block();
    await write(4);
    expect(warnings).toHaveLength(2);
  });

  it('begins a new line after half a one', async () => {
    await append([{ n: 1 }]);
    writeFileSync(join(dataDir, 'audit.log'), '{"n":1}\n{"n":2,"half');
    await append([{ n: 3 }]);
    const unreadable = vi.fn();
    expect(await findRecords(dataDir, () => true, 9, unreadable)).toEqual([{ n: 3 }, { n: 1 }]);
    expect(unreadable).toHaveBeenCalledOnce();
  });
});

describe('findRecords()', () => {
  const all = () => true;

  it('finds the newest of all files that are wanted', async () => {
    expect(await findRecords(join(base, 'none'), all, 5)).toEqual([]);
    const records = Array.from({ length: 60 }, (_, n) => ({ time: String(1_000 + n), n }));
    await append(records, { bytesMax: 300, filesMax: 100 });
    expect(readdirSync(dataDir).length).toBeGreaterThan(3);
    expect(await findRecords(dataDir, all, 100)).toEqual(records.toReversed());
    expect(await findRecords(dataDir, all, 2)).toMatchObject([{ n: 59 }, { n: 58 }]);
    expect(await findRecords(dataDir, ({ n }) => Number(n) < 10, 2)).toMatchObject([{ n: 9 }, { n: 8 }]);
  });

  it('reads no file before the one in which it has found enough', async () => {
    await append([{ time: '1' }, { time: '2' }]);
    mkdirSync(join(dataDir, 'audit-20200101T000000000Z-1.log'));
    expect(await findRecords(dataDir, all, 2)).toEqual([{ time: '2' }, { time: '1' }]);
    await expect(findRecords(dataDir, all, 3)).rejects.toThrow('EISDIR');
  });

  it('reads a large file in pieces, whole lines and records only', async () => {
    await append([{ time: '0', n: 0 }]);
    const line = (n: number) => JSON.stringify({ time: String(n).padStart(6, '0'), n, text: 'ä'.repeat(500) });
    const lines = Array.from({ length: 1_000 }, (_, n) => line(n));
    lines.splice(500, 0, 'x'.repeat(3_000_000), `{"text":"${'x'.repeat(400_000)}","time":"000499","n":499.5}`);
    writeFileSync(join(dataDir, 'audit.log'), `${lines.join('\n')}\nnothing\n[1]\n{"half`);
    const found = (await findRecords(dataDir, all, 2_000)).map(({ n }) => n);
    expect(found).toHaveLength(1_001);
    expect(found.filter((n) => n !== 499.5)).toEqual(Array.from({ length: 1_000 }, (_, n) => 999 - n));
  });
});

describe('the files put aside', () => {
  it('keeps the order of files put aside in one millisecond', async () => {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.UTC(2026, 0, 1));
    await append(
      Array.from({ length: 60 }, (_, n) => ({ n })),
      { bytesMax: 20, filesMax: 100 },
    );
    clock.mockRestore();
    expect(await kept()).toEqual(Array.from({ length: 60 }, (_, n) => ({ n })));
    expect(readdirSync(dataDir).length).toBeGreaterThan(10);
  });
});
