import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/http/client.ts';
import { fileTest } from '../../engine/harness.ts';
import { longTest } from '../../long.ts';
import { filesOf, startTestService, type TestService } from '../harness.ts';
import { addKey, addUser, MY_KEYS, USERS } from '../people.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

const KEYS = ['created_at', 'created_by', 'expiry_time', 'key', 'last_access_time', 'name', 'role', 'state'];
const MASKED = /^[A-Za-z0-9]{4}\*{60}$/;

function statusOf(key: string, on = service): Promise<number> {
  return on.call('GET', '/v1/orgs/self', undefined, { key }).then((answer) => answer.status);
}

describe('createApiKey()', () => {
  it('shows the key whole once, and masked afterwards', async () => {
    const made = await service.call('POST', MY_KEYS, { name: 'laptop' });
    expect(made.status).toBe(200);
    expect(keysOf(made.body)).toEqual(['data']);
    expect(keysOf(made.body.data)).toEqual(KEYS);
    expect(made.body.data).toEqual({
      name: 'laptop',
      key: expect.stringMatching(/^[A-Za-z0-9]{64}$/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      created_by: 'admin@localhost',
      last_access_time: null,
      state: 'ACTIVE',
      role: null,
      expiry_time: null,
    });
    const { key } = made.body.data;
    const list = await service.call('GET', MY_KEYS);
    const listed = list.body.data.find((one: { name: string }) => one.name === 'laptop');
    expect(listed).toEqual({ ...made.body.data, key: `${key.slice(0, 4)}${'*'.repeat(60)}` });
    expect(list.text).not.toContain(key.slice(0, 8));
    expect(await statusOf(key)).toBe(200);
    expect(JSON.stringify(service.lines)).not.toContain(key);
  });

  it('makes keys that never repeat, from all 62 characters', async () => {
    const email = 'many@example.com';
    await service.call('POST', USERS, { email, roles: ['member'] });
    const keys: string[] = [];
    for (let index = 0; index < 10; index++) keys.push(await addKey(service, email, `k${index}`));
    expect(new Set(keys).size).toBe(10);
    // In 640 characters all 62 occur, except about once in 500 runs; ten are never missing by chance.
    expect(new Set(keys.join('')).size).toBeGreaterThan(52);
  });

  it('refuses the eleventh, also of eleven at once', async () => {
    const key = await addUser(service, 'ten@example.com', 'read-only');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => service.call('POST', MY_KEYS, { name: `k${index}` }, { key })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(9);
    const refused = answers.filter((answer) => answer.status !== 200);
    for (const answer of refused) {
      expect([answer.status, answer.body.type]).toEqual([429, 'RESOURCEEXCEEDED']);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect(answer.body.message).toMatch(/"ten@example\.com": it has 10 keys, and at most 10.*Delete one first/);
    }
    expect((await service.call('POST', `${USERS}/ten@example.com/apikeys`, { name: 'more' })).status).toBe(429);
    await service.call('DELETE', `${MY_KEYS}/first`, undefined, { key });
    expect((await service.call('POST', `${USERS}/ten@example.com/apikeys`, { name: 'more' })).status).toBe(200);
  });

  it('a name is taken once per user', async () => {
    const key = await addUser(service, 'twice@example.com', 'member');
    const again = await service.call('POST', MY_KEYS, { name: 'first' }, { key });
    expect([again.status, again.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(again.body.message).toContain('"first" for user "twice@example.com": a key of that name exists already');
    expect((await service.call('POST', MY_KEYS, { name: 'First' }, { key })).status).toBe(200);
    expect((await service.call('POST', MY_KEYS, { name: 'first' })).status).toBe(200);
  });

  it.each([
    [undefined, '"name" is missing'],
    [{}, '"name" is missing'],
    [{ name: null }, '"name"'],
    [{ name: 5 }, '"name": expected a string, got a number'],
    [{ name: '' }, '"name" must not be empty'],
    [{ name: '  ' }, 'readable text'],
    [{ name: '.' }, 'not "." or ".."'],
    [{ name: '..' }, 'not "." or ".."'],
    [{ name: 'a\u0000b' }, 'readable text'],
    [{ name: 'a\nb' }, 'readable text'],
    [{ name: '\ud800' }, 'readable text'],
    [{ name: 'x'.repeat(129) }, '"name"'],
    [{ name: ['a'] }, 'got an array'],
  ])('%j is 400', async (body, why) => {
    for (const path of [MY_KEYS, `${USERS}/admin@localhost/apikeys`]) {
      const answer = await service.call('POST', path, body);
      expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
      expect(answer.body.message).toContain(why);
    }
  });

  it('names that nobody thought of work', async () => {
    await service.call('POST', USERS, { email: 'odd@example.com', roles: ['member'] });
    for (const name of ['a/b', 'a b', '50%', '__proto__', 'ключ', 'a?b#c', '...', '"; --', 'x'.repeat(128)]) {
      const key = await addKey(service, 'odd@example.com', name);
      const deleted = await service.call('DELETE', `${MY_KEYS}/${encodeURIComponent(name)}`, undefined, { key });
      expect([deleted.status, deleted.body.data?.name]).toEqual([200, name]);
    }
  });
});

describe("another user's keys", () => {
  it.each([
    ['Ada.L+x@example.com', 'Ada.L+x@example.com'],
    ['Ada.L+x@example.com', 'Ada.L%2Bx%40example.com'],
    ['Ada.L+x@example.com', 'ada.l+x@EXAMPLE.com'],
  ])('of %s are reached as %s', async (email, path) => {
    await service.call('POST', USERS, { email, roles: ['member'] });
    const made = await service.call('POST', `${USERS}/${path}/apikeys`, { name: 'theirs' });
    expect(keysOf(made.body.data)).toEqual(KEYS);
    expect(made.body.data).toMatchObject({ created_by: 'admin@localhost', name: 'theirs' });
    const list = await service.call('GET', `${USERS}/${path}/apikeys`);
    expect(keysOf(list.body)).toEqual(['data']);
    expect(list.body.data.map((one: { key: string }) => one.key)).toEqual([expect.stringMatching(MASKED)]);
    const { key } = made.body.data;
    const me = await service.call('GET', `${USERS}/self`, undefined, { key });
    expect(me.body.email).toBe(email);
    const deleted = await service.call('DELETE', `${USERS}/${path}/apikeys/theirs`);
    expect(deleted.body.data).toMatchObject({ name: 'theirs', key: expect.stringMatching(MASKED) });
    expect(await statusOf(key)).toBe(401);
    expect((await service.call('GET', `${USERS}/${path}/apikeys`)).body).toEqual({ data: [] });
  });

  fileTest('self, in whatever spelling of the path, is the caller', async () => {
    for (const path of [`${USERS}/self/apikeys`, `${USERS}/%73elf/apikeys`, `${USERS}/admin@localhost/apikeys`]) {
      const list = await service.call('GET', path);
      expect(list.body.data.map((one: { name: string }) => one.name)).toContain('local-admin');
    }
    const key = await addUser(service, 'plain@example.com', 'read-only');
    const own = await service.call('GET', MY_KEYS, undefined, { key });
    expect(own.body.data.map((one: { name: string }) => one.name)).toEqual(['first']);
    // The router decodes the path before it matches, so this is the same endpoint.
    const encoded = await service.call('GET', `${USERS}/%73elf/apikeys`, undefined, { key });
    expect(encoded.body.data.map((one: { name: string }) => one.name)).toEqual(['first']);
  });

  it.each(['nobody@example.com', 'SELF', '__proto__', 'constructor', '%00', 'x'.repeat(3_000)])(
    'of %j is 404',
    async (user) => {
      for (const [method, path, body] of [
        ['POST', '', { name: 'k' }],
        ['GET', '', undefined],
        ['DELETE', '/k', undefined],
      ] as const) {
        const answer = await service.call(method, `${USERS}/${user}/apikeys${path}`, body);
        expect([answer.status, answer.body.message_key]).toEqual([404, 'USER_NOT_FOUND']);
        expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      }
    },
  );

  it('a member sees and changes only its own', async () => {
    const key = await addUser(service, 'member@example.com', 'member');
    for (const [method, path, body] of [
      ['POST', '', { name: 'k' }],
      ['GET', '', undefined],
      ['DELETE', '/local-admin', undefined],
    ] as const) {
      const answer = await service.call(method, `${USERS}/admin@localhost/apikeys${path}`, body, { key });
      expect([answer.status, answer.body.type]).toEqual([403, 'FORBIDDEN']);
    }
    const own = await service.call('DELETE', `${MY_KEYS}/local-admin`, undefined, { key });
    expect([own.status, own.body.message_key]).toEqual([404, 'API_KEY_NOT_FOUND']);
    expect(await statusOf(service.key)).toBe(200);
  });
});

describe('deleteApiKey()', () => {
  fileTest('answers a key that does not exist with 404 and the nearest name', async () => {
    const answer = await service.call('DELETE', `${MY_KEYS}/local-admn`);
    expect(answer.body).toMatchObject({
      type: 'NOTFOUND',
      message_key: 'API_KEY_NOT_FOUND',
      message: 'API key "local-admn" of user "admin@localhost" does not exist. Did you mean "local-admin"?',
    });
  });

  it('deletes the key in use: this answer still comes, the next does not', async () => {
    const key = await addUser(service, 'leaving@example.com', 'member');
    const deleted = await service.call('DELETE', `${MY_KEYS}/first`, undefined, { key });
    expect(keysOf(deleted.body.data)).toEqual(KEYS);
    expect(deleted.status).toBe(200);
    expect(await statusOf(key)).toBe(401);
    expect((await service.call('DELETE', `${USERS}/leaving@example.com/apikeys/first`)).status).toBe(404);
  });

  it('stops requests whose body is still on its way', async () => {
    const key = await addUser(service, 'slow@example.com', 'member');
    const { request } = await import('node:http');
    const answer = new Promise<number | undefined>((resolve, reject) => {
      const body = '{"name":"made-too-late"}';
      const headers = {
        authorization: `ApiKey ${key}`,
        'content-type': 'application/json',
        'content-length': body.length,
      };
      const sent = request({ socketPath: service.socket, method: 'POST', path: MY_KEYS, headers }, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      });
      sent.on('error', reject);
      sent.write(body.slice(0, 5));
      sleep(100)
        .then(() => service.call('DELETE', `${USERS}/slow@example.com/apikeys/first`))
        .then(() => sent.end(body.slice(5)))
        .catch(reject);
    });
    expect(await answer).toBe(401);
    expect((await service.call('GET', `${USERS}/slow@example.com/apikeys`)).body.data).toEqual([]);
  });
});

describe('the HTTP core', () => {
  it('creates, lists and deletes keys', async () => {
    const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    const made = await client.createApiKey({ name: 'core' });
    expect(made.key).toHaveLength(64);
    expect((await client.listApiKeys({})).map((one) => one.name)).toContain('core');
    await client.createUser({ email: 'core@example.com', roles: ['member'] });
    expect((await client.createUserApiKey({ user: 'core@example.com', name: 'k/1' })).name).toBe('k/1');
    expect((await client.listUserApiKeys({ user: 'core@example.com' })).map((one) => one.name)).toEqual(['k/1']);
    expect((await client.deleteUserApiKey({ user: 'core@example.com', name: 'k/1' })).key).toMatch(MASKED);
    expect((await client.deleteApiKey({ name: 'core' })).name).toBe('core');
    await expect(client.deleteApiKey({ name: 'core' })).rejects.toMatchObject({ code: 'not_found' });
    await client.close();
  });
});

describe('the time of the last use', () => {
  const timeOf = async (email: string) =>
    (await service.call('GET', `${USERS}/${email}/apikeys`)).body.data[0].last_access_time;

  it('follows', async () => {
    const key = await addUser(service, 'busy@example.com', 'member');
    expect(await timeOf('busy@example.com')).toBeNull();
    await statusOf(key);
    const earlier = await timeOf('busy@example.com');
    await sleep(5);
    await statusOf(key);
    expect((await timeOf('busy@example.com')) > earlier).toBe(true);
  });

  longTest('is the same once it was stored, after some seconds', async () => {
    await statusOf(await addUser(service, 'stored@example.com', 'member'));
    const used = await timeOf('stored@example.com');
    await sleep(5_500);
    expect(await timeOf('stored@example.com')).toBe(used);
  });
});

describe('over restarts', () => {
  const started: TestService[] = [];
  afterEach(async () => {
    for (const one of started.splice(0)) await one.remove();
  });

  async function restart(before?: TestService): Promise<TestService> {
    await before?.stop();
    const next = await startTestService({}, before?.folder);
    started.push(next);
    return next;
  }

  it('keys stay, with the time of their last use, and are in no file', async () => {
    const first = await restart();
    const key = await addUser(first, 'stays@example.com', 'member');
    await first.call('POST', MY_KEYS, { name: 'unused' }, { key });
    const used = await first.call('GET', MY_KEYS, undefined, { key });
    const times = used.body.data.map((one: { last_access_time: string | null }) => one.last_access_time);
    expect(times).toEqual([expect.stringMatching(/^\d{4}-.*Z$/), null]);
    const second = await restart(first);
    const after = await second.call('GET', `${USERS}/stays@example.com/apikeys`);
    expect(after.body.data).toEqual(used.body.data);
    await second.stop();
    const stored = await readFile(filesOf(second.folder).databaseFile);
    expect(stored.includes(key)).toBe(false);
    expect(stored.includes(key.slice(4, 20))).toBe(false);
  });

  fileTest("the data folder's key is listed; deleted, it is dead, and the next start makes another", async () => {
    const first = await restart();
    const other = await addUser(first, 'second@example.com', 'admin');
    const deleted = await first.call('DELETE', `${MY_KEYS}/local-admin`);
    expect(deleted.body.data).toMatchObject({ name: 'local-admin', created_by: 'admin@localhost' });
    expect(await statusOf(first.key, first)).toBe(401);
    const taken = await first.call('POST', `${USERS}/admin@localhost/apikeys`, { name: 'local-admin' }, { key: other });
    expect([taken.status, taken.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(taken.body.message).toContain('data folder');
    const second = await restart(first);
    expect(second.key).not.toBe(first.key);
    const list = await second.call('GET', MY_KEYS);
    expect(list.body.data.map((one: { name: string }) => one.name)).toEqual(['local-admin']);
    expect(await statusOf(first.key, second)).toBe(401);
    expect(await statusOf(other, second)).toBe(200);
  });
});
