import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepKey } from '../../src/local/key-files.ts';

const NOW = new Date('2026-01-02T03:04:05.678Z');
let base = '';
let dataDir = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-keys-'));
  dataDir = join(base, 'data');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

describe('keepKey()', () => {
  it('writes a file that its owner alone can read, in a folder that nobody else can enter', async () => {
    const file = await keepKey(dataDir, 'ci', 'the secret', NOW);
    expect(basename(file)).toBe('ci-20260102T030405678Z.key');
    expect(readFileSync(file, 'utf8')).toBe('the secret\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['../../etc/passwd', 'etc_passwd'],
    ['/abs', 'abs'],
    ['..', 'key'],
    ['a\u0000b\n\u202ec', 'a_b_c'],
    ['bob@example.com-k', 'bob@example.com-k'],
    ['日本', 'key'],
    ['x'.repeat(500), 'x'.repeat(80)],
  ])('makes of the label %j a name in that folder', async (label, name) => {
    const file = await keepKey(dataDir, label, 's', NOW);
    expect(basename(file)).toBe(`${name}-20260102T030405678Z.key`);
    expect(readdirSync(join(dataDir, 'keys'))).toEqual([basename(file)]);
  });

  it('overwrites nothing', async () => {
    const file = await keepKey(dataDir, 'ci', 'first', NOW);
    await expect(keepKey(dataDir, 'ci', 'second', NOW)).rejects.toThrow('EEXIST');
    expect(readFileSync(file, 'utf8')).toBe('first\n');
  });

  it.each<[string, () => void]>([
    ['is a file', () => writeFileSync(join(dataDir, 'keys'), '')],
    ['is a link', () => symlinkSync(base, join(dataDir, 'keys'))],
    ['is open to others', () => chmodSync(join(dataDir, 'keys'), 0o755)],
  ])('refuses a folder that %s, without the secret in the message', async (what, arrange) => {
    const file = await keepKey(dataDir, 'first', 'x', NOW);
    if (what !== 'is open to others') rmSync(dirname(file), { recursive: true });
    arrange();
    const error = await keepKey(dataDir, 'ci', 'the secret').catch((thrown: Error) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).not.toContain('the secret');
  });
});
