import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, createClient } from '../../src/http/client.ts';
import { callTool } from '../../src/mcp/call.ts';
import { startTestService, type TestService } from '../service/harness.ts';

/** One of several ids that a human could not tell apart if invisible characters were not shown. */
const HIDDEN = 'ac\u200bct';
const SHOWN = 'ac\\u200bct';
const IDS = ['acct', HIDDEN, 'ac\u0000ct', SHOWN, 'می\u200cخواهم'];
const place = { workspace: 'commons', collection: 'lookalikes' };

let service: TestService;
let client: Client;
const asked: string[] = [];
beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  await client.createCollection({ workspace: 'commons', name: 'lookalikes' });
  await client.addDocuments({ ...place, data: IDS.map((_id) => ({ _id, family: '👨\u200d👩\u200d👧' })) });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

const call = (name: string, args: Record<string, unknown>) =>
  callTool({
    client,
    name,
    args: { ...place, ...args },
    confirm: async (message) => {
      asked.push(message);
      return true;
    },
  });
const ids = async () => {
  const { results } = await client.runQuery({ sql: { query: 'SELECT _id FROM commons.lookalikes' } });
  return (results ?? []).map((row) => row['_id']).sort();
};

it('answers show such ids differently, and keep what a script or an emoji needs', async () => {
  const { structured } = await callTool({
    client,
    name: 'run_query',
    args: { query: 'SELECT _id, family FROM commons.lookalikes' },
    confirm: async () => false,
  });
  const rows = structured['rows'] as string[][];
  expect(rows.map(([id]) => id)).toEqual(
    expect.arrayContaining(['acct', 'ac\\u200bct', 'ac\\u0000ct', 'می\u200cخواهم']),
  );
  for (const row of rows) expect(row[1]).toBe('👨\u200d👩\u200d👧');
});

it.each([
  ['delete_documents', { data: [{ _id: SHOWN }] }, 'not_found'],
  ['delete_documents', { data: [{ _id: 'acct' }, { _id: 'ac\\u0000ct' }] }, 'not_found'],
  ['patch_documents', { data: [{ _id: SHOWN, patch: [{ op: 'remove', path: '/family' }] }] }, 'not_found'],
  ['add_documents', { data: [{ _id: SHOWN }] }, 'invalid_input'],
])('%s with an id as it is shown, not as it is, changes no document', async (name, args, code) => {
  const answer = await call(name, args);
  expect(answer.structured['error']).toMatchObject({ code });
  expect(answer.text).toContain('is how an invisible character is shown');
  expect(await ids()).toEqual([...IDS].sort());
  expect(asked).toEqual([]);
});

it('the question shows invisible characters, and the right document is deleted', async () => {
  for (const [id, shown] of [
    [HIDDEN, '"ac\\u200bct"'],
    ['می\u200cخواهم', '"می\\u200cخواهم"'],
  ] as const) {
    const answer = await call('delete_documents', { data: [{ _id: id }] });
    expect(answer.isError, answer.text).toBe(false);
    expect(asked.at(-1)).toContain(shown);
  }
  expect(await ids()).toEqual(['acct', 'ac\u0000ct', SHOWN].sort());
});
