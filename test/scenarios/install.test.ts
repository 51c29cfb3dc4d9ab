import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesOf, packagesFor } from '../../scripts/production.mjs';
import { toolCards } from '../../src/mcp/tools/tool-cards.ts';
import { buildIfStale } from './binary.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MB = 1e6;
/** Limits of an installation without development dependencies. */
const BYTES_MAX = 150 * MB;
const PACKAGES_MAX = 130;

/** The files of the project that are published. */
const PUBLISHED = [
  /^package\.json$/,
  /^(README|CHANGELOG|ARCHITECTURE)\.md$/,
  /^LICENSE$/,
  /^docs\/[a-z-]+\.md$/,
  /^dist\/colloquy\.js$/,
  /^dist\/chunks\/[\w-]+\.js$/,
  /^dist\/THIRD-PARTY-NOTICES\.txt$/,
  /^dist\/demo\/([a-z]+\.json\.gz|SOURCES\.md)$/,
  /^dist\/view\/[a-z]+\.html$/,
];

interface Packed {
  filename: string;
  files: { path: string; mode: number }[];
}

const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
let folder = '';
let packed: Packed = { filename: '', files: [] };
let packages = new Map<string, string>();

// The result of `npm install --omit=dev <tarball>`, made from local files, so that no test waits for a registry.
beforeAll(async () => {
  buildIfStale();
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-install-')));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const told: unknown = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }));
  // Up to npm 11 a list; later an object by name.
  packed = Object.values(told as Record<string, Packed>)[0] ?? packed;
  const target = join(folder, 'node_modules', 'colloquy');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', target, '--strip-components=1']);
  packages = await packagesFor(ROOT, { dependencies: project.dependencies });
  for (const [path, source] of packages) {
    cpSync(source, join(folder, 'node_modules', path), { recursive: true });
  }
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an installation', () => {
  test('consists of what runs, and of nothing else of the project', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths.filter((path) => !PUBLISHED.some((pattern) => pattern.test(path)))).toEqual([]);
    for (const pattern of PUBLISHED)
      expect(
        paths.filter((path) => pattern.test(path)),
        String(pattern),
      ).not.toEqual([]);
  });

  test('needs the packages that the lock file has for it', () => {
    const { packages: locked } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const wanted = Object.keys(locked).filter((path) => path !== '' && locked[path].dev !== true);
    expect([...packages.keys()].filter((path) => !wanted.includes(`node_modules/${path}`))).toEqual([]);
    const missing = wanted.filter((path) => !packages.has(path.slice('node_modules/'.length)));
    // Only packages of the engine for other platforms may be missing.
    expect(missing.filter((path) => locked[path].optional !== true)).toEqual([]);
  });

  test('is small', async () => {
    const count = packages.size + 1;
    const bytes = await bytesOf([join(folder, 'node_modules/colloquy'), ...packages.values()]);
    process.stderr.write(`installed: ${(bytes / MB).toFixed(1)} MB in ${count} packages\n`);
    expect(count).toBeLessThanOrEqual(PACKAGES_MAX);
    expect(bytes).toBeLessThanOrEqual(BYTES_MAX);
  });

  test('lists exactly the tools that the code computes, and runs one', async () => {
    const bin = join(folder, 'node_modules/colloquy', project.bin.colloquy);
    const env = {
      PATH: dirname(process.execPath),
      HOME: folder,
      COLLOQUY_ALLOW_DIRS: folder,
      COLLOQUY_AUDIT_TOOL: 'on',
    };
    const client = new Client({ name: 'host', version: '1' });
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [bin], env, stderr: 'ignore' }));
    try {
      const { tools } = await client.listTools();
      expect(tools).toEqual(JSON.parse(JSON.stringify(Array.from(toolCards().values(), ({ listing }) => listing))));
      const result = await client.callTool({ name: 'run_query', arguments: { query: 'SELECT 6 * 7 AS answer' } });
      expect(JSON.stringify(result)).toContain('42');
    } finally {
      await client.close();
      execFileSync(process.execPath, [bin, 'stop'], { env, stdio: 'pipe' });
    }
  });
});
