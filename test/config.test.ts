import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../src/command-names.ts';
import { type Invocation, readInvocation } from '../src/commands.ts';
import { secretVariables, serviceEnvironment, VERSION } from '../src/config.ts';
import { nativeThreads } from '../src/native-threads.ts';
import { SETTINGS } from '../src/settings.ts';

type Env = Record<string, string | undefined>;

function configOf(argv: string[], env: Env = {}) {
  const invocation = readInvocation(argv, env);
  if (invocation.command === 'exit') throw new Error(invocation.stderr);
  return invocation.config;
}

function refusal(argv: string[], env: Env = {}): string {
  const invocation = readInvocation(argv, env);
  expect(invocation).toMatchObject({ command: 'exit', exitCode: 2, stdout: '' });
  return (invocation as Invocation & { command: 'exit' }).stderr;
}

describe('readInvocation()', () => {
  test.each([
    [[], { command: 'stdio' }],
    [['serve'], { command: 'serve', role: { local: false } }],
    [['serve', '--local'], { command: 'serve', role: { local: true } }],
    [['demo'], { command: 'demo' }],
    [['doctor'], { command: 'doctor', json: false }],
    [['doctor', '--json'], { command: 'doctor', json: true }],
    [['call', 'run_query'], { command: 'call', tool: 'run_query', input: undefined }],
    [['call', 'run_query', '{"a":1}'], { command: 'call', tool: 'run_query', input: '{"a":1}' }],
    [['call', 'run_query', '-1'], { command: 'call', input: '-1' }],
  ])('%j is %j', (argv, expected) => {
    expect(readInvocation(argv, {})).toMatchObject(expected);
  });

  test('has defaults', () => {
    const config = configOf([]);
    expect(config).toMatchObject({ idleSecs: 600, requestTimeoutMs: 150_000, host: '127.0.0.1' });
    expect([config.url, config.apiKey, config.port]).toEqual([undefined, undefined, undefined]);
    expect(config.dataDir).toMatch(/colloquy/);
  });

  test('reads what of the audit log is wanted', () => {
    const filter = { tool: undefined, sinceMs: undefined, failed: false, json: false, lines: 50 };
    expect(readInvocation(['audit'], {})).toMatchObject({ command: 'audit', filter });
    const argv = ['audit', '--tool', 'run_query', '--since', '2026-01-31T08:00Z', '--failed', '--json', '--lines', '0'];
    expect(readInvocation(argv, {})).toMatchObject({
      filter: { tool: 'run_query', sinceMs: Date.UTC(2026, 0, 31, 8), failed: true, json: true, lines: 0 },
    });
    const before = Date.now() - 1_800_000;
    const { filter: since } = readInvocation(['audit', '--since', '30m'], {}) as Invocation & { command: 'audit' };
    expect(since.sinceMs).toBeGreaterThanOrEqual(before);
    expect(since.sinceMs).toBeLessThanOrEqual(Date.now() - 1_799_000);
    expect(refusal(['audit', '--since', 'yesterday'])).toContain('--since is "yesterday"');
    expect(refusal(['audit', '--lines', '-1'])).toContain('--lines');
    expect(configOf([], {}).audit).toBe(true);
    expect(configOf(['--audit', 'off'], {}).audit).toBe(false);
  });

  test('lets secrets of the operator be, and refuses what only begins like them', () => {
    const env = { COLLOQUY_SECRET_A: 'a', COLLOQUY_SECRET_DIR: '/s', COLLOQUY_API_KEY: 'k', HOME: '/h' };
    expect(configOf([], { COLLOQUY_SECRET_A: 'a', COLLOQUY_SECRET_DIR: '/s' }).secretDir).toBe('/s');
    expect([...secretVariables(env)]).toEqual([['COLLOQUY_SECRET_A', 'a']]);
    expect(refusal([], { COLLOQUY_SECRETS: 'x' })).toContain('COLLOQUY_SECRETS');
    expect(serviceEnvironment(configOf([], {}), env)).not.toHaveProperty('COLLOQUY_SECRET_A');
  });

  test('takes a flag before a variable before the default', () => {
    const env = { COLLOQUY_IDLE_SECS: '5', COLLOQUY_LOG_LEVEL: 'debug' };
    expect(configOf(['--idle-secs', '7'], env)).toMatchObject({ idleSecs: 7, logLevel: 'debug' });
    expect(configOf(['call', 'x', '--idle-secs', '7'], env)).toMatchObject({ idleSecs: 7 });
    expect(configOf(['--idle-secs', '7', 'call', 'x'], env)).toMatchObject({ idleSecs: 7 });
  });

  test('takes an empty variable for one that is not set', () => {
    const config = configOf([], { COLLOQUY_IDLE_SECS: '', COLLOQUY_URL: ' ', COLLOQUY_API_KEY: '' });
    expect([config.idleSecs, config.url]).toEqual([600, undefined]);
  });

  test.each([
    ['~', homedir()],
    ['~/data', join(homedir(), 'data')],
    ['relative/x', resolve('relative/x')],
    ['/a/~/b', '/a/~/b'],
  ])('makes %s an absolute folder', (text, path) => {
    expect(configOf([], { COLLOQUY_DATA_DIR: text }).dataDir).toBe(path);
  });

  test('takes a remote service with its key', () => {
    const env = { COLLOQUY_URL: 'https://api.example.com', COLLOQUY_API_KEY: 'k' };
    expect(configOf([], env)).toMatchObject({ url: 'https://api.example.com', apiKey: 'k' });
    expect(configOf(['--url', 'http://localhost:1'], { COLLOQUY_API_KEY: 'k' }).url).toBe('http://localhost:1');
  });

  test.each([
    ['127.0.0.1', ['127.0.0.1']],
    ['10.0.0.0/8, 2001:db8::/32', ['10.0.0.0/8', '2001:db8::/32']],
    ['::1 127.0.0.1', ['::1', '127.0.0.1']],
  ])('trusts the proxies %s', (text, proxies) => {
    expect(configOf(['serve', '--trust-proxy', text]).trustProxy).toEqual(proxies);
    expect(configOf(['serve'], { COLLOQUY_TRUST_PROXY: text }).trustProxy).toEqual(proxies);
  });

  test('trusts no proxy by itself', () => {
    expect(configOf(['serve']).trustProxy).toBeUndefined();
  });

  test.each([
    [['--tls-cert', '/c.pem', '--tls-key', '/k.pem'], { tlsCert: '/c.pem', tlsKey: '/k.pem' }],
    [['--behind-tls-proxy'], { behindTlsProxy: true }],
  ])('lets others reach it with %j', (flags, expected) => {
    for (const host of ['0.0.0.0', '::', '2001:db8::1', 'db.example.com']) {
      expect(configOf(['serve', '--host', host, ...flags])).toMatchObject({ host, ...expected });
    }
  });

  test('takes a lake whose password is in the environment, once', () => {
    const flags = ['serve', '--lake-data', 's3://bucket/prefix'];
    const url = 'postgres://me:secret@host/db';
    expect(configOf(flags, { COLLOQUY_LAKE: url })).toMatchObject({ lake: url, lakeData: 's3://bucket/prefix' });
    const open = { COLLOQUY_LAKE: 'postgres://me@host/db', COLLOQUY_LAKE_PASSWORD: 'secret' };
    expect(configOf(flags, open).lakePassword).toBe('secret');
    expect(() => configOf(flags, { ...open, COLLOQUY_LAKE: url })).toThrow(/more than once/);
    expect(() => configOf([...flags, '--lake-password-file', '/f'], open)).toThrow(/more than once/);
  });

  test('offers MCP to this machine, unless told otherwise', () => {
    const config = configOf(['serve']);
    expect([config.mcp, config.allowedHosts, config.allowedOrigins]).toEqual([true, undefined, undefined]);
    expect(configOf(['serve'], { COLLOQUY_MCP: 'off' }).mcp).toBe(false);
    const names = {
      COLLOQUY_ALLOWED_HOSTS: 'a.example, [::2]',
      COLLOQUY_ALLOWED_ORIGINS: 'b.example,moz-extension://*',
    };
    expect(configOf(['serve'], names)).toMatchObject({
      allowedHosts: ['a.example', '[::2]'],
      allowedOrigins: ['b.example', 'moz-extension://*'],
    });
  });

  test('prints help and version, and succeeds', () => {
    const help = readInvocation(['--help'], {});
    expect(help).toMatchObject({ command: 'exit', exitCode: 0, stderr: '' });
    for (const word of ['serve', 'call', 'demo', 'COLLOQUY_DATA_DIR', 'COLLOQUY_API_KEY']) {
      expect((help as { stdout: string }).stdout).toContain(word);
    }
    expect((help as { stdout: string }).stdout).not.toContain('--local');
    expect(readInvocation(['--version'], {})).toMatchObject({ exitCode: 0, stdout: `${VERSION}\n` });
    expect(readInvocation(['serve', '--help'], {})).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('--port'),
    });
  });

  test('takes the short forms, and help as a word', () => {
    const text = (...argv: string[]) => (readInvocation(argv, {}) as { stdout: string }).stdout;
    for (const argv of [['-h'], ['help']]) expect(text(...argv)).toBe(text('--help'));
    for (const argv of [
      ['serve', '-h'],
      ['help', 'serve'],
    ])
      expect(text(...argv)).toBe(text('serve', '--help'));
    expect(text('-v')).toBe(`${VERSION}\n`);
  });

  test('doctor takes every setting that an assistant is started with', () => {
    const settings = Object.values(SETTINGS).filter(({ commands }) =>
      (commands as readonly string[]).includes('stdio'),
    );
    for (const { commands } of settings) expect(commands).toContain('doctor');
  });

  test('explains itself even where the environment is wrong', () => {
    expect(readInvocation(['--help'], { COLLOQUY_URL: 'nonsense' })).toMatchObject({ exitCode: 0 });
  });

  test.each([
    [['--nonsense'], /unknown option '--nonsense'/],
    [['--data-dri', 'x'], /Did you mean --data-dir/],
    [['serve', '--url', 'x'], /unknown option '--url'/],
    [['--local'], /unknown option/],
    [['--port', '1'], /unknown option '--port'\n--port belongs to serve: colloquy serve --port …\n/],
    [['call', '--undo'], /\n--undo belongs to setup: colloquy setup --undo …\n/],
    [['--data-dir'], /argument missing/],
    [['--data-dir', ''], /--data-dir is "": expected a folder/],
    [['sreve'], /there is no command "sreve". Did you mean "serve"\?/],
    [['zzzzzzzz'], /The commands are serve, setup, call, stop, demo/],
    [['serve', 'extra'], /too many arguments/],
    [['demo', 'extra'], /too many arguments/],
    [['call', 'a', '{}', 'extra'], /too many arguments/],
    [['--url', 'https://x.example', 'serve'], /--url means nothing to "serve"/],
    [['serve', '--port', '70000'], /--port is "70000": expected a whole number from 0 to 65535/],
    [['serve', '--port', '80.5'], /--port/],
    [['serve', '--port', '-1'], /--port/],
    [['serve', '--host', '0.0.0.0'], /--host is "0.0.0.0", .*--tls-cert and --tls-key.*--behind-tls-proxy/],
    [['serve', '--host', '::'], /--behind-tls-proxy/],
    [['serve', '--host', 'example.com'], /--tls-cert/],
    [['serve', '--host', '127.0.0.1.example.com'], /--tls-cert/],
    [['serve', '--host', 'http://x'], /--host is "http:\/\/x": expected a host name/],
    [['serve', '--tls-cert', 'a.pem'], /--tls-cert is set, but --tls-key is not/],
    [['serve', '--tls-key', 'a.pem'], /--tls-key is set, but --tls-cert is not/],
    [['serve', '--behind-tls-proxy=yes'], /--behind-tls-proxy/],
    [['serve', '--mcp', 'maybe'], /--mcp is "maybe": expected true or false/],
    [['serve', '--allowed-hosts', 'https://x.example'], /--allowed-hosts .*without port/],
    [['serve', '--allowed-hosts', 'x.example:80'], /--allowed-hosts/],
    [['serve', '--allowed-origins', 'https://x.example'], /--allowed-origins .*without scheme/],
    [['serve', '--allowed-origins', 'https://x.example/*'], /--allowed-origins/],
    [['serve', '--threads', '0'], /--threads/],
    [['serve', '--trust-proxy', 'proxy.example.com'], /--trust-proxy is "proxy\.example\.com": expected IP addresses/],
    [['serve', '--trust-proxy', '10.0.0.1,10.0.0.0/33'], /--trust-proxy/],
    [['serve', '--trust-proxy', 'true'], /--trust-proxy/],
    [['serve', '--trust-proxy', ','], /--trust-proxy/],
    [['--trust-proxy', '10.0.0.1'], /unknown option/],
    [['serve', '--lake', 'postgres://me@host/db'], /--lake is set, but --lake-data is not/],
    [['serve', '--lake-data', 's3://bucket/prefix'], /--lake-data is set, but COLLOQUY_LAKE is not/],
    [
      ['serve', '--lake', 'postgres://me:secret@host/db', '--lake-data', '/data'],
      /^(?!.*secret).*every user of this machine can read off the command line/s,
    ],
    [['call', '--lake', 'postgres://me@host/db'], /unknown option/],
    [['serve', '--memory-mb', '1e9'], /--memory-mb/],
    [['--log-level', 'loud'], /--log-level is "loud": expected one of fatal, error/],
  ])('refuses the command line %j', (argv, why) => {
    expect(refusal(argv)).toMatch(why);
    expect(refusal(argv)).toMatch(/colloquy --help/);
  });

  test.each([
    [{ COLLOQUY_IDLE_SECS: 'soon' }, /COLLOQUY_IDLE_SECS is "soon": expected a whole number/],
    [{ COLLOQUY_IDLE_SECS: '-1' }, /COLLOQUY_IDLE_SECS/],
    [{ COLLOQUY_PORT: '8e3' }, /COLLOQUY_PORT/],
    [{ COLLOQUY_REQUEST_TIMEOUT_MS: '0' }, /COLLOQUY_REQUEST_TIMEOUT_MS/],
    [{ COLLOQUY_FOO: 'x' }, /no environment variable COLLOQUY_FOO\. The variables are COLLOQUY_DATA_DIR, /],
    [{ COLLOQUY_DATADIR: '/x' }, /no environment variable COLLOQUY_DATADIR\. Did you mean COLLOQUY_DATA_DIR\?/],
    [{ COLLOQUY_ZZZZZZZZZZZZZZZZZZ: '1' }, /there is no environment variable/],
    [{ COLLOQUY_URL: 'https://x.example' }, /COLLOQUY_URL is set, but COLLOQUY_API_KEY is not/],
    [{ COLLOQUY_API_KEY: 'k' }, /COLLOQUY_API_KEY is set, but COLLOQUY_URL is not/],
    [{ COLLOQUY_URL: 'http://x.example', COLLOQUY_API_KEY: 'k' }, /COLLOQUY_URL: .*plain http/],
    [{ COLLOQUY_URL: 'x.example', COLLOQUY_API_KEY: 'k' }, /not a URL/],
    [{ COLLOQUY_URL: 'https://u:hunter2@x.example', COLLOQUY_API_KEY: 'k' }, /credentials/],
    [{ COLLOQUY_URL: 'https://x.example', COLLOQUY_API_KEY: 'hunter2 x' }, /COLLOQUY_API_KEY is unusable/],
  ])('refuses the environment %j', (env, why) => {
    const text = refusal([], env);
    expect(text).toMatch(why);
    expect(text).not.toContain('hunter2');
  });

  test('names the flag, not the variable, when the flag is wrong', () => {
    expect(refusal(['--url', 'nonsense'], { COLLOQUY_API_KEY: 'k' })).toMatch(/--url: /);
  });
});

