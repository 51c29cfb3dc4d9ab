import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { leaveService } from '../../../src/cli/serve/leave-service.ts';
import { MORE, someOf } from '../../long.ts';
import { BINARY, buildIfStale, dataFolder } from '../../scenarios/binary.ts';
import { legacyStdio, modernStdio, openLegacy, openModern } from '../../scenarios/drivers.ts';
import { type CallResult, type Session, serverEnvironment } from '../../scenarios/session.ts';
import { pairAt } from '../../service/pages/browser.ts';
import { HAS_TERMINALS, outcomeOf, runHere, runProgram, startOnTerminal, type Variables } from '../program.ts';

beforeAll(buildIfStale, 60_000);

let folder: Awaited<ReturnType<typeof dataFolder>>;
beforeAll(async () => {
  folder = await dataFolder();
});
afterAll(async () => {
  await leaveService(folder.path, { startMs: 0 });
  await folder.remove();
});

const run = (args: string[], more: Variables = {}) => runHere(args, { ...serverEnvironment(folder.path), ...more });
const runAlone = (args: string[], input = '') => runProgram(args, serverEnvironment(folder.path), input);

/** Runs the command on a terminal of its own; at each question a person types the next of `typed`. */
async function runOnTerminal(args: string[], ...typed: (string | (() => Promise<string>))[]) {
  const child = startOnTerminal(args, serverEnvironment(folder.path));
  let shown = '';
  child.stdout.on('data', async (chunk) => {
    shown += chunk;
    const prompt = ' to decline, Enter to leave it open: ';
    if (!shown.includes(prompt)) return;
    shown = shown.slice(shown.indexOf(prompt) + prompt.length);
    const next = typed.shift();
    child.stdin.write(`${typeof next === 'function' ? await next() : next}\n`);
  });
  return outcomeOf(child);
}

const PLACE = { workspace: 'commons', collection: 'orders' };

async function pendingDelete(session: Session, place = PLACE): Promise<{ result: CallResult; code: string }> {
  await session.call('create_collection', { workspace: place.workspace, name: place.collection });
  await session.call('add_documents', { ...place, data: [{ _id: 'a' }] });
  const result = await session.call('delete_collection', place);
  const approval = result.structured['approval'] as { code: string };
  expect(result.structured['error']).toMatchObject({ code: 'pending' });
  return { result, code: approval.code };
}

describe('colloquy approve', () => {
  it('says so where nothing waits, and starts no service', async () => {
    expect(await run(['approve'])).toMatchObject({ code: 0, stdout: 'No question waits for you.\n' });
    expect(await run(['approve', 'AAAA'])).toMatchObject({ code: 1, stderr: expect.stringMatching(/no service runs/) });
    expect(existsSync(join(folder.path, 'service.sock'))).toBe(false);
  });

  it('prints the address that pairs a browser on a terminal only, and starts no service without one', async () => {
    const refused = await runAlone(['approve', '--browser'], 'y\n');
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/needs a person at a terminal/),
    });
    expect(existsSync(join(folder.path, 'service.sock'))).toBe(false);
    expect(await run(['approve', '--browser', 'AAAA'])).toMatchObject({ code: 2 });
  });

  it.runIf(HAS_TERMINALS)('pairs a browser, and forgets it', async () => {
    const shown = await runOnTerminal(['approve', '--browser'], '');
    expect(shown.code).toBe(0);
    const url = /http:\/\/127\.0\.0\.1:\d+\/pair\/[\w-]{43}/.exec(shown.stdout)?.[0];
    expect(await pairAt(url)).toMatch(/^colloquy-/);
    expect(await run(['approve', '--forget-browsers'])).toMatchObject({
      code: 0,
      stdout: 'Forgotten: 1 browser. None is paired now.\n',
    });
  });

  it('works only on the machine of the service', async () => {
    const elsewhere = { COLLOQUY_URL: 'https://example.com', COLLOQUY_API_KEY: 'k' };
    expect(await run(['approve'], elsewhere)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/machine of the service/),
    });
  });
});

