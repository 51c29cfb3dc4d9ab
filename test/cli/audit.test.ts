import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runHere, runProgram, type Variables, variablesOf } from './program.ts';

let base = '';
let dataDir = '';
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'colloquy-cli-audit-'));
  dataDir = join(base, 'data');
});
afterAll(async () => {
  await run(['stop']);
  rmSync(base, { recursive: true, force: true });
});

const env = () => variablesOf(base, dataDir);
const run = (args: string[], more: Variables = {}) => runHere(args, { ...env(), ...more });

describe('colloquy audit', () => {
  test('says so where nothing is on record, and makes no folder', async () => {
    const { code, stdout, stderr } = await runProgram(['audit'], env());
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('No calls on record');
    expect(existsSync(dataDir)).toBe(false);
  });

  test('shows calls of tools, and of those the ones that are wanted', async () => {
    await run(['call', 'list_workspaces', '{}']);
    await run(['call', 'run_query', '{"query":"SELEC 1"}']);
    await run(['call', 'list_collections', '{}'], { COLLOQUY_AUDIT: 'off' });
    const all = (await run(['audit'])).stdout.trim().split('\n');
    for (const line of all) expect(line).toContain('  admin@localhost (local-admin)  call  ');
    expect(all.map((line) => line.split('  ').slice(1, 3))).toEqual([
      ['list_workspaces', 'ok'],
      ['run_query', 'query_error'],
    ]);
    expect((await run(['audit', '--failed'])).stdout).toMatch(
      /^\S+ {2}run_query {2}query_error .*\{"query":"SELEC 1"\}\n$/,
    );
    expect((await run(['audit', '--lines', '1', '--json'])).stdout).toMatch(/^\{"time":.*"tool":"run_query".*\}\n$/);
    expect((await run(['audit', '--tool', 'list_workspaces'])).stdout).not.toContain('run_query');
    expect(await run(['audit', '--tool', 'list_workspace'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('There is no tool "list_workspace". Did you mean "list_workspaces"?'),
    });
    expect((await run(['audit', '--since', '2999-01-01'])).stdout).toBe('');
    // Of another service's calls there is no record here.
    const elsewhere = { COLLOQUY_URL: 'http://localhost:9', COLLOQUY_API_KEY: 'k' };
    const here = await run(['audit'], elsewhere);
    expect(here.stdout.trim().split('\n')).toEqual(all);
    expect(here.stderr).toContain(`These are calls from this machine, on record in "${dataDir}"; http://localhost:9 `);
    expect((await run(['audit'])).stderr).toBe('');
    expect(statSync(join(dataDir, 'audit.log')).mode & 0o777).toBe(0o600);
  }, 60_000);

  test('shows no escape sequence, whatever is in the file', async () => {
    const file = join(dataDir, 'audit.log');
    const hostile = {
      time: '2026-01-01',
      tool: '\u001b[2Jx\u202e',
      outcome: 'ok',
      arguments: { a: '\u001b]8;;x\u0007' },
    };
    writeFileSync(file, `${readFileSync(file, 'utf8')}${JSON.stringify(hostile)}\nno record\n`);
    const { stdout, stderr } = await run(['audit']);
    expect(stdout).toContain('[2Jx');
    expect(/[^\P{Cc}\n]|\u202e/u.test(stdout)).toBe(false);
    expect(stderr).toContain('1 line');
  });
});

describe('colloquy call create_api_key', () => {
  test('puts the key into a file where a program reads the answer', async () => {
    const { code, stdout } = await run(['call', 'create_api_key', '{"name":"ci"}']);
    expect(code).toBe(0);
    const [file = ''] = readdirSync(join(dataDir, 'keys'));
    const key = readFileSync(join(dataDir, 'keys', file), 'utf8').trim();
    expect(key).toMatch(/^[A-Za-z0-9]{64}$/);
    expect(stdout).not.toContain(key);
    expect(stdout).toContain(file);
    expect(readFileSync(join(dataDir, 'audit.log'), 'utf8')).not.toContain(key);
  }, 60_000);
});