describe('--api-key-file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-config-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const keyFile = (text: string) => {
    const file = join(folder, 'remote.key');
    writeFileSync(file, text);
    return file;
  };
  const url = ['--url', 'https://x.example'];

  test('is where the key is read from', () => {
    const file = keyFile('the-key\n');
    expect(readInvocation([...url, '--api-key-file', file], {})).toMatchObject({ config: { apiKey: 'the-key' } });
    expect(readInvocation(url, { COLLOQUY_API_KEY_FILE: file })).toMatchObject({ config: { apiKey: 'the-key' } });
  });

  test.each([
    ['', /it is empty/],
    ['hunter2 and more', /does not hold an API key alone/],
  ])('holding %j is refused, without what is in it', (text, why) => {
    const refused = refusal([...url, '--api-key-file', keyFile(text)]);
    expect(refused).toMatch(why);
    expect(refused).not.toContain('hunter2');
  });

  test('is refused where it is not there, and without an address', () => {
    expect(refusal([...url, '--api-key-file', join(folder, 'none')])).toMatch(/cannot be read \(ENOENT\)/);
    expect(refusal(['--api-key-file', keyFile('k')])).toMatch(/--api-key-file is set, but COLLOQUY_URL is not/);
  });
});

describe('setup', () => {
  const request = (...argv: string[]) => readInvocation(['setup', ...argv], {});

  test('reads unless it is told to write', () => {
    expect(request()).toMatchObject({ clients: [], yes: false, print: false, undo: false, write: undefined });
    expect(request('--read-only')).toMatchObject({ write: false });
    expect(request('--write', '--client', 'zed, cursor')).toMatchObject({ write: true, clients: ['zed', 'cursor'] });
  });

  test('refuses what excludes each other', () => {
    expect(refusal(['setup', '--write', '--read-only'])).toMatch(/exclude each other/);
    expect(refusal(['setup', '--print', '--yes'])).toMatch(/--print writes nothing/);
  });
});

