import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildIfStale } from './binary.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MB = 1e6;

let base = '';
let folder = '';
let bundleBytes = 0;
let names: string[] = [];

beforeAll(() => {
  buildIfStale();
  base = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-bundle-')));
  execFileSync(process.execPath, [join(ROOT, 'scripts/bundle.mjs'), base], { stdio: 'pipe' });
  const file = `colloquy-${process.platform}-${process.arch}.mcpb`;
  expect(readdirSync(base)).toEqual([file]);
  bundleBytes = statSync(join(base, file)).size;
  folder = join(base, 'extension');
  const files = unzipSync(readFileSync(join(base, file)));
  names = Object.keys(files);
  for (const [name, bytes] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  }
}, 300_000);

afterAll(() => rmSync(base, { recursive: true, force: true }));

/** The command as a host builds it: a value that the user did not give stays as written in the manifest. */
function hosted(given: Record<string, string>) {
  const { command, args, env } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).server.mcp_config;
  const filled = (text: string) =>
    text
      .replace(/\$\{__dirname\}/g, folder)
      .replace(/\$\{user_config\.(\w+)\}/g, (whole, name: string) => given[name] ?? whole);
  const own = Object.entries(env as Record<string, string>).map(([name, text]) => [name, filled(text)]);
  const home = { PATH: dirname(process.execPath), HOME: base, LANG: 'C' };
  return { command, args: args.map(filled), env: { ...home, ...Object.fromEntries(own) }, stderr: 'ignore' as const };
}

async function conversation(given: Record<string, string>) {
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(new StdioClientTransport(hosted(given)));
  const { tools } = await client.listTools();
  const result = await client.callTool({
    name: 'run_query',
    arguments: { query: 'SELECT 6 * 7 AS answer' },
  });
  await client.close();
  return { tools: tools.map(({ name }) => name), result };
}

/** Stops the service that a conversation started. */
function stop(flags: string[]) {
  const env = { PATH: dirname(process.execPath), HOME: base };
  execFileSync(process.execPath, [join(folder, 'dist/colloquy.js'), 'stop', ...flags], { env, stdio: 'pipe' });
}

describe('the MCPB bundle', () => {
  test('holds only what runs, for this platform', () => {
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
    expect(manifest.compatibility.platforms).toEqual([process.platform]);
    const tops = [...new Set(names.map((name) => name.split('/')[0]))].sort();
    expect(tops).toEqual(['LICENSE', 'dist', 'manifest.json', 'node_modules', 'package.json']);
    const engines = names.filter((name) => name.endsWith('duckdb.node'));
    expect(engines).toHaveLength(1);
    expect(engines[0]).toContain(`node-bindings-${process.platform}-${process.arch}`);
    expect(names.filter((name) => /\.(ts|map)$/.test(name))).toEqual([]);
    expect(names).toContain('dist/view/result.html');
    const bytes = names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    process.stderr.write(`bundle: ${(bundleBytes / MB).toFixed(1)} MB, unpacked ${(bytes / MB).toFixed(1)} MB\n`);
    expect(bundleBytes).toBeLessThan(60 * MB);
    expect(bytes).toBeLessThan(150 * MB);
  });

  test('holds a conversation where nobody filled in anything', async () => {
    const { tools, result } = await conversation({ read_only: 'true' });
    stop([]);
    expect(tools).toContain('run_query');
    expect(tools).not.toContain('delete_collection');
    expect(JSON.stringify(result)).toContain('42');
    expect(result.isError).not.toBe(true);
  });

  test('holds one with empty values, a folder, and writing allowed', async () => {
    const data_dir = join(base, 'my data');
    const { tools, result } = await conversation({ read_only: 'false', url: '', api_key: '', toolsets: '', data_dir });
    stop(['--data-dir', data_dir]);
    expect(tools).toContain('delete_collection');
    expect(JSON.stringify(result)).toContain('42');
    expect(readdirSync(data_dir)).toContain('admin.key');
  });
});
