import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as McpClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BINARY, buildIfStale } from '../../scenarios/binary.ts';
import { runHere, runProgram, type Variables } from '../program.ts';

let home = '';
const environment = (env: Variables = {}) => ({ PATH: process.env['PATH'] ?? '', HOME: home, ...env });

const run = (args: string[], env?: Variables) => runHere(args, environment(env));

function given(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

beforeAll(buildIfStale);
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-setup-')));
});
afterEach(async () => {
  await run(['stop']);
  rmSync(home, { recursive: true, force: true });
});

describe('colloquy setup', () => {
  test('finds nothing on an empty machine, and makes nothing', async () => {
    const { code, stdout } = await runProgram(['setup'], environment());
    expect(code).toBe(1);
    expect(stdout).toContain('No assistant was found. Looked for Claude Code, Claude Desktop, Cursor,');
    expect(readdirSync(home)).toEqual([]);
  });

  test('--print shows the entry where no assistant is found, without what is not about the service', async () => {
    const { code, stdout } = await run(['setup', '--print'], { COLLOQUY_LOG_LEVEL: 'debug' });
    expect(code).toBe(0);
    const entry = JSON.parse(stdout.slice(stdout.indexOf('{')));
    expect(entry).toEqual({
      mcpServers: { colloquy: { command: process.execPath, args: [BINARY, '--read-only'] } },
    });
    expect(readdirSync(home)).toEqual([]);
  });

  test('writes every setting that it takes and the server heeds, where it is not the default', async () => {
    const { stdout } = await run(['setup', '--print', '--idle-secs', '0', '--allow-dirs', '/data'], {
      COLLOQUY_REQUEST_TIMEOUT_MS: '300000',
    });
    expect(JSON.parse(stdout.slice(stdout.indexOf('{'))).mcpServers.colloquy.args).toEqual([
      BINARY,
      '--allow-dirs',
      '/data',
      '--request-timeout-ms',
      '300000',
      '--idle-secs',
      '0',
      '--read-only',
    ]);
  });

  test('--print shows the change and writes nothing', async () => {
    const file = given('.cursor/mcp.json', '{}\n');
    const { code, stdout } = await run(['setup', '--print']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\+ {8}"--read-only"$/m);
    expect(readFileSync(file, 'utf8')).toBe('{}\n');
    expect(readdirSync(home)).toEqual(['.cursor']);
  });

  test.each([
    [[], /--write offers those that change data/],
    [['--write'], /It offers tools that change data, too/],
    [['--write', '--profile', 'explore'], /It offers only tools that read: no other one/],
  ])('says what the entry with %j offers', async (args, says) => {
    expect((await run(['setup', '--print', ...args])).stdout).toMatch(says);
  });

  test('writes nothing where nobody can be asked', async () => {
    const file = given('.cursor/mcp.json', '{}\n');
    const { code, stdout } = await run(['setup']);
    expect(code).toBe(1);
    expect(stdout).toContain('there is no terminal to ask at. Add --yes.');
    expect(readFileSync(file, 'utf8')).toBe('{}\n');
  });

  test('what it writes starts a server, and --undo takes it back', async () => {
    const before = '{\n  "mcpServers": {}\n}\n';
    const file = given('.cursor/mcp.json', before);
    const flags = ['--profile', 'explore', '--lambda-tools', 'production', '--data-dir', join(home, 'my data')];
    const written = await run(['setup', '--yes', ...flags]);
    expect(written.code).toBe(0);
    expect(written.stdout).toMatch(/^ok {4}tools +\d+ of \d+ are offered$/m);
    expect(written.stdout).toContain('no lambda has the tag "production"');

    const { command, args } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.colloquy;
    expect(args.join(' ')).toContain('--profile explore --lambda-tools production');
    const client = new McpClient({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, env: environment(), stderr: 'ignore' }));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('run_query');
    expect(names).not.toContain('create_collection');
    await client.close();
    await run(['stop', '--data-dir', join(home, 'my data')]);

    const undone = await run(['setup', '--undo', '--yes']);
    expect(undone).toMatchObject({ code: 0, stdout: expect.stringContaining('Taken back.') });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(join(home, '.cursor'))).toEqual(['mcp.json']);
  });

  test('writes nothing where the key is not accepted or nobody answers, and shows no key', async () => {
    const file = given('.codex/config.toml', 'model = "x"\n');
    const env = { COLLOQUY_URL: 'http://127.0.0.1:1', COLLOQUY_API_KEY: 'sekrit-key' };
    const { code, stdout, stderr } = await run(['setup', '--yes'], env);
    expect(code).toBe(1);
    expect(stdout).toContain('The API key of COLLOQUY_API_KEY would stand in each of these files in plain text.');
    expect(stdout).toContain('Nothing was written, since this would not work.');
    expect(stdout + stderr).not.toContain('sekrit-key');
    expect(readFileSync(file, 'utf8')).toBe('model = "x"\n');
  });

  test('a key file is named and not copied', async () => {
    given('.codex/config.toml', '');
    const key = given('remote.key', 'sekrit-key\n');
    // There is no service at this address, so nothing is tried: only the planned change is tested.
    const { stdout } = await run(['setup', '--print', '--url', 'http://127.0.0.1:1', '--api-key-file', key]);
    expect(stdout).toContain(`--api-key-file ${key}`);
    expect(stdout).not.toContain('sekrit-key');
  });

  test('refuses assistants that it does not know, and says where one would be', async () => {
    const unknown = await run(['setup', '--client', 'claude-cod']);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean "claude-code"?') });
    const missing = await run(['setup', '--client', 'zed', '--print']);
    expect(missing.stdout).toContain(`Zed was not found: there is no "${join(home, '.config', 'zed')}"`);
    expect(missing.stdout).toContain(`Zed: put this in "${join(home, '.config', 'zed', 'settings.json')}":`);
    expect(missing.stdout).toContain('"context_servers": {');
    expect(missing.code).toBe(0);
    expect(existsSync(join(home, '.config'))).toBe(false);
  });
});
