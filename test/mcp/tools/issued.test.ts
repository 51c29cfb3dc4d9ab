import { describe, expect, it } from 'vitest';
import { callTool } from '../../../src/mcp/call.ts';
import { issuesSecret, rowTools } from '../../../src/mcp/tools/catalog.ts';
import { fakeClient } from '../fake-client.ts';

const KEY = 'Ab3d'.repeat(16);
const confirm = async () => false;

function service(overrides: Parameters<typeof fakeClient>[0] = {}) {
  return fakeClient({
    getCurrentUser: () => ({ email: 'me@b.c' }),
    createApiKey: ({ name }) => ({ name, key: KEY, state: 'ACTIVE' }),
    createUserApiKey: ({ name }) => ({ name, key: KEY, state: 'ACTIVE' }),
    deleteApiKey: ({ name }) => ({ name }),
    deleteUserApiKey: ({ name }) => ({ name }),
    ...overrides,
  });
}

const calls = [
  ['create_api_key', { name: 'ci' }, 'me@b.c-ci', 'deleteApiKey', { name: 'ci' }],
  ['create_user_api_key', { user: 'a@b.c', name: 'ci' }, 'a@b.c-ci', 'deleteUserApiKey', { user: 'a@b.c', name: 'ci' }],
] as const;

describe('a tool whose answer contains a secret', () => {
  it('is recognized by its schema', () => {
    const issuing = [...rowTools().values()].filter(({ row }) => issuesSecret(row)).map(({ listing }) => listing.name);
    expect(issuing).toEqual([...calls.map(([name]) => name), 'create_integration']);
  });

  it.each(calls)("%s answers with the secret's file, not with the secret", async (name, args, label) => {
    const put: [string, string][] = [];
    const keepSecret = async (...given: [string, string]) => {
      put.push(given);
      return '/data/keys/ci.key';
    };
    const answer = await callTool({ client: service().client, name, args, confirm, means: { keepSecret } });
    expect(answer).toMatchObject({ isError: false, structured: { key: 'Ab3d…', kept_in: '/data/keys/ci.key' } });
    expect(answer.structured['next']).toContain('kept_in');
    expect(JSON.stringify(answer)).not.toContain(KEY);
    expect(put).toEqual([[label, KEY]]);
  });

  it.each(calls)('%s creates nothing if the secret cannot be kept anywhere', async (name, args) => {
    const { client, calls } = service();
    const answer = await callTool({ client, name, args, confirm });
    expect(answer).toMatchObject({ isError: true, structured: { error: { code: 'cannot_keep_secret' } } });
    expect(answer.text).toContain(`colloquy call ${name} '{`);
    expect(calls).toEqual([]);
  });

  it.each(calls)('%s deletes it again if it cannot be written', async (name, args, _, remover, target) => {
    const { client, calls } = service();
    const keepSecret = () => Promise.reject(new Error('the disk is full'));
    const answer = await callTool({ client, name, args, confirm, means: { keepSecret } });
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain('the disk is full');
    expect(answer.text).toContain('deleted again');
    expect(answer.text).not.toContain(KEY);
    expect(calls.at(-1)).toMatchObject({ operation: remover, input: target });
  });

  it('says what is left if that cannot be deleted either', async () => {
    const throwing = () => {
      throw new Error('gone');
    };
    const { client } = service({ deleteApiKey: throwing });
    const keepSecret = () => Promise.reject(new Error('the disk is full'));
    const answer = await callTool({
      client,
      name: 'create_api_key',
      args: { name: 'ci' },
      confirm,
      means: { keepSecret },
    });
    expect(answer.text).toContain('could not be deleted either (gone): delete it');
  });

  it('is not aborted halfway', async () => {
    const stop = new AbortController();
    const { client, calls } = service();
    const keepSecret = async () => 'x';
    const signal = stop.signal;
    await callTool({ client, name: 'create_api_key', args: { name: 'ci' }, confirm, means: { keepSecret }, signal });
    expect(calls.map(({ operation }) => operation)).toEqual(['getCurrentUser', 'createApiKey']);
    expect(calls[1]?.signal).toBeUndefined();
  });
});
