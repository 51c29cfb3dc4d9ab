import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../../src/http/client.ts';
import { callTool } from '../../../src/mcp/call.ts';
import { startTestService, type TestService } from '../../service/harness.ts';
import { pairAt } from '../../service/pages/browser.ts';
import { agree, askingAssistant, type FormParams, PEERS, type Peer, type RawResult } from '../peers.ts';

/** A yes covers what the question named, and nothing else: what was added since is asked about again, or refused. */

const AT = { workspace: 'commons', collection: 'orders' };
let service: TestService;
let client: Client;
let cookie: string;

beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  cookie = await pairAt((await client.pairBrowser({})).url);
});
afterAll(async () => {
  await client.close();
  await service.remove();
});
beforeEach(async () => {
  await client.deleteCollection(AT).catch(() => undefined);
  await client.createCollection({ workspace: AT.workspace, name: AT.collection });
  await add('a');
});

const add = (...ids: string[]) => client.addDocuments({ ...AT, data: ids.map((_id) => ({ _id })) });
const remove = (...ids: string[]) => client.deleteDocuments({ ...AT, data: ids.map((_id) => ({ _id })) });
const isThere = () =>
  client.getCollection(AT).then(
    () => true,
    () => false,
  );

async function peerOf(era: string, human?: (params: FormParams) => Promise<ReturnType<typeof agree>>): Promise<Peer> {
  const assistant = askingAssistant(() => client);
  const open = PEERS[era];
  if (open === undefined) throw new Error(era);
  return open(assistant, { ...(human && { human }), capable: human !== undefined });
}

/** The answer, and the questions that were asked before it; `meanwhile` runs while a question is open. */
async function call(era: string, meanwhile: ((n: number) => Promise<unknown>)[], name: string, args: object) {
  const asked: string[] = [];
  const peer = await peerOf(era, async (params) => {
    asked.push(params.message);
    await meanwhile[asked.length - 1]?.(asked.length);
    return agree(params);
  });
  const result = await peer.call({ name, arguments: args });
  await peer.close();
  return { result, asked, error: result.structuredContent?.['error'] as { code: string; message: string } | undefined };
}

describe.each(Object.keys(PEERS))('a human who is asked in era %s', (era) => {
  it('is asked once more where documents came, and the yes to that counts', async () => {
    const { result, asked } = await call(era, [() => add('b', 'c')], 'delete_collection', AT);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toContain('1 document in it will be gone.');
    expect(asked[1]).toContain('You are asked again: 2 documents came since you were asked.');
    expect(asked[1]).toContain('3 documents in it will be gone.');
    expect(result.isError).toBeUndefined();
    expect(await isThere()).toBe(false);
  });

  it('is asked a second time at most, even if writes go on', async () => {
    const { result, asked, error } = await call(era, [() => add('b'), () => add('c')], 'delete_collection', AT);
    expect(asked).toHaveLength(2);
    expect(error).toMatchObject({ code: 'grown', message: expect.stringContaining('1 document came') });
    expect(result.structuredContent?.['next']).toContain('keeps writing');
    expect(await isThere()).toBe(true);
  });

  it('is not asked again where less goes', async () => {
    await add('b', 'c');
    const { asked } = await call(era, [() => remove('b')], 'delete_collection', AT);
    expect(asked).toHaveLength(1);
    expect(await isThere()).toBe(false);
  });

  it('has to type the name once a collection that was empty has documents', async () => {
    await remove('a');
    const { asked } = await call(era, [() => add('b')], 'delete_collection', AT);
    expect(asked).toHaveLength(2);
    expect(await isThere()).toBe(false);
  });

  it('agrees to named documents as they were: what was replaced or came meanwhile stays, whoever is asked again', async () => {
    await add('c');
    const data = ['a', 'b', 'c', 'c'].map((_id) => ({ _id }));
    const replace = () => client.addDocuments({ ...AT, data: [{ _id: 'a', v: 'precious' }, { _id: 'b' }] });
    const { result, asked } = await call(era, [replace], 'delete_documents', { ...AT, data });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(
      'Of 3 documents named ("a", "b", "c"), 2 exist: 2 documents of the 2 it has will be gone.',
    );
    expect(result.structuredContent).toMatchObject({
      counts: { DELETED: 1, NOT_THERE: 1 },
      left: 1,
      left_because: 'changed or gone since the human was asked',
      done: expect.stringContaining(': 1 document, of 2 documents that were counted.'),
    });
    const [entry] = await client.listTrash({});
    expect(entry).toMatchObject({ documents: 1, ids: ['c'] });
    const { results } = await client.runQuery({ sql: { query: 'SELECT _id FROM commons.orders ORDER BY _id' } });
    expect(results).toEqual([{ _id: 'a' }, { _id: 'b' }]);
    const change = () => client.addDocuments({ ...AT, data: [{ _id: 'b', v: 1 }] });
    const none = await call(era, [change], 'delete_documents', { ...AT, data: [{ _id: 'b' }] });
    expect(none.result.structuredContent?.['done']).toMatch(/0 documents, of 1 document .* Nothing was deleted\.$/);
  });

  it('is asked once more where documents of a collection were replaced, and as many are there', async () => {
    const replace = () => client.addDocuments({ ...AT, data: [{ _id: 'a', v: 'precious' }] });
    const { asked } = await call(era, [replace], 'delete_collection', AT);
    expect(asked).toHaveLength(2);
    expect(asked[1]).toContain('You are asked again: its documents were changed since you were asked.');
  });

  it('is asked about a tag that came to a lambda', async () => {
    const place = { workspace: 'commons', queryLambda: 'daily' };
    const made = await client.createLambda({ workspace: 'commons', name: 'daily', sql: { query: 'SELECT 1' } });
    const tag = () => client.tagLambdaVersion({ ...place, tag_name: 'prod', version: made.version ?? '' });
    const { asked } = await call(era, [tag], 'delete_lambda', place);
    expect(asked[1]).toContain('1 tag came since you were asked');
  });

  it('counts what was not there apart from what was deleted', async () => {
    const data = [{ _id: 'a' }, { _id: 'x' }];
    const { asked, result } = await call(era, [], 'delete_documents', { ...AT, data });
    expect(asked[0]).toContain('Of 2 documents named ("a", "x"), 1 exists');
    expect(result.structuredContent).toMatchObject({ counts: { DELETED: 1, NOT_THERE: 1 }, ids: ['a'] });
    expect(result.structuredContent?.['next']).toContain('no document had that _id');
  });
});