describe.each(someOf([modernStdio, legacyStdio], 2))('colloquy approve, for a client of $name', MORE, (driver) => {
  let session: Session;
  beforeAll(async () => {
    session = await driver.open({ dataDir: folder.path });
  });
  afterAll(() => session.close());

  it('lists what waits, and takes no answer that is piped in', async () => {
    const { code } = await pendingDelete(session);
    const listed = await run(['approve']);
    expect(listed.stdout).toMatch(new RegExp(`${code}  delete_collection, asked by "[^"]+" at [^,]+, until `));
    expect(listed.stdout).toContain('    Delete a collection: workspace "commons", collection "orders".\n');
    expect(listed.stdout).toMatch(/^ {4}It goes to the trash: an operator can restore it until/m);
    const refused = await runAlone(['approve', code], 'orders\ny\n');
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/needs a person at a terminal/),
    });
    const again = await session.call('delete_collection', PLACE);
    expect(again.structured['error']).toMatchObject({ code: 'pending' });
  });

  it.runIf(HAS_TERMINALS)('takes what a person types on a terminal', async () => {
    const { code } = await pendingDelete(session);
    const answers = async (typed: string, exit: number, says: RegExp) =>
      expect(await runOnTerminal(['approve', code.toLowerCase()], typed)).toMatchObject({
        code: exit,
        stdout: expect.stringMatching(says),
      });
    const error = async () => (await session.call('delete_collection', PLACE)).structured['error'];
    await answers('order', 1, /1 document in it will be gone\.[\s\S]*none of these/);
    await answers('', 1, /The question waits/);
    expect(await error()).toMatchObject({ code: 'pending' });
    await answers('orders', 0, /Approved\. Tell the assistant/);
    const done = await session.call('delete_collection', PLACE);
    expect(done.structured).toMatchObject({ status: 'DELETED' });
  });

  it.runIf(HAS_TERMINALS)('shows a question again that changes while a person reads it', async () => {
    const place = { workspace: 'commons', collection: `growing-${driver.name.replace(/\W+/g, '-')}` };
    const { code } = await pendingDelete(session, place);
    const change = async () => {
      await session.call('add_documents', { ...place, data: [{ _id: 'b' }] });
      const again = await session.call('delete_collection', place);
      expect(again.structured['approval']).toMatchObject({ code });
      return place.collection;
    };
    const { stdout } = await runOnTerminal(['approve', code], change, '');
    expect(stdout).toMatch(
      /1 document in it will be gone[\s\S]*has changed meanwhile[\s\S]*2 documents in it will be gone[\s\S]*The question waits/,
    );
  });

  it.runIf(HAS_TERMINALS)('hands a no on', async () => {
    const { code } = await pendingDelete(session);
    expect(await runOnTerminal(['approve', code], 'no')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Declined/),
    });
    const declined = await session.call('delete_collection', PLACE);
    expect(declined.structured['error']).toMatchObject({ code: 'declined' });
  });
});

describe('a host that starts a process for each call', () => {
  /** Calls a tool in a process of its own; resolves to the whole answer once that process has ended. */
  async function callOnce(name: string, args: object): Promise<string> {
    const child = spawn(process.execPath, [BINARY], { env: serverEnvironment(folder.path) });
    const ended = once(child, 'close');
    const clientInfo = { name: 'a <b>chat</b>', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    for (const message of [
      { id: 1, method: 'initialize', params },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name, arguments: args } },
    ]) {
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    }
    let text = '';
    for await (const chunk of child.stdout) {
      text += chunk;
      if (text.includes('"id":2') && text.endsWith('\n')) child.stdin.end();
    }
    await ended;
    return text;
  }

  it.runIf(HAS_TERMINALS)('gets the answer to a question that an earlier process asked, once', async () => {
    for (const name of ['one-call', 'other-call']) await run(['call', 'create_workspace', JSON.stringify({ name })]);
    const asked = await callOnce('delete_workspace', { workspace: 'one-call' });
    const code = /"code":"((?:[2-9A-Z]{4}-){2}[2-9A-Z]{4})"/.exec(asked)?.[1] ?? '';
    expect((await run(['approve'])).stdout).toContain('asked by "a <b>chat</b>"');
    expect(await callOnce('delete_workspace', { workspace: 'one-call' })).toContain(code);
    expect(await runOnTerminal(['approve', code], 'y')).toMatchObject({ code: 0 });
    expect(await callOnce('delete_workspace', { workspace: 'other-call' })).toContain('Nothing was changed');
    expect(await callOnce('delete_workspace', { workspace: 'one-call' })).not.toContain('Nothing was changed');
    await run(['call', 'create_workspace', JSON.stringify({ name: 'one-call' })]);
    expect(await callOnce('delete_workspace', { workspace: 'one-call' })).toContain('Nothing was changed');
  });
});

const unguarded = () => ({
  command: process.execPath,
  args: [BINARY, '--guard=off'],
  env: serverEnvironment(folder.path),
  stderr: 'pipe' as const,
});

describe.each([
  ['2025-11-25', () => openLegacy(new LegacyStdio(unguarded()), undefined)],
  ['2026-07-28', () => openModern(new ModernStdio(unguarded()), undefined)],
])('--guard=off in era %s', (_, open) => {
  it('deletes without a question, and promises none', async () => {
    const session = await open();
    expect(session.instructions()).toContain('Deletes run without a question');
    expect(JSON.stringify(await session.tools())).not.toContain('human is asked');
    await session.call('create_collection', { workspace: 'commons', name: 'orders' });
    expect((await session.call('delete_collection', PLACE)).structured).toMatchObject({ status: 'DELETED' });
    await session.close();
  });
});

describe('--guard=off', () => {
  it('is in the log from the start', async () => {
    const [off, on] = await Promise.all([runAlone(['--guard=off']), runAlone([])]);
    expect(off.stderr).toContain('deletes run without asking a human');
    expect(on.stderr).not.toContain('deletes run');
  });
});
