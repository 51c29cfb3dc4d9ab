import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readInvocation, SUBCOMMANDS } from '../../src/commands.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { SETTINGS, type Setting } from '../../src/settings.ts';
import { blocksOf, commandsOf, PAGES, ROOT, readPage } from '../docs/pages.ts';
import { expectGenerated, withPart } from './parts.ts';

/** Flags that are neither settings nor options of a command. */
const FOREIGN_FLAGS = ['--help', '--version'];

const flags = [
  ...Object.values(SETTINGS as Record<string, Setting>).map(({ flag }) => flag?.split(' ')[0]),
  ...SUBCOMMANDS.flatMap(({ options = [] }) => options.map(({ long }) => long)),
  ...FOREIGN_FLAGS,
];

/** The anchor of a heading, as GitHub generates it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

function withoutBlocks(text: string): string {
  return blocksOf(text).reduce((rest, block) => rest.replace(block.text, ''), text);
}

/** Generated tables contain forms of commands, such as `trash <action> [id]`, that are not commands. */
function withoutGenerated(text: string): string {
  return text.replace(/<!-- (\w+):begin[\s\S]*?<!-- \1:end -->/g, '');
}

function anchorsOf(file: string): string[] {
  const text = withoutBlocks(readFileSync(file, 'utf8'));
  return [...text.matchAll(/^#+ (.*)$/gm)].map((match) => anchorOf(match[1] ?? ''));
}

function brokenLinks(page: string): string[] {
  const links = [...withoutBlocks(readPage(page)).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? resolve(ROOT, page) : resolve(ROOT, dirname(page), path);
    return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
}

function commandTable(): string {
  const lines = SUBCOMMANDS.map(({ name, description, args = [], options = [] }) => {
    const form = [name, ...args.map(([one]) => one)].join(' ');
    const own = options.filter(({ hidden }) => !hidden).map((one) => `\`${one.flags}\` ${one.description}`);
    return `| \`colloquy ${form}\` | ${description} | ${own.join('; ')} |`.replaceAll('  ', ' ');
  });
  return ['| command | what it does | options of its own |', '|---|---|---|', ...lines].join('\n');
}

describe('the pages for people', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'colloquy-pages-'));
    writeFileSync(join(folder, 'key'), 'a-key');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(PAGES)('%s links to what is there', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });

  it.each(PAGES)('%s shows commands that exist, with their flags and tools', (page) => {
    const wrong = commandsOf(withoutGenerated(readPage(page))).flatMap(({ args, env }) => {
      // The key file is read along with the command line, and the file that a page names does not exist.
      const real = args.map((word, index) => (args[index - 1] === '--api-key-file' ? join(folder, 'key') : word));
      if (/^<|^…/.test(real[0] ?? '')) return [];
      const read = readInvocation(real, env);
      if (read.command === 'exit' && read.exitCode === 2) return [`${args.join(' ')}: ${read.stderr}`];
      if (read.command === 'call' && read.tool !== undefined && !tools().has(read.tool)) return [args.join(' ')];
      return [];
    });
    expect(wrong).toEqual([]);
  });

  it('ARCHITECTURE.md names files that exist', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const named = [...readPage('ARCHITECTURE.md').matchAll(/`([a-z/-]+\.ts)`/g)].map((match) => match[1] ?? '');
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))).toEqual([]);
  });

  it.each(PAGES.filter((page) => page !== 'ARCHITECTURE.md'))('%s names flags that exist', (page) => {
    const named = [...withoutBlocks(readPage(page)).matchAll(/`(--[a-z-]+)[^`]*`/g)].map((match) => match[1]);
    expect(named.filter((flag) => !flags.includes(flag))).toEqual([]);
  });

  it('finds commands, or the checks above are worth nothing', () => {
    expect(commandsOf(readPage('docs/administration.md')).length).toBeGreaterThan(20);
    expect(
      commandsOf(
        '```sh\nsudo -u colloquy node /x/dist/colloquy.js stop # x\nA=1 colloquy call t \'{"a":\n1}\' | head\n```',
      ),
    ).toEqual([
      { args: ['stop'], env: {} },
      { args: ['call', 't', '{"a":\n1}'], env: { A: '1' } },
    ]);
  });
});

describe('docs/administration.md', () => {
  it('lists the commands as they are in the code', () => {
    const page = resolve(ROOT, 'docs/administration.md');
    const expected = withPart(readPage('docs/administration.md'), 'commands', commandTable());
    expectGenerated(page, expected);
  });
});