/** Answers on the page, as a browser would. */
async function approveOnPage(result: RawResult): Promise<string> {
  const approval = result.structuredContent?.['approval'] as { url: string } | undefined;
  const url = approval?.url ?? '';
  const html = await (await fetch(url, { headers: { cookie } })).text();
  const token = /name="token" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const body = new URLSearchParams({ token, decision: 'approve', name: AT.collection });
  const answered = await fetch(url, { method: 'POST', body, headers: { cookie, origin: new URL(url).origin } });
  expect(answered.status).toBe(200);
  return html;
}

describe('a human who is asked on the page', () => {
  it('is asked again where documents came after the yes', async () => {
    const peer = await peerOf('2026-07-28');
    const deletion = { name: 'delete_collection', arguments: AT };
    const first = await peer.call(deletion);
    await approveOnPage(first);
    await add('b', 'c');
    const second = await peer.call(deletion);
    const { error, next } = second.structuredContent as { error: { code: string; message: string }; next: string };
    expect(error).toMatchObject({ code: 'pending' });
    expect(error.message).toContain('2 documents came since the human said yes, who is asked again');
    expect(next).toContain('keeps writing');
    const html = await approveOnPage(second);
    expect(html).toContain('You are asked again: 2 documents came since you said yes.');
    expect(html).toContain('3 documents in it will be gone.');
    expect((await peer.call(deletion)).isError).toBeUndefined();
    expect(await isThere()).toBe(false);
    await peer.close();
  });

  it('agrees to named documents as they were', async () => {
    await add('b');
    const peer = await peerOf('2026-07-28');
    const deletion = { name: 'delete_documents', arguments: { ...AT, data: [{ _id: 'a' }, { _id: 'b' }] } };
    await approveOnPage(await peer.call(deletion));
    await client.addDocuments({ ...AT, data: [{ _id: 'a', v: 'precious' }] });
    expect((await peer.call(deletion)).structuredContent).toMatchObject({ counts: { DELETED: 1 }, left: 1 });
    await peer.close();
  });

  it('is not asked again if less would be deleted than was approved', async () => {
    await add('b');
    const peer = await peerOf('2026-07-28');
    const deletion = { name: 'delete_collection', arguments: AT };
    await approveOnPage(await peer.call(deletion));
    await remove('b');
    expect((await peer.call(deletion)).isError).toBeUndefined();
    await peer.close();
  });

  it('answers in a terminal for what was shown there', async () => {
    const peer = await peerOf('2026-07-28');
    const deletion = { name: 'delete_collection', arguments: AT };
    await peer.call(deletion);
    const [shown] = await client.listApprovals({});
    await add('b');
    await peer.call(deletion);
    const answer = { code: shown?.code ?? '', decision: 'approve' as const, typed_name: AT.collection };
    await expect(client.decideApproval({ ...answer, shown: shown?.shown ?? '' })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('has changed'),
    });
    const [now] = await client.listApprovals({});
    expect(await client.decideApproval({ ...answer, shown: now?.shown ?? '' })).toMatchObject({ status: 'approved' });
    expect((await peer.call(deletion)).isError).toBeUndefined();
    await peer.close();
  });
});