describe('SETTINGS', () => {
  test('each has a meaning, a command, and no flag where it is secret', () => {
    for (const [name, setting] of Object.entries(SETTINGS)) {
      expect(setting.meaning, name).not.toBe('');
      expect(
        setting.commands.every((command) => COMMANDS.includes(command)),
        name,
      ).toBe(true);
      expect('secret' in setting && 'flag' in setting, name).toBe(false);
    }
  });
});

describe('serviceEnvironment()', () => {
  test('passes on its own settings and what a process needs, and no secrets', () => {
    const env = {
      PATH: '/bin',
      HOME: '/home/x',
      AWS_SECRET_ACCESS_KEY: 's',
      COLLOQUY_URL: 'https://x.example',
      COLLOQUY_API_KEY: 'k',
      COLLOQUY_THREADS: '2',
    };
    const passed = serviceEnvironment(configOf(['--idle-secs', '5', '--data-dir', '/d'], env), env);
    expect(passed).toMatchObject({
      PATH: '/bin',
      HOME: '/home/x',
      COLLOQUY_IDLE_SECS: '5',
      COLLOQUY_DATA_DIR: '/d',
      COLLOQUY_THREADS: '2',
    });
    for (const name of ['AWS_SECRET_ACCESS_KEY', 'COLLOQUY_URL', 'COLLOQUY_API_KEY', 'COLLOQUY_PORT']) {
      expect(passed).not.toHaveProperty(name);
    }
    expect(configOf(['serve', '--local'], passed)).toMatchObject({ idleSecs: 5, threads: 2, dataDir: '/d' });
  });

  test('does not hand a port or socket of this process to another', () => {
    const env = { COLLOQUY_PORT: '8080', COLLOQUY_SOCKET: '/x.sock' };
    expect(Object.keys(serviceEnvironment(configOf([], env), env))).not.toContain('COLLOQUY_PORT');
    expect(Object.keys(serviceEnvironment(configOf([], env), env))).not.toContain('COLLOQUY_SOCKET');
  });
});

