import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import { callTool, notOffered, unknownTool } from '../../src/mcp/call.ts';
import { hiddenTools } from '../../src/mcp/offer.ts';
import { parseUri } from '../../src/mcp/resources/resources.ts';
import type { Arguments } from '../../src/mcp/tools/relations.ts';
import { fakeClient, notFound } from './fake-client.ts';

const never = async () => {
  throw new Error('nobody should be asked');
};

async function errorOf(name: string, args: Arguments, thrown: ApiError) {
  const throwing = () => {
    throw thrown;
  };
  const { client } = fakeClient({ runQuery: throwing, createCollection: throwing, listWorkspaces: throwing });
  const answer = await callTool({ client, name, args, confirm: never });
  expect(answer.isError).toBe(true);
  return answer;
}

describe('notOffered()', () => {
  it('names the setting that changes it', () => {
    const nextOf = (offer: Parameters<typeof hiddenTools>[0], tool: string) =>
      notOffered(tool, hiddenTools(offer))?.structuredContent['next'];
    expect(nextOf({}, 'load_file')).toMatch(/--allow-dirs \(COLLOQUY_ALLOW_DIRS\) names the folders/);
    expect(nextOf({}, 'load_file')).not.toContain('--toolsets');
    expect(nextOf({ readOnly: true }, 'add_documents')).toContain('--read-only');
    expect(nextOf({ roles: ['read-only'] }, 'add_documents')).toContain('an API key of that role');
  });
});

describe('callTool()', () => {
  it.each(['add_documents', 'patch_documents'])('shows what the service warns of beside %s', async (name) => {
    const answer = { data: [{ _id: 'a', status: 'ADDED' }], last_offset: '1', warnings: ['"n" of w.c was BIGINT', 5] };
    const { client } = fakeClient({ addDocuments: () => answer, patchDocuments: () => answer });
    const data = name === 'add_documents' ? [{ _id: 'a' }] : [{ _id: 'a', patch: [] }];
    const { structured, text } = await callTool({
      client,
      name,
      args: { workspace: 'w', collection: 'c', data },
      confirm: never,
    });
    expect(structured).toMatchObject({ counts: { ADDED: 1 }, warnings: ['"n" of w.c was BIGINT'] });
    expect(structured['next']).toMatch(/^read warnings: what SQL computes does not see/);
    expect(structured['next']).not.toContain('BIGINT');
    expect(text.indexOf('BIGINT')).toBeLessThan(text.indexOf('</data-'));
  });

  it('asks for at most 1,000 rows where nothing limits them, and for what the caller wants otherwise', async () => {
    const { client, calls } = fakeClient({ runQuery: () => ({ results: [] }) });
    await callTool({ client, name: 'run_query', args: { query: 'q' }, confirm: never });
    await callTool({ client, name: 'run_query', args: { query: 'q', default_row_limit: 7 }, confirm: never });
    expect(calls.map(({ input }) => input)).toEqual([
      { sql: { query: 'q', generate_warnings: true, default_row_limit: 1_000 } },
      { sql: { query: 'q', generate_warnings: true, default_row_limit: 7 } },
    ]);
  });

  it('shows as many rows as the caller wants', async () => {
    const results = Array.from({ length: 120 }, (_, n) => ({ n }));
    const { client } = fakeClient({ runQuery: () => ({ results }) });
    const args = { query: 'q', default_row_limit: 200 };
    const { structured } = await callTool({ client, name: 'run_query', args, confirm: never });
    expect(structured).toMatchObject({ returned: 120, truncated: false });
  });

  it('hands the signal on', async () => {
    const { client, calls } = fakeClient({ listWorkspaces: () => [] });
    const { signal } = new AbortController();
    await callTool({ client, name: 'list_workspaces', args: {}, confirm: never, signal });
    expect(calls[0]?.signal).toBe(signal);
  });

  it('asks before a delete and keeps to the answer', async () => {
    const { client, calls } = fakeClient({
      listWorkspaceAliases: () => [],
      listWorkspaceLambdas: () => [],
      getWorkspace: () => ({ name: 'w' }),
      listWorkspaceCollections: () => [],
      listChildWorkspaces: () => [],
      deleteWorkspace: () => ({ name: 'w' }),
    });
    const request = { client, name: 'delete_workspace', args: { workspace: 'w' } };
    const questions: [string, string | undefined][] = [];
    const say = (yes: boolean) => async (message: string, typedName: string | undefined) => {
      questions.push([message, typedName]);
      return yes;
    };
    const refused = await callTool({ ...request, confirm: say(false) });
    expect(refused).toMatchObject({ isError: true, structured: { error: { code: 'declined' } } });
    expect(calls.map(({ operation }) => operation)).not.toContain('deleteWorkspace');
    expect((await callTool({ ...request, confirm: say(true) })).isError).toBe(false);
    expect(questions[0]).toEqual([
      'Delete a workspace: workspace "w".\nThis makes it again: create_workspace {"workspace":"w"}.',
      undefined,
    ]);
  });

  it('rejects for a tool that does not exist, with the nearest', async () => {
    const { client } = fakeClient({});
    await expect(callTool({ client, name: 'runquery', args: {}, confirm: never })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('did you mean "run_query"'),
    });
    expect(unknownTool('zzzzzzzzzzzz')).toBe('Cannot call tool "zzzzzzzzzzzz": it does not exist; list the tools.');
  });

  it('does not hide a fault of its own', async () => {
    const { client } = fakeClient({});
    await expect(callTool({ client, name: 'list_workspaces', args: {}, confirm: never })).rejects.toThrow('unexpected');
  });
});

