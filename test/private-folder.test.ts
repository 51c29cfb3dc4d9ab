import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPrivateFolder } from '../src/private-folder.ts';

let base = '';
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-private-'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe.skipIf(process.platform === 'win32')('isPrivateFolder()', () => {
  it('makes a folder that nobody else can enter', () => {
    const path = join(base, 'a', 'compiled');
    expect([isPrivateFolder(path), modeOf(path)]).toEqual([true, 0o700]);
    expect(isPrivateFolder(path)).toBe(true);
  });

  it('closes one that others could read, and trusts none that they could write to', () => {
    const path = join(base, 'open');
    mkdirSync(path);
    chmodSync(path, 0o755);
    expect([isPrivateFolder(path), modeOf(path)]).toEqual([true, 0o700]);
    for (const mode of [0o770, 0o777, 0o702]) {
      chmodSync(path, mode);
      expect([isPrivateFolder(path), modeOf(path)]).toEqual([false, mode]);
    }
  });

  it('trusts no link, no file, and nothing below a file', () => {
    mkdirSync(join(base, 'goal'), { mode: 0o700 });
    symlinkSync(join(base, 'goal'), join(base, 'link'));
    writeFileSync(join(base, 'file'), '');
    for (const path of ['link', 'file', 'file/below']) expect(isPrivateFolder(join(base, path))).toBe(false);
  });

  it("does not trust another user's", () => {
    const isRoot = process.getuid?.() === 0;
    const path = isRoot ? join(base, 'other') : '/';
    if (isRoot) {
      mkdirSync(path, { mode: 0o700 });
      chownSync(path, 65_534, 65_534);
    }
    expect(isPrivateFolder(path)).toBe(false);
  });
});
