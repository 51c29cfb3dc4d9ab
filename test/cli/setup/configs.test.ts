import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { ASSISTANTS, type AssistantKind, entryFor, isHere, pathOf } from '../../../src/cli/setup/clients.ts';
import { readConfigFile, writeConfigFile } from '../../../src/cli/setup/config-file.ts';
import { entryAt } from '../../../src/cli/setup/format.ts';
import { carryOut, isRefused, type Plan, planFor, shownChange, tryFor } from '../../../src/cli/setup/plan.ts';
import { carryOutUndo, planUndo } from '../../../src/cli/setup/undo.ts';
import { userFolders } from '../../../src/config.ts';

const SERVER = { command: '/usr/bin/node', args: ['/opt/my tools/colloquy.js', '--read-only'] };
/** Configurations as people have them; golden files hold what becomes of each. */
const BEFORE: Record<string, string> = {
  'claude-code': `{
  "numStartups": 34,
  "projects": { "/home/a/x": { "mcpServers": {}, "allowedTools": [] } },
  "mcpServers": {
    "github": { "type": "stdio", "command": "gh-mcp", "args": [], "env": { "GITHUB_TOKEN": "ghp_secret" } }
  },
  "theme": "dark"
}
`,
  'claude-desktop': `{
    "mcpServers": {
        "files": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/a"]
        }
    },
    "globalShortcut": ""
}`,
  cursor: `{
\t"mcpServers": {
\t\t"svelte": { "url": "https://mcp.svelte.dev/mcp" }
\t}
}
`,
  vscode: `{
  // Servers of my own
  "inputs": [{ "type": "promptString", "id": "token", "password": true }],
  "servers": {
    "memory": {
      "type": "stdio",
      "command": "npx", // from npm
      "args": ["-y", "@modelcontextprotocol/server-memory"],
    }, // keeps a graph
    /* the next one is off:
    "old": { "url": "https://example.com" } */
  },
}
`,
  windsurf: '{"mcpServers":{"zapier":{"serverUrl":"https://actions.zapier.com/mcp/sse"}}}',
  zed: `// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "theme": { "mode": "system", "light": "One Light" },
  "vim_mode": false // really
  /* the end */
}
`,
  'gemini-cli': `{
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "mcpServers": {}
}
`,
  codex: `# Codex
model = "gpt-5"
notify = ["python3", "/home/a/[notify].py"]

[mcp_servers.context7] # docs
command = "npx"
args = ["-y", "@upstash/context7-mcp"]

[mcp_servers.context7.env]
TOKEN = "t"

# where I work
[projects."/home/a/x"]
trust_level = "trusted"
`,
  opencode: `{
  "$schema": "https://opencode.ai/config.json",
  // my servers
  "mcp": {
    "docs": { "type": "local", "command": ["npx", "-y", "docs-mcp"], "environment": { "A": "b" } }
  }
}
`,
};
const BROKEN: Record<string, string> = { json: '{ "mcpServers": { "a": 1 ', toml: '[mcp_servers\nx = ' };

let home = '';
const kindOf = (id: string): AssistantKind => {
  const kind = ASSISTANTS.find((one) => one.id === id);
  if (kind === undefined) throw new Error(`no assistant ${id}`);
  return kind;
};
const places = () => userFolders({}, 'linux', home);
const fileOf = (id: string) => kindOf(id).file(places());

