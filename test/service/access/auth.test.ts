import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract, OPERATIONS } from '../../../src/contract/contract.ts';
import { fillPath } from '../../../src/contract/path.ts';
import type { Row } from '../../../src/contract/row.ts';
import { hashKey, KEY_LENGTH, newKey } from '../../../src/service/access/auth.ts';
import { startTestService, type TestService } from '../harness.ts';
import { addKey, addUser, USERS } from '../people.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
const credentials = new Map<string, string | undefined>();
beforeAll(async () => {
  service = await startTestService();
  await addUser(service, 'keeper@example.com', 'admin');
  const deletedKey = await addKey(service, 'keeper@example.com', 'to-delete');
  await service.call('DELETE', `${USERS}/keeper@example.com/apikeys/to-delete`);
  const ofDeletedUser = await addUser(service, 'gone@example.com', 'admin');
  await service.call('DELETE', `${USERS}/gone@example.com`);
  credentials.set('no key', undefined);
  credentials.set('an empty header', '');
  credentials.set('an unknown key', `ApiKey ${newKey()}`);
  credentials.set('the wrong scheme', `Basic ${service.key}`);
  credentials.set('no scheme', service.key);
  credentials.set('two keys', `ApiKey ${service.key} ${service.key}`);
  credentials.set('the hash of a key', `ApiKey ${hashKey(service.key)}`);
  credentials.set('a masked key', `ApiKey ${service.key.slice(0, 4).padEnd(KEY_LENGTH, '*')}`);
  credentials.set('a deleted key', `ApiKey ${deletedKey}`);
  credentials.set('a key of a deleted user', `ApiKey ${ofDeletedUser}`);
});
afterAll(() => service.remove());

describe('authenticate()', () => {
  it.each([
    'no key',
    'an empty header',
    'an unknown key',
    'the wrong scheme',
    'no scheme',
    'two keys',
    'the hash of a key',
    'a masked key',
    'a deleted key',
    'a key of a deleted user',
  ])('refuses %s at every endpoint', async (which) => {
    const authorization = credentials.get(which);
    for (const operation of OPERATIONS) {
      const row: Row = contract[operation];
      const params = Object.fromEntries(Object.keys(row.params?.shape ?? {}).map((name) => [name, 'x']));
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const answer = await service.call(row.method, fillPath(row.path, params), undefined, { key: null, headers });
      expect([operation, answer.status, answer.body.type]).toEqual([operation, 401, 'AUTHEXCEPTION']);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect(answer.headers['www-authenticate']).toBe('ApiKey');
      expect(answer.text).not.toContain(service.key);
    }
  });

  it('accepts keys while their fellows are deleted', async () => {
    const key = await addKey(service, 'keeper@example.com', 'another');
    expect((await service.call('GET', '/v1/orgs/self', undefined, { key })).status).toBe(200);
  });
});

describe('newKey()', () => {
  it('draws 64 of 62 characters, all about equally often', () => {
    const counts = new Map<string, number>();
    const keys = Array.from({ length: 1_000 }, newKey);
    for (const key of keys) {
      expect(key).toMatch(/^[A-Za-z0-9]{64}$/);
      for (const character of key) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect(new Set(keys).size).toBe(1_000);
    expect(counts.size).toBe(62);
    // Expected: 1,032 each, with a standard deviation of 32; a byte modulo 62 would make some a quarter more frequent.
    for (const count of counts.values()) expect(Math.abs(count - 1_032)).toBeLessThan(200);
  });
});