describe('nativeThreads()', () => {
  test('is what the variable says, and more for a service than Node.js has by itself', () => {
    expect(nativeThreads({})).toBe(4);
    expect(nativeThreads({ UV_THREADPOOL_SIZE: '7' })).toBe(7);
    expect(nativeThreads({ UV_THREADPOOL_SIZE: 'many' })).toBe(4);
    expect(nativeThreads(serviceEnvironment(configOf([]), {}))).toBeGreaterThan(4);
    expect(nativeThreads(serviceEnvironment(configOf([]), { UV_THREADPOOL_SIZE: '9' }))).toBe(9);
  });
});

describe('the settings of what is offered', () => {
  test('toolsets are read with what of them is wanted', () => {
    expect(configOf(['--toolsets', 'query, collections:read'])).toMatchObject({
      toolsets: [
        { toolset: 'query', readOnly: false },
        { toolset: 'collections', readOnly: true },
      ],
    });
    expect(configOf([], { COLLOQUY_TOOLSETS: 'api-keys' }).toolsets).toEqual([
      { toolset: 'api-keys', readOnly: false },
    ]);
    expect(configOf([]).toolsets).toBeUndefined();
  });

  test.each([
    ['querry', 'there is no toolset "querry" (did you mean "query"?)'],
    ['lambda:read', 'there is no toolset "lambda" (did you mean "lambdas"?)'],
    ['query:write', 'there is no toolset "query:write"'],
    ['explore', 'that is a profile'],
    ['zzzzzz', 'the toolsets are query, documents'],
    [',', 'expected toolsets: query'],
  ])('toolsets %j are refused', (text, why) => {
    expect(refusal(['--toolsets', text])).toContain(why);
    expect(refusal([], { COLLOQUY_TOOLSETS: text })).toContain(why);
  });

  test('a profile is one of three', () => {
    expect(configOf(['serve', '--profile', 'explore']).profile).toBe('explore');
    expect(refusal(['--profile', 'root'])).toContain('expected one of explore, author, admin');
  });

  test('read-only is a flag without a value, and a word in the environment', () => {
    expect(configOf([]).readOnly).toBe(false);
    expect(configOf(['--read-only']).readOnly).toBe(true);
    expect(configOf(['--read-only', 'call']).readOnly).toBe(true);
    expect(configOf([], { COLLOQUY_READ_ONLY: '1' }).readOnly).toBe(true);
    expect(configOf([], { COLLOQUY_READ_ONLY: 'False' }).readOnly).toBe(false);
    expect(refusal([], { COLLOQUY_READ_ONLY: 'maybe' })).toContain('expected true or false');
  });

  test('the local service does not take them over', () => {
    const config = configOf(['--read-only', '--profile', 'explore', '--toolsets', 'documents']);
    const passed = Object.keys(serviceEnvironment(config, {}));
    expect(passed.filter((name) => /READ_ONLY|PROFILE|TOOLSETS/.test(name))).toEqual([]);
  });
});
