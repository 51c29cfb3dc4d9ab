import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runDemo } from '../../../src/cli/demo/demo.ts';
import { STORY } from '../../../src/cli/demo/story.ts';
import { MORE, someOf } from '../../long.ts';

const BIN = resolve(import.meta.dirname, '../../../dist/colloquy.js');
const TIMEOUT_MS = 60_000;

let temp: string;

beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'demo-test-'));
});

afterEach(() => {
  rmSync(temp, { recursive: true, force: true });
});

function startDemo(): { child: ChildProcess; output: () => string; code: Promise<number | null> } {
  const child = spawn(process.execPath, [BIN, 'demo'], {
    env: { ...process.env, TMPDIR: temp },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk));
  return { child, output: () => text, code: once(child, 'close').then(([code]) => code) };
}

/** Command line and environment of every process, as far as the system shows them. */
function processes(): string[] {
  if (!existsSync('/proc/self/environ')) return execFileSync('ps', ['-AwwE'], { encoding: 'utf8' }).split('\n');
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8');
      } catch {
        return ''; // It ended in the meantime, or belongs to somebody else.
      }
    });
}

function expectNothingLeft() {
  expect(readdirSync(temp).filter((name) => name.startsWith('colloquy-demo-'))).toEqual([]);
  expect(processes().filter((text) => text.includes(temp))).toEqual([]);
}

describe('npm run demo', () => {
  it(
    'answers every question rightly, shows how to connect, and leaves nothing behind',
    async () => {
      const demo = startDemo();
      expect(await demo.code, demo.output()).toBe(0);
      const lines = demo.output().split('\n');
      expect(lines.filter((line) => /^ *checked, \d+ ms$/.test(line))).toHaveLength(STORY.length);
      expect(demo.output()).toContain('claude mcp add colloquy');
      expect(demo.output()).not.toContain('\x1b');
      const tooLong = lines.filter((line) => line.length > 100 && !line.includes(BIN));
      expect(tooLong).toEqual([]);
      expectNothingLeft();
    },
    TIMEOUT_MS,
  );

  it(
    'cleans up when interrupted',
    async () => {
      const demo = startDemo();
      while (!demo.output().includes('What follows')) await once(demo.child.stdout ?? demo.child, 'data');
      demo.child.kill('SIGINT');
      expect(await demo.code, demo.output()).toBe(130);
      expect(demo.output()).not.toContain('All ');
      expectNothingLeft();
    },
    TIMEOUT_MS,
  );

  it(
    'cleans up when the reader of its output goes away',
    async () => {
      const demo = startDemo();
      while (!demo.output().includes('What follows')) await once(demo.child.stdout ?? demo.child, 'data');
      demo.child.stdout?.destroy();
      expect(await demo.code, demo.output()).not.toBe(0);
      expectNothingLeft();
    },
    TIMEOUT_MS,
  );
});

describe('runDemo()', () => {
  const [first] = STORY;
  if (first === undefined) throw new Error('the story is empty');

  const failures = [
    ['a wrong value', { expected: () => [['earthquakes', 4]] }, '["earthquakes",4]'],
    ['an error where none is', { expected: 'nothing' }, 'expected "nothing"'],
    ['a human who was not asked', { human: { isAsked: 'certain' } }, 'The human was not asked as expected: certain'],
  ] as const;
  it.each(someOf(failures, 3))(
    'exits with 1, plays no further and tells what was expected: %s',
    { ...MORE, timeout: TIMEOUT_MS },
    async (_what, change, said) => {
      let output = '';
      const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
        output += String(text);
        return true;
      });
      const code = await runDemo([{ ...first, ...change }, first]).finally(() => write.mockRestore());
      expect(code).toBe(1);
      expect(output).toContain(said);
      expect(output).not.toContain(' 2. ');
      expect(output).not.toContain('claude mcp add');
    },
  );
});
