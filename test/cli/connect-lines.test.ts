import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { commandLine, connectLines, ownCommand, placeFlags, serverCommand } from '../../src/cli/connect-lines.ts';
import { readInvocation } from '../../src/commands.ts';

const lineUnder = (lines: string[], title: string) => {
  const line = lines[lines.findIndex((text) => text.startsWith(title)) + 1];
  if (line === undefined) throw new Error(`no line under ${title}`);
  return line.trim();
};

describe('commandLine()', () => {
  it('quotes what a shell would split', () => {
    expect(commandLine({ command: 'node', args: ['/a b/colloquy.js', '--data-dir', '/d'] })).toBe(
      "node '/a b/colloquy.js' --data-dir /d",
    );
  });
});

describe('placeFlags()', () => {
  const flags = (env: Record<string, string>) => {
    const invocation = readInvocation([], env);
    if (invocation.command !== 'stdio') throw new Error('no configuration');
    return placeFlags(invocation.config);
  };

  it('leads to the same service, without its key', () => {
    expect(flags({})).toEqual([]);
    expect(flags({ COLLOQUY_DATA_DIR: '/some/where' })).toEqual(['--data-dir', '/some/where']);
    expect(flags({ COLLOQUY_URL: 'https://x.example', COLLOQUY_API_KEY: 'secret' })).toEqual([
      '--url',
      'https://x.example',
    ]);
  });
});

describe('ownCommand()', () => {
  it('starts this copy for the same service', () => {
    expect(ownCommand({ url: undefined, dataDir: '/a b' }, '/x/colloquy.js')).toBe(
      "node /x/colloquy.js --data-dir '/a b'",
    );
  });
});

describe('connectLines()', () => {
  const path = "/home/o'neil/my files/colloquy.js";
  const lines = connectLines({ command: 'node', args: [path] });
  /** Splits a command line into words as a shell does. */
  const words = (line: string) =>
    execFileSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
      .trim()
      .split('\n');

  it('names setup first', () => {
    expect(words(lineUnder(lines, 'All assistants'))).toEqual(['node', path, 'setup']);
  });

  it('quotes paths with spaces and apostrophes for the shell', () => {
    expect(words(lineUnder(lines, 'Claude Code'))).toEqual([
      'claude',
      'mcp',
      'add',
      'colloquy',
      '--',
      'node',
      path,
      '--read-only',
    ]);
  });

  it('gives VS Code one argument of JSON', () => {
    const [code, option, json] = words(lineUnder(lines, 'VS Code'));
    expect([code, option]).toEqual(['code', '--add-mcp']);
    expect(JSON.parse(json ?? '')).toEqual({ name: 'colloquy', command: 'node', args: [path, '--read-only'] });
  });

  it('gives Claude Desktop and Cursor JSON to paste', () => {
    expect(JSON.parse(lineUnder(lines, 'Claude Desktop'))).toEqual({
      mcpServers: { colloquy: { command: 'node', args: [path, '--read-only'] } },
    });
  });
});

describe('serverCommand()', () => {
  it('starts the bin with node', () => {
    expect(serverCommand('/opt/colloquy/dist/colloquy.js')).toEqual({
      command: 'node',
      args: ['/opt/colloquy/dist/colloquy.js'],
    });
  });

  it.each(['/home/a/.npm/_npx/1f/node_modules/colloquy/dist/colloquy.js', 'C:\\npm\\_npx\\1f\\colloquy.js'])(
    'starts a copy from the cache of npx by npx: %s',
    (bin) => {
      expect(serverCommand(bin)).toEqual({ command: 'npx', args: ['-y', 'colloquy'] });
    },
  );
});