describe('an error as a result', () => {
  it('has the position of an SQL error and what to do, complete in both forms', async () => {
    const thrown = new ApiError('query_error', 'column "nme" not found', { line: 2, column: 8, traceId: 't1' });
    const query = "SELECT\n  t.id, nme FROM t WHERE x = 'y'";
    const { text, structured } = await errorOf('run_query', { query }, thrown);
    expect(structured['error']).toEqual({
      tool: 'run_query',
      code: 'query_error',
      message: 'column "nme" not found',
      line: 2,
      column: 8,
      trace_id: 't1',
    });
    expect(text).toMatch(
      /^<(data-\w+)> .*\nrun_query failed \(query_error\): column "nme" not found\n {4}t\.id, nme FROM t WHERE x = 'y'\n {9}\^\n<\/\1>$/,
    );
  });

  it.each([
    ['Function "getenv" does not exist or is not available in queries.', 'files, settings and other systems'],
    [
      'Table function "read_csv" does not exist or is not available in queries. Did you mean "range"?',
      'Use another function',
    ],
    ['"current_database" is not available in queries.', 'Use another function'],
    ['Malformed JSON at byte 0 of input: unexpected character.  Input: "x"', "TRY_CAST(x->>'$' AS DOUBLE)"],
    ["No function matches the given name and argument types 'sum(JSON)'. You might", 'from_json(x, \'["VARCHAR"]\')'],
    ["No function matches the given name and argument types '+(JSON, INTEGER_LITERAL)'. You", "x->>'$.field'"],
    ['UNNEST() can only be applied to lists, structs and NULL, not JSON', 'from_json(x, \'["VARCHAR"]\')'],
    ['Failed to cast value to numerical: [1,2] when casting from source column m', 'TRY_CAST'],
    ['syntax error at or near "-"', '"my-ws"."my-coll"'],
    ["Could not convert string 'abc' to INT64", 'with its type'],
    ["Could not convert string '2024-01-10' to INT64", "strptime(CAST(x AS VARCHAR), '%Y%m%d') of a day"],
  ])('says what to do about the SQL error: %s', async (message, hint) => {
    const { structured } = await errorOf('run_query', { query: 'q' }, new ApiError('query_error', message));
    expect(structured['next']).toContain(hint);
  });

  it.each([
    'Referenced column "nme" not found in FROM clause!\nt has name.',
    'The type VARIANT is not available in queries. Use JSON.',
    "No function matches the given name and argument types 'sum(VARCHAR)'.\n Candidate: sum(JSON)",
    'Function "nvl" does not exist or is not available in queries. Write coalesce(x, y), for example.',
  ])('gives no advice where the message says enough: %s', async (message) => {
    const { structured } = await errorOf('run_query', { query: 'q' }, new ApiError('query_error', message));
    expect(structured).not.toHaveProperty('next');
  });

  it('has the place first, and what was meant in the place of all that the message says of it', async () => {
    const message = 'There is no "nme". Write name, for example.\nt has name and others.';
    const thrown = new ApiError('query_error', message, { line: 1, column: 8, correctedSql: 'SELECT name FROM t' });
    const { text, structured } = await errorOf('run_query', { query: 'SELECT nme FROM t' }, thrown);
    expect(text.split('\n').slice(1, -1)).toEqual([
      'run_query failed (query_error): There is no "nme"',
      '  SELECT nme FROM t',
      '         ^',
      'Corrected, valid, not run: SELECT name FROM t',
    ]);
    expect(structured['error']).toMatchObject({
      message: 'There is no "nme"',
      corrected_sql: 'SELECT name FROM t',
    });
    expect(structured).not.toHaveProperty('next');
  });

  it('says of the values that are NULL in what was meant, and gives no other advice where it names texts', async () => {
    const nulls = "In the corrected SQL, 1 of the 3 values of a becomes NULL, such as 'x'.";
    const message = `No function matches.\na is text: CAST(a AS DOUBLE)\n${nulls}`;
    const details = { correctedSql: 'SELECT sum(TRY_CAST(a AS DOUBLE)) FROM t' };
    const { text, structured } = await errorOf(
      'run_query',
      { query: 'q' },
      new ApiError('query_error', message, details),
    );
    expect(text.split('\n').slice(-3, -1)).toEqual([`Corrected, valid, not run: ${details.correctedSql}`, nulls]);
    expect(structured['error']).toMatchObject({ message: `No function matches.\n${nulls}` });
    const named = new ApiError('query_error', "Could not convert string 'x' to DOUBLE\na is text such as 'x': …");
    expect((await errorOf('run_query', { query: 'q' }, named)).structured).not.toHaveProperty('next');
  });

  it('shows the part of a long line that an error is in', async () => {
    const query = `SELECT ${'a'.repeat(500)}, nme FROM t`;
    const at = query.indexOf('nme');
    const thrown = new ApiError('query_error', 'not found', { line: 1, column: at + 1 });
    const [, , place = '', caret = ''] = (await errorOf('run_query', { query }, thrown)).text.split('\n');
    expect(place).toHaveLength(2 + 60 + 'nme FROM t'.length);
    expect(place.slice(caret.indexOf('^'))).toBe('nme FROM t');
  });

  it('says when to try again', async () => {
    const thrown = new ApiError('resource_exceeded', 'busy', { retryAfterMs: 1_500 });
    expect((await errorOf('run_query', { query: 'q' }, thrown)).text).toContain('try again after 2 seconds');
  });

  it('shows what is invisible in a message as escapes', async () => {
    const { text } = await errorOf('run_query', { query: 'q' }, new ApiError('query_error', 'a\u202eb\u{e0041}'));
    expect(text).toContain('failed (query_error): a\\u202eb\\u{e0041}\n');
  });

  it('says that a name has to be quoted', async () => {
    const { client } = fakeClient({
      createCollection: ({ name = '' }) => ({ name, workspace: 'w', status: 'CREATED' }),
      createWorkspace: ({ name = '' }) => ({ name }),
      createAlias: ({ name = '' }) => ({ name, workspace: 'w', state: 'READY' }),
    });
    const nextOf = async (name: string, args: object) => {
      const { structured } = await callTool({ client, name, args: { ...args }, confirm: never });
      return structured['next'];
    };
    const told = 'In SQL its name alone stands in double quotes, "both", as it is a reserved word.';
    expect(await nextOf('create_collection', { workspace: 'w', collection: 'Both' })).toBe(
      told.replace('both', 'Both'),
    );
    expect(await nextOf('create_collection', { workspace: 'w', collection: 'bothers' })).toBeUndefined();
    expect(await nextOf('create_workspace', { workspace: 'both' })).toBe(told);
    expect(await nextOf('create_alias', { workspace: 'w', alias: 'both', collections: ['w.c'] })).toBe(told);
  });

  it('names the workspace that was meant', async () => {
    const { client } = fakeClient({
      createCollection: () => {
        throw notFound('Workspace with name "shopp" does not exist');
      },
      listWorkspaces: () => [{ name: 'shop' }, { name: 'commons' }],
    });
    const args = { workspace: 'shopp', name: 'c' };
    const { structured } = await callTool({ client, name: 'create_collection', args, confirm: never });
    expect(structured).toMatchObject({
      error: { did_you_mean: ['shop'] },
      next: expect.stringContaining('did_you_mean'),
    });
  });

  it('looks for no names where the message has some, and keeps the error where looking fails', async () => {
    const hinted = notFound('Workspace "x" does not exist. Did you mean "y"?');
    const { structured } = await errorOf('create_collection', { workspace: 'x', name: 'c' }, hinted);
    expect(structured['error']).toEqual({ tool: 'create_collection', code: 'not_found', message: hinted.message });
    const plain = await errorOf('create_collection', { workspace: 'x', name: 'c' }, notFound('no such workspace'));
    expect(plain.structured['error']).toMatchObject({ code: 'not_found', message: 'no such workspace' });
  });
});

describe('parseUri()', () => {
  it('reads names back, whatever is in them', () => {
    const namesIn = (uri: string) => parseUri(uri)?.names;
    expect(namesIn('colloquy://workspaces')).toEqual({});
    expect(namesIn('colloquy://workspaces/a.b')).toEqual({ workspace: 'a.b' });
    expect(namesIn('colloquy://workspaces/a%2Fb/collections/c%20d')).toEqual({ workspace: 'a/b', collection: 'c d' });
    expect(namesIn('colloquy://workspaces/a/lambdas/b/versions/c')).toEqual({
      workspace: 'a',
      lambda: 'b',
      version: 'c',
    });
  });

  it.each([
    'colloquy://workspaces/',
    'colloquy://workspaces/a/collections',
    'colloquy://workspaces/a/collections/b/c',
    'colloquy://workspaces/%ff',
    'colloquy://other',
    'file:///etc/passwd',
  ])('knows no %s', (uri) => {
    expect(parseUri(uri)).toBeUndefined();
  });
});