describe('callTool()', () => {
  it('checks again what would be deleted after the person at the terminal has answered', async () => {
    const confirm = async () => {
      await add('b');
      return true;
    };
    const { structured, isError } = await callTool({ client, name: 'delete_collection', args: AT, confirm });
    expect(isError).toBe(true);
    expect(structured['error']).toMatchObject({ code: 'grown' });
    expect(await isThere()).toBe(true);
  });
});

describe('a delete that the service would refuse', () => {
  const refused = async (name: string, args: Record<string, unknown>, by: Client = client) => {
    const confirm = async () => expect.unreachable('nobody should be asked');
    const { structured, isError } = await callTool({ client: by, name, args, confirm });
    expect(isError).toBe(true);
    return structured['error'] as { code: string; message: string };
  };

  it('asks nobody about the tag latest', async () => {
    await client.createLambda({ workspace: 'commons', name: 'l', sql: { query: 'SELECT 1' } }).catch(() => undefined);
    const args = { workspace: 'commons', queryLambda: 'l', tag: 'latest' };
    expect(await refused('delete_lambda_tag', args)).toMatchObject({
      code: 'invalid_input',
      message: 'Cannot delete tag "latest": the service keeps it. Delete the version or the lambda instead.',
    });
  });

  it('asks nobody about the user of the API key, nor about the last admin', async () => {
    const { email } = await client.getCurrentUser({});
    for (const user of ['self', email ?? '', (email ?? '').toUpperCase()]) {
      expect(await refused('delete_user', { user })).toMatchObject({
        code: 'dependent_resources',
        message: expect.stringContaining('the API key of this server belongs to it'),
      });
    }
  });

  it('asks nobody about an integration that a collection uses', async () => {
    // This service never reads from a source, but another may.
    const collections = [{ workspace: 'commons', name: 'fed' }];
    const used = { ...client, getIntegration: async () => ({ name: 'bucket', collections }) as never };
    expect(await refused('delete_integration', { integration: 'bucket' }, used)).toMatchObject({
      code: 'dependent_resources',
      message: expect.stringContaining('"commons.fed"'),
    });
  });
});

describe('the last entry of the allowlist', () => {
  const entry = (name: string) => client.createAllowlistEntry({ name, ip_address: '203.0.113.7' });
  const OPENED = 'It is the last entry: without it, every address is let in.';

  it('is called the last one, even if the other one is deleted while the human is asked', async () => {
    const [era = ''] = Object.keys(PEERS);
    await entry('home');
    await entry('office');
    const away = () => client.deleteAllowlistEntry({ name: 'home' });
    const first = await call(era, [away], 'delete_allowlist_entry', { name: 'office' });
    expect(first.asked.join()).not.toContain(OPENED);
    expect(first.result.isError).toBe(true);
    expect(await client.listAllowlistEntries({})).toHaveLength(1);
    const second = await call(era, [], 'delete_allowlist_entry', { name: 'office' });
    expect(second.asked.join()).toContain(OPENED);
    expect(await client.listAllowlistEntries({})).toEqual([]);
  });
});

describe('an API key', () => {
  const question = async (name: string, args: Record<string, unknown>) => {
    let asked: { message: string; typedName: string | undefined } | undefined;
    const confirm = async (message: string, typedName: string | undefined) => {
      asked = { message, typedName };
      return false;
    };
    await callTool({ client, name, args, confirm });
    return asked;
  };

  it('that is in use is deleted only by its name, and the question says who is locked out', async () => {
    const own = (await client.getAbout({})).api_key ?? '';
    const { email } = await client.getCurrentUser({});
    for (const [tool, args] of [
      ['delete_api_key', { name: own }],
      ['delete_user_api_key', { user: email, name: own }],
    ] as const) {
      const asked = await question(tool, args);
      expect(asked?.typedName).toBe(own);
      expect(asked?.message).toContain(
        'This server itself uses this API key: once it is gone, all its calls are refused',
      );
    }
  });

  it('that is not in use needs only a plain yes', async () => {
    await client.createApiKey({ name: 'spare' });
    const asked = await question('delete_api_key', { name: 'spare' });
    expect(asked?.typedName).toBeUndefined();
    expect(asked?.message).not.toContain('401');
  });
});
