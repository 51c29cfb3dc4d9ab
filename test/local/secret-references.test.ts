import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRET_BYTES_MAX, secretReader } from '../../src/local/secret-references.ts';

const OUTSIDE = 'outside-the-folder';
let base = '';
let read: (reference: string) => string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-refs-'));
  const folder = join(base, 'secrets');
  mkdirSync(join(folder, 'sub'), { recursive: true });
  mkdirSync(join(base, 'secrets-of-another'));
  writeFileSync(join(base, 'other'), OUTSIDE);
  writeFileSync(join(base, 'secrets-of-another', 'x'), OUTSIDE);
  writeFileSync(join(folder, 'plain'), 'hunter2\n');
  writeFileSync(join(folder, 'sub', 'two'), 'first\r\nsecond\r\n');
  writeFileSync(join(folder, 'empty'), '\n');
  writeFileSync(join(folder, 'most'), 'x'.repeat(SECRET_BYTES_MAX));
  writeFileSync(join(folder, 'long'), 'x'.repeat(SECRET_BYTES_MAX + 1));
  symlinkSync(join(base, 'other'), join(folder, 'escape'));
  symlinkSync(base, join(folder, 'up'));
  symlinkSync('plain', join(folder, 'inside'));
  symlinkSync('loop', join(folder, 'loop'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  read = secretReader({
    variables: new Map([
      ['COLLOQUY_SECRET_A', 'from env'],
      ['COLLOQUY_SECRET_E', ''],
    ]),
    folder,
  });
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('secretReader()', () => {
  it('reads variables and files, without the line break at the end', () => {
    expect(read('env:COLLOQUY_SECRET_A')).toBe('from env');
    expect(read('file:plain')).toBe('hunter2');
    expect(read('file:sub/two')).toBe('first\r\nsecond');
    expect(read('file:inside')).toBe('hunter2');
    expect(read(`file:${join(base, 'secrets', 'plain')}`)).toBe('hunter2');
    expect(read('file:most')).toHaveLength(SECRET_BYTES_MAX);
  });

  it.each([
    ['env:HOME', 'no such variable'],
    ['env:PATH', 'no such variable'],
    ['env:COLLOQUY_API_KEY', 'no such variable'],
    ['env:', 'no such variable'],
    ['env:__proto__', 'no such variable'],
    ['env:COLLOQUY_SECRET_E', 'empty'],
    ['file:empty', 'empty'],
    ['file:none', 'ENOENT'],
    ['file:', 'not in the folder'],
    ['file:.', 'not in the folder'],
    ['file:..', 'not in the folder'],
    ['file:../other', 'not in the folder'],
    ['file:../secrets-of-another/x', 'not in the folder'],
    ['file:sub/../../other', 'not in the folder'],
    ['file:/etc/passwd', 'not in the folder'],
    ['file:escape', 'leads out'],
    ['file:up/other', 'leads out'],
    ['file:loop', 'ELOOP'],
    ['file:sub', 'no regular file'],
    ['file:pipe', 'no regular file'],
    ['file:long', 'longer than 64 kB'],
    ['file:plain\u0000.txt', 'cannot be read'],
  ])('refuses %j: %s', (reference, why) => {
    let message = '';
    try {
      read(reference);
    } catch (error) {
      message = (error as Error).message;
      expect(error).toMatchObject({ code: 'invalid_input' });
    }
    expect(message).toContain(JSON.stringify(reference));
    expect(message).toContain(why);
    expect(message).not.toContain(OUTSIDE);
  });

  it('says the same of a file elsewhere, whether it is there or not', () => {
    const said = (path: string) => {
      try {
        return read(`file:${path}`);
      } catch (error) {
        return (error as Error).message.replace(path, '');
      }
    };
    expect(said('../other')).toBe(said('../none'));
  });
});
