import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BINARY, buildIfStale, dataFolder } from '../scenarios/binary.ts';
import { openLegacy, openModern } from '../scenarios/drivers.ts';
import { startServe } from '../scenarios/served.ts';
import { type Session, serverEnvironment } from '../scenarios/session.ts';
import { runProgram } from './program.ts';

type Era = '2025-11-25' | '2026-07-28';
const ERAS: readonly Era[] = ['2025-11-25', '2026-07-28'];
const FLAG = ['--lambda-tools', 'production'];
const TOOL = 'commons_up_to';

let folder: Awaited<ReturnType<typeof dataFolder>>;
const sessions: Session[] = [];

async function openStdio(era: Era, args: readonly string[], env: Record<string, string> = {}): Promise<Session> {
  const command = {
    command: process.execPath,
    args: [BINARY, ...args],
    env: { ...serverEnvironment(folder.path), COLLOQUY_LOG_LEVEL: 'error', ...env },
    stderr: 'inherit' as const,
  };
  const session =
    era === '2025-11-25'
      ? await openLegacy(new LegacyStdio(command), undefined)
      : await openModern(new ModernStdio(command), undefined);
  sessions.push(session);
  return session;
}

const namesOf = async (session: Session) => (await session.tools()).map(({ name }) => name);

beforeAll(async () => {
  buildIfStale();
  folder = await dataFolder();
  const author = await openStdio('2026-07-28', []);
  expect(await namesOf(author)).not.toContain(TOOL);
  const lambda = { workspace: 'commons', queryLambda: 'up_to' };
  const made = await author.call('create_lambda', {
    workspace: 'commons',
    name: 'up_to',
    description: 'Numbers below n',
    sql: {
      query: 'SELECT n FROM range(:n) t(n) ORDER BY n',
      default_parameters: [{ name: 'n', type: 'int', value: 3 }],
    },
  });
  const { version } = made.structured;
  await author.call('tag_lambda_version', { ...lambda, tag_name: 'production', version });
  await author.close();
}, 90_000);
afterEach(async () => {
  await Promise.allSettled(sessions.splice(0).map((session) => session.close()));
});
afterAll(() => folder.remove());

async function judge(session: Session): Promise<void> {
  const names = await namesOf(session);
  expect(names.at(-1)).toBe(TOOL);
  expect(names).not.toContain('create_lambda');
  expect(session.instructions()).toContain('1 tool named workspace_lambda is a stored query tagged production');
  expect((await session.call(TOOL)).structured).toMatchObject({ columns: ['n'], rows: [[0], [1], [2]] });
  expect((await session.call(TOOL, { n: 1 })).structured).toMatchObject({ rows: [[0]] });
  expect((await session.call(TOOL, { n: 'many' })).isError).toBe(true);
}

describe.each(ERAS)('--lambda-tools, in era %s', (era) => {
  it('over stdio offers the lambdas with the tag, beside a profile that reads', async () => {
    await judge(await openStdio(era, [...FLAG, '--profile', 'explore', '--read-only']));
  });

  it('by its environment variable, with a tag that no lambda has, offers what is offered without', async () => {
    const session = await openStdio(era, [], { COLLOQUY_LAMBDA_TOOLS: 'nothing' });
    const bare = await openStdio(era, []);
    expect(await session.tools()).toEqual(await bare.tools());
    expect(session.instructions()).toBe(bare.instructions());
  });

  it('starts without them where the service cannot be reached', async () => {
    const away = { COLLOQUY_URL: 'http://127.0.0.1:9', COLLOQUY_API_KEY: 'k' };
    const session = await openStdio(era, FLAG, away);
    expect(await namesOf(session)).toContain('run_query');
    expect(await namesOf(session)).not.toContain(TOOL);
  }, 20_000);
});

it('over HTTP offers them to every key, and doctor says which', async () => {
  const served = await startServe(folder.path, [...FLAG, '--read-only']);
  try {
    const options = { requestInit: { headers: { authorization: `Bearer ${served.key}` } } };
    for (const era of ERAS) {
      const session =
        era === '2025-11-25'
          ? await openLegacy(new LegacyHttp(served.url, options), undefined)
          : await openModern(new ModernHttp(served.url, options), undefined);
      sessions.push(session);
      await judge(session);
    }
    const env = serverEnvironment(folder.path);
    const { stdout } = await runProgram(['doctor', ...FLAG], env);
    expect(stdout).toMatch(
      /ok {4}lambdas +1 of 1 lambda tagged "production" is offered as a tool, in about \d+ tokens: commons_up_to/,
    );
    const none = await runProgram(['doctor', '--lambda-tools', 'nothing'], env);
    expect(none.stdout).toContain('no lambda has the tag "nothing", so none is a tool');
    expect((await runProgram(['doctor'], env)).stdout).not.toContain('lambdas');
  } finally {
    await served.stop();
  }
}, 60_000);

it('says on standard error what it offers, and that the service cannot be reached', async () => {
  const env = { ...serverEnvironment(folder.path), COLLOQUY_LOG_LEVEL: 'info' };
  const { stderr, stdout } = await runProgram(FLAG, env);
  expect(stderr).toContain('1 of 1 lambda tagged \\"production\\" is offered as a tool');
  expect(stdout).toBe('');
  const away = await runProgram([...FLAG, '--url', 'http://127.0.0.1:9'], { ...env, COLLOQUY_API_KEY: 'k' });
  expect(away.stderr).toContain('cannot be listed, so none is a tool');
});
