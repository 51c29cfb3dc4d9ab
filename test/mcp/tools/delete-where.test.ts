import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../../../src/http/client.ts';
import { type Confirmation, callTool } from '../../../src/mcp/call.ts';
import { startTestService, type TestService } from '../../service/harness.ts';
import { agree, askingAssistant, type FormParams, PEERS, type RawResult } from '../peers.ts';

let service: TestService;
let client: Client;
let made = 0;

beforeAll(async () => {
  service = await startTestService();
  client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
});
afterAll(async () => {
  await client.close();
  await service.remove();
});

async function orders(data: object[]): Promise<string> {
  const collection = `orders${made++}`;
  await client.createCollection({ workspace: 'commons', name: collection });
  await client.addDocuments({ workspace: 'commons', collection, data: data as never });
  return collection;
}

const some = (count: number) => Array.from({ length: count }, (_, n) => ({ _id: `d${n}`, n, note: `note ${n}` }));

interface Asked {
  question: string;
  typedName: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
  structured: any;
  text: string;
}

/** Calls the tool; `meanwhile` happens while the human thinks. */
async function call(
  collection: string,
  where: string,
  said: Confirmation = true,
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<Asked> {
  let asked = { question: '', typedName: undefined as string | undefined };
  const confirm = async (question: string, typedName: string | undefined) => {
    asked = { question, typedName };
    await meanwhile();
    return said;
  };
  const args = { workspace: 'commons', collection, where };
  const answer = await callTool({ client, name: 'delete_documents_where', args, confirm });
  return { ...asked, ...answer };
}

async function left(collection: string): Promise<string[]> {
  const query = `SELECT _id FROM ${collection} ORDER BY n, _id`;
  return ((await client.runQuery({ sql: { query } })).results ?? []).map((row) => String(row['_id']));
}

describe('delete_documents_where', () => {
  it('shows the whole condition, the count and examples, deletes these, and says how to undo it', async () => {
    const collection = await orders(some(5));
    const where = `n >= 2 AND note <> '${'x'.repeat(300)}'`;
    const { question, typedName, structured, text } = await call(collection, where);
    expect(question.split('\n').slice(0, 2)).toEqual([
      `Delete documents by a condition: workspace "commons", collection "${collection}".`,
      `The condition: ${JSON.stringify(where)}.`,
    ]);
    expect(question).toMatch(
      /3 documents of the 5 it has will be gone, as counted at 20\S+Z\. What comes or changes later stays/,
    );
    expect(question).toContain('Example 1: "{\\"_id\\":\\"d2\\"');
    expect(question).toMatch(/It goes to the trash: an operator can restore it until/);
    expect(typedName).toBeUndefined();
    expect(structured).toMatchObject({
      deleted: 3,
      trash_id: expect.stringMatching(/^[0-9a-f]+$/),
      undo_until: expect.any(String),
      done: expect.stringMatching(
        /^Deleted documents by a condition: .*: 3 documents\. Confirmed by a human at a terminal\. It can be undone until 20\S+Z: a human can run "colloquy trash restore [0-9a-f]+"/,
      ),
    });
    expect(text).toContain(`: a human can run "colloquy trash restore ${structured.trash_id}"`);
    expect(await left(collection)).toEqual(['d0', 'd1']);
    await client.restoreTrash({ id: structured.trash_id });
    expect(await left(collection)).toEqual(['d0', 'd1', 'd2', 'd3', 'd4']);
  });

  it('deletes only what was counted and is as it was, and says so', async () => {
    const collection = await orders(some(5));
    const { structured } = await call(collection, 'n >= 2', true, async () => {
      await client.addDocuments({
        workspace: 'commons',
        collection,
        data: [
          { _id: 'new', n: 9 },
          { _id: 'd3', n: 3 },
        ],
      });
    });
    expect(structured).toMatchObject({
      deleted: 2,
      left: 1,
      left_because: 'changed or gone since the human was asked',
      done: expect.stringContaining('2 documents, of 3 documents that were counted'),
    });
    expect(await left(collection)).toEqual(['d0', 'd1', 'd3', 'new']);
  });

  it('is asked anew where the selection is gone when the yes comes, since the documents may be others', async () => {
    const collection = await orders(some(5));
    const where = 'n >= 2';
    const { structured } = await call(collection, where, true, async () => {
      const at = { workspace: 'commons', collection };
      for (let n = 0; n < 21; n++) await client.selectDocuments({ ...at, where });
      await client.deleteDocuments({ ...at, data: [{ _id: 'd4' }] });
      await client.addDocuments({ ...at, data: [{ _id: 'other', n: 9 }] });
    });
    expect(structured).toMatchObject({
      error: { code: 'grown', message: expect.stringContaining('it has other documents') },
    });
    expect(await left(collection)).toEqual(['d0', 'd1', 'd2', 'd3', 'other']);
  });

  it.each([
    ['all documents', 4, 'true'],
    ['a thousand of more', 1_200, 'n < 1000'],
  ])('wants the name of the collection typed for %s', async (_, count, where) => {
    const collection = await orders(some(count));
    const { typedName, structured } = await call(collection, where, false);
    expect(typedName).toBe(collection);
    expect(structured.error.code).toBe('declined');
    expect(await left(collection)).toHaveLength(count);
  });

  it('shows text of documents and of the condition in one line each', async () => {
    const collection = await orders([{ _id: 'a', n: 1, note: '"}\n\nClick Yes\u202e' }]);
    const where = "n = 1 OR note = '\n\nAll is well, click yes'";
    const { question } = await call(collection, where, false);
    const lines = question.split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[1]).toBe(`The condition: ${JSON.stringify(where)}.`);
    expect(lines[3]).toMatch(/^Example 1: "/);
    expect(question).not.toContain('\u202e');
  });

  it('tells of values that the condition cannot see', async () => {
    const collection = await orders([...some(3), { _id: 'odd', n: 'many' }]);
    const { question } = await call(collection, 'n >= 1', false);
    expect(question).toMatch(/\nNote: "/);
  });

  it('tells of text that is compared as text, also an assistant whose guard is off', async () => {
    const data = ['9.50', '100.00', '20.00', '31.12.2024', '01.02.2025'].map((text, n) => ({
      _id: `${n}`,
      ...(n < 3 ? { price: text } : { day: text }),
    }));
    const priced = await orders(data);
    const { question, structured } = await call(priced, "price > '20'");
    expect(question).toMatch(/\nNote: "price is text, ordered as text: /);
    expect(structured.warnings).toEqual([expect.stringContaining('CAST(price AS DOUBLE)')]);
    const args = { workspace: 'commons', collection: await orders(data), where: "day >= '31.01.2025'" };
    const done = await callTool({
      client,
      name: 'delete_documents_where',
      args,
      guard: 'off',
      confirm: async () => true,
    });
    expect(done.text).toContain('strptime(day');
  });

  it.each([
    ['n = 1) OR (true', 'query_error'],
    ['n = 99', 'invalid_input'],
    ['nn = 1', 'query_error'],
    ['n IN (SELECT 1)', 'query_error'],
  ])('asks nobody about %j', async (where, code) => {
    const collection = await orders(some(2));
    const { question, structured } = await call(collection, where);
    expect(question).toBe('');
    expect(structured.error.code).toBe(code);
    expect(await left(collection)).toHaveLength(2);
  });

  it('names a similar collection', async () => {
    const collection = await orders(some(1));
    const { structured } = await call(`${collection}x`, 'true');
    expect(structured.error).toMatchObject({ code: 'not_found', message: expect.stringContaining(collection) });
  });
});

describe.each(Object.entries(PEERS))('a question about a condition, over %s,', (_, open) => {
  const assistant = askingAssistant(() => client);
  const at = (collection: string) => ({ workspace: 'commons', collection });
  const add = (collection: string, data: object[]) => client.addDocuments({ ...at(collection), data: data as never });
  const call = { name: 'delete_documents_where', arguments: {} };
  const countIn = (question: string) => /\n(?:All )?(\d+) documents/.exec(question)?.[1];

  it('shows what is there now each time it is asked, and a yes is for what was shown', async () => {
    const collection = await orders(some(5));
    const args = { ...at(collection), where: 'n >= 2' };
    const said = ['no', 'yes'];
    const questions: string[] = [];
    const human = async (params: FormParams) => {
      questions.push(params.message);
      await add(collection, [
        { _id: 'd2', n: 2, note: `changed ${questions.length}` },
        { _id: `late${questions.length}`, n: 9 },
      ]);
      return said.shift() === 'yes' ? agree(params) : { action: 'decline' as const };
    };
    const peer = await open(assistant, { human, capable: true });
    const declined = await peer.call({ ...call, arguments: args });
    expect(declined.structuredContent?.['error']).toMatchObject({ code: 'declined' });
    const done = await peer.call({ ...call, arguments: args });
    await peer.close();
    expect(questions.map(countIn)).toEqual(['3', '4']);
    expect(questions[1]).toContain('changed 1');
    expect(done.structuredContent).toMatchObject({ deleted: 3, left: 1 });
    expect(await left(collection)).toEqual(['d0', 'd1', 'd2', 'late2']);
  });

  it('waits on the page as it was first shown, and is a new one after its answer', async () => {
    const collection = await orders(some(5));
    const args = { ...at(collection), where: 'n >= 2' };
    const peer = await open(assistant, { capable: false });
    const ask = () => peer.call({ ...call, arguments: args });
    const codeOf = (result: RawResult) =>
      (result.structuredContent?.['approval'] as { code: string } | undefined)?.code ?? '';
    const answer = async (code: string, decision: 'approve' | 'decline') => {
      const { shown, message } = await client.getApproval({ code });
      await client.decideApproval({ code, decision, shown: shown ?? '' });
      return message ?? '';
    };
    const first = codeOf(await ask());
    const { message } = await client.getApproval({ code: first });
    await add(collection, [{ _id: 'late1', n: 9 }]);
    expect(codeOf(await ask())).toBe(first);
    expect(await answer(first, 'decline')).toBe(message);
    expect((await ask()).structuredContent?.['error']).toMatchObject({ code: 'declined' });
    const second = codeOf(await ask());
    expect(countIn(await answer(second, 'approve'))).toBe('4');
    await add(collection, [
      { _id: 'late2', n: 9 },
      { _id: 'd2', n: 2, note: 'changed' },
    ]);
    expect((await ask()).structuredContent).toMatchObject({ deleted: 3, left: 1 });
    await peer.close();
    expect(await left(collection)).toEqual(['d0', 'd1', 'd2', 'late2']);
  });
});

describe('a delete that a human did not confirm', () => {
  const rules: [Confirmation, string, RegExp, RegExp][] = [
    [false, 'declined', /was refused \(declined\)/, /^Do not call it again unless the human says so/],
    [
      'mistyped',
      'mistyped',
      /was not carried out \(mistyped\).*This is no refusal/,
      /^Call once more with the same arguments/,
    ],
    ['nobody', 'nobody', /was not carried out \(nobody\)/, /^Tell the human to run the command again in a terminal/],
  ];
  it.each(rules)('%s is told apart, with one rule', async (said, code, shown, next) => {
    const collection = await orders(some(2));
    const { structured, text } = await call(collection, 'true', said);
    expect(structured.error.code).toBe(code);
    expect(text).toMatch(shown);
    expect(structured.next).toMatch(next);
    expect(await left(collection)).toHaveLength(2);
  });
});

describe('the answer of a delete', () => {
  const base = { workspace: 'commons' };
  const answer = async (name: string, args: object, guard: 'ask' | 'off' = 'ask') =>
    (await callTool({ client, name, args: args as never, guard, confirm: async () => true })).structured;

  it('says in one line what went, who agreed, until when it can be undone and how', async () => {
    const collection = await orders(some(3));
    const documents = await answer('delete_documents', { ...base, collection, ids: ['d0', 'd1', 'none'] });
    expect(documents['done']).toMatch(
      /^Deleted documents: workspace "commons", collection "\w+": 2 documents\. Confirmed by a human at a terminal\. It can be undone until \S+Z: .*trash restore \w+"/,
    );
    const whole = await answer('delete_collection', { ...base, collection }, 'off');
    expect(whole['done']).toMatch(
      /^Deleted a collection: .*, with 1 document\. Nobody was asked: the guard is off\. It can be undone until /,
    );
    await client.restoreTrash({ id: String(whole['trash_id']) });
    expect(await left(collection)).toEqual(['d2']);
    await client.createUser({ email: 'gone@example.com', roles: ['member'] });
    await client.createUserApiKey({ user: 'gone@example.com', name: 'k' });
    const user = await answer('delete_user', { user: 'gone@example.com' });
    expect(user['done']).toBe(
      'Deleted a user: user "gone@example.com", with 1 API key. Confirmed by a human at a terminal. This cannot be undone.',
    );
    expect(user).not.toHaveProperty('trash_id');
  });

  it('is the same for lambdas and their versions', async () => {
    await client.createLambda({ ...base, name: 'l', sql: { query: 'SELECT 1 AS n' } });
    const { version } = await client.createLambdaVersion({
      ...base,
      queryLambda: 'l',
      sql: { query: 'SELECT 2 AS n' },
    });
    const gone = await answer('delete_lambda_version', { ...base, queryLambda: 'l', version });
    expect(gone).toMatchObject({
      trash_id: expect.any(String),
      done: expect.stringContaining('It can be undone until'),
    });
    const all = await answer('delete_lambda', { ...base, queryLambda: 'l' });
    expect(await client.restoreTrash({ id: String(all['trash_id']) })).toMatchObject({ kind: 'lambda', name: 'l' });
  });

  it('promises nothing where nothing is kept', async () => {
    const none = await startTestService({ trashDays: 0 });
    const own = createClient({ target: { socketPath: none.socket }, apiKey: none.key });
    await own.createCollection({ workspace: 'commons', name: 'c' });
    await own.addDocuments({
      workspace: 'commons',
      collection: 'c',
      data: [
        { _id: 'a', n: 1 },
        { _id: 'b', n: 2 },
      ],
    });
    const args = { workspace: 'commons', collection: 'c', where: 'n = 1' };
    const { structured } = await callTool({
      client: own,
      name: 'delete_documents_where',
      args,
      confirm: async () => true,
    });
    expect(structured).toMatchObject({ deleted: 1, done: expect.stringMatching(/This cannot be undone\.$/) });
    expect(structured).not.toHaveProperty('trash_id');
    await own.close();
    await none.remove();
  });
});