function given(id: string, text: string | Buffer): string {
  const file = fileOf(id);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

async function planned(id: string, server: Parameters<typeof entryFor>[1] = SERVER) {
  const kind = kindOf(id);
  return tryFor(kind, () => planFor(kind, kind.file(places()), entryFor(kind, server)));
}

async function connected(id: string, server: Parameters<typeof entryFor>[1] = SERVER): Promise<Plan> {
  const plan = await planned(id, server);
  if (plan === undefined || isRefused(plan)) throw new Error(`nothing planned: ${plan?.why ?? 'unchanged'}`);
  await carryOut({ ...plan, text: plan.text ?? '' });
  return plan;
}

async function undone(id: string) {
  const kind = kindOf(id);
  const plan = await tryFor(kind, () => planUndo(kind, kind.file(places())));
  if (plan === undefined || isRefused(plan)) return plan;
  return { plan, copy: await carryOutUndo(plan) };
}

const why = (result: object | undefined) => (isRefused(result) ? result.why : undefined);
const backups = (file: string) => readdirSync(dirname(file)).filter((name) => name.includes('.colloquy-'));

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-setup-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describe.each(ASSISTANTS.map(({ id }) => id))('%s', (id) => {
  const before = BEFORE[id] ?? '';

  it('is connected beside what is there, and undone to the byte', async () => {
    const file = given(id, before);
    chmodSync(file, 0o640);
    const plan = await connected(id);
    const after = readFileSync(file, 'utf8');
    const golden = `${shownChange(plan).replaceAll(home, '~')}\n\n=====\n${after}`;
    await expect(golden).toMatchFileSnapshot(`golden/${id}.txt`);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const [copy = ''] = backups(file);
    expect(copy).toMatch(/\.colloquy-backup-\d{8}T\d{9}Z$/);
    expect(readFileSync(join(dirname(file), copy), 'utf8')).toBe(before);
    expect(statSync(join(dirname(file), copy)).mode & 0o777).toBe(0o640);

    expect(await planned(id)).toBeUndefined();
    await undone(id);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(backups(file)).toEqual([]);
    expect(await undone(id)).toBeUndefined();
  });

  it.each([
    ['Windows line ends', (text: string) => text.replaceAll('\n', '\r\n')],
    ['no line end at the end', (text: string) => text.trimEnd()],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
  ])('keeps %s', async (_name, variant) => {
    const text = variant(before);
    const file = given(id, text);
    await connected(id);
    const after = readFileSync(file, 'utf8');
    expect(after.startsWith('\uFEFF')).toBe(text.startsWith('\uFEFF'));
    if (text.includes('\r\n')) expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    await undone(id);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('loses only our entry where the file was changed since', async () => {
    const file = given(id, before);
    await connected(id);
    const kind = kindOf(id);
    const other = { ...entryFor(kind, SERVER), command: 'other', args: [] };
    const changed = kind.format.put(readFileSync(file, 'utf8'), [...kind.servers, 'later'], other);
    writeFileSync(file, changed);
    await undone(id);
    const left = readFileSync(file, 'utf8');
    expect(left).toContain('later');
    expect(left).not.toContain('my tools');
    const value = kind.format.read(left).value;
    const expected = kind.format.read(kind.format.put(before, [...kind.servers, 'later'], other)).value;
    expect(value).toEqual(expected);
    expect(kind.format.read(left).comments).toEqual(kind.format.read(before).comments);
  });

  it('replaces an entry of that name, shows it, and brings it back', async () => {
    const kind = kindOf(id);
    const old = { ...entryFor(kind, { command: 'mine', args: ['--x'] }) };
    const text = kind.format.put(before, [...kind.servers, 'colloquy'], old);
    const file = given(id, text);
    const plan = await connected(id);
    expect(shownChange(plan)).toMatch(/^-.*"?mine"?/m);
    expect(readFileSync(file, 'utf8')).not.toContain('mine');
    await undone(id);
    expect(readFileSync(file, 'utf8')).toBe(text);

    await connected(id);
    writeFileSync(file, kind.format.put(readFileSync(file, 'utf8'), [...kind.servers, 'later'], old));
    await undone(id);
    const value = kind.format.read(readFileSync(file, 'utf8')).value;
    const expected = kind.format.put(text, [...kind.servers, 'later'], old);
    expect(value).toEqual(kind.format.read(expected).value);
  });

  it.each(['', '\n'])('is connected in an empty file %j', async (text) => {
    const file = given(id, text);
    await connected(id);
    expect(readFileSync(file, 'utf8')).toContain('my tools');
    await undone(id);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('gets a file of its own where there is none, which goes again', async () => {
    const file = fileOf(id);
    mkdirSync(dirname(file), { recursive: true });
    const plan = await connected(id);
    expect(shownChange(plan)).toMatch(/^--- \/dev\/null\n/);
    if (id !== 'codex') expect(readFileSync(file, 'utf8')).toContain('    "colloquy": {\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await undone(id);
    expect(existsSync(file)).toBe(false);
  });

  it('is left alone where the file is broken, or is something else', async () => {
    const kind = kindOf(id);
    const isToml = id === 'codex';
    const file = given(id, isToml ? (BROKEN['toml'] ?? '') : (BROKEN['json'] ?? ''));
    const was = readFileSync(file, 'utf8');
    expect(why(await planned(id))).toMatch(isToml ? /is not TOML/ : /ends too early at line 1, column \d+/);
    expect(readFileSync(file, 'utf8')).toBe(was);
    expect(backups(file)).toEqual([]);
    const table = kind.servers[0];
    given(id, isToml ? `${table} = "none"\n` : `{ "${table}": ["a"] }`);
    expect(why(await planned(id))).toMatch(/is no table/);
    given(id, isToml ? `${table} = { a = { command = "b" } }\n` : `{ "${table}": {}, "${table}": {} }`);
    expect(why(await planned(id))).toMatch(isToml ? /cannot change safely|not TOML/ : /more than once/);
    given(id, Buffer.from([0xff, 0xfe, 0x7b, 0x00]));
    expect(why(await planned(id))).toMatch(/UTF-8/);
  });

  it('is found by its folder, and by its file', () => {
    expect(isHere(kindOf(id), places())).toBe(false);
    given(id, before);
    expect(isHere(kindOf(id), places())).toBe(true);
    rmSync(fileOf(id));
    if (id !== 'claude-code') expect(isHere(kindOf(id), places())).toBe(true);
  });
});

describe('comments', () => {
  it('are errors where the assistant reads plain JSON', async () => {
    given('claude-desktop', '{ // mine\n}');
    expect(why(await planned('claude-desktop'))).toMatch(/at line 1, column 3/);
  });

  it.each([
    '{ // first\n}\n',
    '{\n  // only a comment\n}\n',
    '{ "servers": { /* none */ } }',
    '{\n  "servers": {\n    // none yet\n  }\n}',
    '{\n  "servers": {\n    "a": {} /* x */, // y\n  }\n}',
    '{\n  "a": "// no comment", /* "servers": {} */\n  "b": 1 // "servers"\n}',
    '{"a":1,/*c*/}',
  ])('stay in %j', async (text) => {
    const kind = kindOf('vscode');
    const file = given('vscode', text);
    await connected('vscode');
    const after = readFileSync(file, 'utf8');
    expect(kind.format.read(after).comments).toEqual(kind.format.read(text).comments);
    writeFileSync(file, `${after} `);
    await undone('vscode');
    expect(kind.format.read(readFileSync(file, 'utf8')).comments).toEqual(kind.format.read(text).comments);
  });

  it('about the last member stay in its line', async () => {
    const file = given('zed', '{\n  "a": 1 // about a\n}\n');
    await connected('zed');
    expect(readFileSync(file, 'utf8')).toContain('  "a": 1, // about a\n  "context_servers": {\n    "colloquy": {');
  });
});

describe('TOML', () => {
  it.each([
    ['a text of many lines that looks like our table', 'x = """\n[mcp_servers.colloquy]\ncommand = "no"\n"""\n'],
    ['dotted keys', '[mcp_servers]\ncolloquy.command = "x"\ncolloquy.args = []\n'],
  ])('with %s is left alone', async (_name, text) => {
    const file = given('codex', text);
    const plan = await planned('codex');
    // A plan is either refused, because the text cannot be told apart from our table, or leaves the text as it is.
    if (!isRefused(plan)) {
      await connected('codex');
      expect(readFileSync(file, 'utf8')).toContain(text.trim());
    } else expect(plan.why).toMatch(/cannot change safely|not TOML/);
  });

  it('replaces a table with tables below it', async () => {
    const file = given(
      'codex',
      '[mcp_servers.colloquy]\ncommand = "old"\n\n[mcp_servers.colloquy.env]\nA = "b"\n\n# next\n[tui]\nx = 1\n',
    );
    await connected('codex');
    const after = readFileSync(file, 'utf8');
    expect(after).not.toMatch(/old|A = "b"/);
    expect(after).toContain('\n\n# next\n[tui]\nx = 1\n');
  });
});

describe('an earlier entry of this program', () => {
  it.each([
    [
      'cursor',
      `{"mcpServers": {"colloquy": {
  "command": "node", "args": ["/old/colloquy.js", "--profile", "explore"], "timeout": 60000,
  "env": { "COLLOQUY_SECRET_DB": "s3cret", "COLLOQUY_TRASH_DAYS": "30", "HTTPS_PROXY": "p", "COLLOQUY_URL": "https://old" }
}}}`,
    ],
    [
      'codex',
      '[mcp_servers.colloquy]\ncommand = "node"\nargs = ["/old/colloquy.js", "--profile", "explore"]\ntimeout = 60000\n\n' +
        '[mcp_servers.colloquy.env]\nCOLLOQUY_SECRET_DB = "s3cret"\nCOLLOQUY_TRASH_DAYS = "30"\nHTTPS_PROXY = "p"\nCOLLOQUY_URL = "https://old"\n',
    ],
  ])('of %s keeps what its user has added, but for what this run decides', async (id, text) => {
    const file = given(id, text);
    const { kind } = await connected(id);
    const entry = entryAt(kind.format, readFileSync(file, 'utf8'), pathOf(kind)) as Record<string, unknown>;
    expect(entry['args']).toEqual(SERVER.args);
    expect(Number(entry['timeout'])).toBe(60_000);
    expect({ ...(entry['env'] as object) }).toEqual({
      COLLOQUY_SECRET_DB: 's3cret',
      COLLOQUY_TRASH_DAYS: '30',
      HTTPS_PROXY: 'p',
    });
    expect(await planned(id)).toBeUndefined();
    await undone(id);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('of opencode, which names the variables otherwise, keeps them as well', async () => {
    const file = given(
      'opencode',
      '{"mcp":{"colloquy":{"type":"local","command":["node","/old/colloquy.js"],"environment":{"A":"b","COLLOQUY_URL":"u"}}}}',
    );
    const { kind } = await connected('opencode');
    expect(entryAt(kind.format, readFileSync(file, 'utf8'), pathOf(kind))).toMatchObject({
      command: [SERVER.command, ...SERVER.args],
      environment: { A: 'b' },
    });
    expect(readFileSync(file, 'utf8')).not.toContain('COLLOQUY_URL');
  });

  it('that is of another kind is replaced as a whole', async () => {
    const file = given('cursor', '{"mcpServers":{"colloquy":{"url":"https://x/mcp","headers":{"Authorization":"k"}}}}');
    await connected('cursor');
    expect(readFileSync(file, 'utf8')).not.toMatch(/url|headers/);
  });
});

describe('files', () => {
  test('a link is followed, and stays a link', async () => {
    const real = join(home, 'dotfiles-mcp.json');
    writeFileSync(real, '{}\n');
    mkdirSync(dirname(fileOf('cursor')), { recursive: true });
    symlinkSync(real, fileOf('cursor'));
    await connected('cursor');
    expect(realpathSync(fileOf('cursor'))).toBe(real);
    expect(readFileSync(real, 'utf8')).toContain('colloquy');
    expect(backups(real)).toHaveLength(1);
    await undone('cursor');
    expect(readFileSync(real, 'utf8')).toBe('{}\n');
  });

  test('a link to nowhere, and a folder, are left alone', async () => {
    mkdirSync(dirname(fileOf('cursor')), { recursive: true });
    symlinkSync(join(home, 'gone'), fileOf('cursor'));
    expect(why(await planned('cursor'))).toMatch(/a link to a file that is not there/);
    mkdirSync(fileOf('windsurf'), { recursive: true });
    expect(why(await planned('windsurf'))).toMatch(/no ordinary file/);
  });

  test('a file that another program changes meanwhile is left alone', async () => {
    const file = given('cursor', '{}\n');
    const plan = await planned('cursor');
    if (plan === undefined || isRefused(plan)) throw new Error('nothing planned');
    writeFileSync(file, '{"theirs":1}\n');
    const done = await tryFor(plan.kind, async () => ({ copy: await carryOut({ ...plan, text: plan.text ?? '' }) }));
    expect(why(done)).toMatch(/just been changed by another program/);
    expect(readFileSync(file, 'utf8')).toBe('{"theirs":1}\n');
    expect(readdirSync(dirname(file)).filter((name) => /colloquy-[0-9a-f]{12}$/.test(name))).toEqual([]);
  });

  test('a file that appears meanwhile is not overwritten', async () => {
    const path = join(home, 'new.json');
    const file = await readConfigFile(path);
    writeFileSync(path, 'theirs');
    await expect(writeConfigFile(file, 'ours')).rejects.toThrow(/just been changed/);
    expect(readFileSync(path, 'utf8')).toBe('theirs');
  });

  test('an argument that an assistant would take for a variable is refused', async () => {
    given('gemini-cli', '{}');
    const server = { command: 'node', args: ['/a/colloquy.js', '--data-dir', '/a/$HOME'] };
    expect(why(await planned('gemini-cli', server))).toMatch(/holds a "\$"/);
  });
});

describe('secrets', () => {
  test('are not shown, neither ours nor those of others', async () => {
    given('claude-code', BEFORE['claude-code'] ?? '');
    const env = { COLLOQUY_API_KEY: 'cq_sekrit' };
    const plan = await planned('claude-code', { ...SERVER, env });
    if (plan === undefined || isRefused(plan)) throw new Error('nothing planned');
    const shown = shownChange(plan, 'cq_sekrit');
    expect(shown).not.toMatch(/cq_sekrit|ghp_secret/);
    expect(shown).toContain('"COLLOQUY_API_KEY": "••••••"');
    expect(plan.text).toContain('cq_sekrit');
  });
});

describe('an undo without a backup', () => {
  it('takes what looks like ours, and refuses what does not', async () => {
    const file = given('cursor', '{"mcpServers":{"a":{},"colloquy":{"command":"node","args":["/x/colloquy.js"]}}}');
    await undone('cursor');
    expect(readFileSync(file, 'utf8')).toBe('{"mcpServers":{"a":{}}}');
    given('cursor', '{"mcpServers":{"colloquy":{"url":"https://x"}, "a": {}}}');
    expect(why(await undone('cursor'))).toMatch(/no backup beside it/);
  });
});

test('the file of opencode is the one with comments where there are both', async () => {
  const plain = given('opencode', '{}');
  writeFileSync(`${plain}c`, '{}');
  await connected('opencode');
  expect(readFileSync(`${plain}c`, 'utf8')).toContain('colloquy');
  expect(readFileSync(plain, 'utf8')).toBe('{}');
});

describe('userFolders()', () => {
  const at = (id: string, env: Record<string, string>, platform: NodeJS.Platform) =>
    kindOf(id).file(userFolders(env, platform, '/h'));

  it('leads to the files of each system', () => {
    expect(at('claude-desktop', {}, 'darwin')).toBe('/h/Library/Application Support/Claude/claude_desktop_config.json');
    expect(at('claude-desktop', { APPDATA: '/ad' }, 'win32')).toBe('/ad/Claude/claude_desktop_config.json');
    expect(at('claude-desktop', { XDG_CONFIG_HOME: '/xdg' }, 'linux')).toBe('/xdg/Claude/claude_desktop_config.json');
    expect(at('vscode', {}, 'darwin')).toBe('/h/Library/Application Support/Code/User/mcp.json');
    expect(at('vscode', {}, 'linux')).toBe('/h/.config/Code/User/mcp.json');
    expect(at('zed', { XDG_CONFIG_HOME: '/xdg' }, 'darwin')).toBe('/h/.config/zed/settings.json');
    expect(at('zed', { APPDATA: '/ad' }, 'win32')).toBe('/ad/Zed/settings.json');
    expect(at('claude-code', {}, 'linux')).toBe('/h/.claude.json');
    expect(at('claude-code', { CLAUDE_CONFIG_DIR: '/cc' }, 'linux')).toBe('/cc/.claude.json');
    expect(at('codex', { CODEX_HOME: '/cx' }, 'linux')).toBe('/cx/config.toml');
    expect(at('opencode', { XDG_CONFIG_HOME: '/xdg' }, 'win32')).toBe('/xdg/opencode/opencode.json');
    expect(at('gemini-cli', { GEMINI_CLI_HOME: '/g' }, 'linux')).toBe('/g/.gemini/settings.json');
  });
});
