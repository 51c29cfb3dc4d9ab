import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/http/client.ts';
import { startTestService, type TestService } from '../harness.ts';
import { addKey, addUser, MY_KEYS, USERS } from '../people.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.remove());

const KEYS = [
  'created_at',
  'email',
  'first_name',
  'invite_state',
  'last_name',
  'org',
  'org_memberships',
  'orgs',
  'roles',
  'state',
];

function create(email: unknown, roles: unknown) {
  return service.call('POST', USERS, { email, roles });
}

async function stateOf(email: string) {
  const { body } = await service.call('GET', USERS);
  const { state, invite_state } = body.data.find((one: { email: string }) => one.email === email);
  return [state, invite_state];
}

describe('createUser()', () => {
  it('makes a user that is NEW until its first request', async () => {
    const made = await create('ada@example.com', ['member']);
    expect(made.status).toBe(200);
    expect(keysOf(made.body)).toEqual(['data']);
    expect(keysOf(made.body.data)).toEqual(KEYS);
    const { body: organization } = await service.call('GET', '/v1/orgs/self');
    expect(made.body.data).toEqual({
      email: 'ada@example.com',
      roles: ['member'],
      state: 'NEW',
      invite_state: 'PENDING',
      first_name: null,
      last_name: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      org: 'local',
      orgs: [organization.data],
      org_memberships: [
        {
          organization: organization.data,
          roles: ['member'],
          created_at: made.body.data.created_at,
          expires_at: null,
        },
      ],
    });
    const key = await addKey(service, 'ada@example.com', 'k');
    expect(await stateOf('ada@example.com')).toEqual(['NEW', 'PENDING']);
    // The call is refused, but it was made with the user's key.
    expect((await service.call('POST', USERS, {}, { key })).status).toBe(403);
    expect(await stateOf('ada@example.com')).toEqual(['ACTIVE', 'ACCEPTED']);
  });

  it('takes several roles, each once', async () => {
    const made = await create('both@example.com', ['read-only', 'admin', 'read-only']);
    expect(made.body.data.roles).toEqual(['read-only', 'admin']);
    const key = await addKey(service, 'both@example.com', 'k');
    expect((await service.call('GET', `${USERS}/admin@localhost/apikeys`, undefined, { key })).status).toBe(200);
  });

  it.each(['grace@example.com', 'Grace@Example.COM'])('%s exists already', async (email) => {
    await create('grace@example.com', ['member']);
    const again = await create(email, ['admin']);
    expect([again.status, again.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(keysOf(again.body)).toEqual(ERROR_KEYS);
    expect(again.body.message).toContain(`"${email}": user "grace@example.com" exists already`);
    const { body } = await service.call('GET', USERS);
    expect(body.data.find((one: { email: string }) => one.email === 'grace@example.com').roles).toEqual(['member']);
  });

  it('five at once make one', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => create('race@example.com', ['member'])));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409]);
  });

  it.each([
    [undefined, ['member'], '"email" is missing'],
    ['', ['member'], '"email"'],
    ['nobody', ['member'], '"email"'],
    ['self', ['member'], '"email"'],
    ['a b@example.com', ['member'], '"email"'],
    ['a@example.com\n', ['member'], '"email"'],
    [' a@example.com', ['member'], '"email"'],
    ['a@b@example.com', ['member'], '"email"'],
    ['<script>@example.com', ['member'], '"email"'],
    [7, ['member'], '"email": expected a string, got a number'],
    [`${'x'.repeat(300)}@example.com`, ['member'], '"email"'],
    ['a@example.com', undefined, '"roles" is missing'],
    ['a@example.com', null, '"roles"'],
    ['a@example.com', [], '"roles"'],
    ['a@example.com', 'admin', '"roles": expected an array, got a string'],
    ['a@example.com', ['root'], '"roles[0]": expected one of "read-only", "member", "admin", got "root"'],
    ['a@example.com', ['Admin'], 'got "Admin"'],
    ['a@example.com', ['member', 5], '"roles[1]"'],
    ['a@example.com', [null], '"roles[0]"'],
  ])('%j with %j is 400', async (email, roles, why) => {
    const answer = await create(email, roles);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });
});

describe('listUsers()', () => {
  it('is for every role, by e-mail', async () => {
    const key = await addUser(service, 'aaa@example.com', 'read-only');
    const list = await service.call('GET', USERS, undefined, { key });
    expect(keysOf(list.body)).toEqual(['data']);
    const emails = list.body.data.map((one: { email: string }) => one.email);
    expect(emails).toEqual([...emails].sort());
    expect(emails).toEqual(expect.arrayContaining(['aaa@example.com', 'admin@localhost']));
    for (const user of list.body.data) expect(keysOf(user)).toEqual(KEYS);
    expect(list.text).not.toMatch(/hash|[0-9a-f]{64}/);
    expect((await service.call('GET', USERS, undefined, { key: null })).status).toBe(401);
  });
});

describe('deleteUser()', () => {
  it.each(['Gone+1@example.com', 'Gone%2B1%40example.com', 'gone+1@EXAMPLE.com'])(
    'takes the keys along (%s)',
    async (path) => {
      const key = await addUser(service, 'Gone+1@example.com', 'member');
      const second = await addKey(service, 'Gone+1@example.com', 'second');
      const deleted = await service.call('DELETE', `${USERS}/${path}`);
      expect(deleted.status).toBe(200);
      expect(keysOf(deleted.body)).toEqual(['data']);
      expect(keysOf(deleted.body.data)).toEqual(KEYS);
      expect(deleted.body.data.email).toBe('Gone+1@example.com');
      for (const dead of [key, second]) {
        const answer = await service.call('GET', `${USERS}/self`, undefined, { key: dead });
        expect([answer.status, answer.body.type]).toEqual([401, 'AUTHEXCEPTION']);
      }
      // A user created again has none of the old keys.
      await create('Gone+1@example.com', ['admin']);
      expect((await service.call('GET', `${USERS}/Gone+1@example.com/apikeys`)).body.data).toEqual([]);
      expect((await service.call('GET', `${USERS}/self`, undefined, { key })).status).toBe(401);
      await service.call('DELETE', `${USERS}/Gone+1@example.com`);
    },
  );

  it('leaves what the user made', async () => {
    const key = await addUser(service, 'maker@example.com', 'member');
    await service.call('POST', '/v1/orgs/self/ws', { name: 'made' }, { key });
    await service.call('DELETE', `${USERS}/maker@example.com`);
    expect((await service.call('GET', '/v1/orgs/self/ws/made')).body.data.created_by).toBe('maker@example.com');
  });

  it.each(['self', 'admin@localhost', 'ADMIN@localhost'])('cannot delete the caller as %s', async (path) => {
    await addUser(service, 'spare@example.com', 'admin');
    const answer = await service.call('DELETE', `${USERS}/${path}`);
    expect([answer.status, answer.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(answer.body.message).toMatch(/"admin@localhost": the API key of this request belongs to it.*another admin/);
    await service.call('DELETE', `${USERS}/spare@example.com`);
  });

  it.each(['nobody@example.com', '__proto__', 'x'])('%s does not exist', async (path) => {
    const answer = await service.call('DELETE', `${USERS}/${path}`);
    expect([answer.status, answer.body.message_key]).toEqual([404, 'USER_NOT_FOUND']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain(`User "${path}" does not exist`);
  });

  it('needs an admin, and GET of a user is 405', async () => {
    const key = await addUser(service, 'weak@example.com', 'member');
    for (const path of ['self', 'weak@example.com', 'admin@localhost']) {
      expect((await service.call('DELETE', `${USERS}/${path}`, undefined, { key })).status).toBe(403);
    }
    const answer = await service.call('GET', `${USERS}/weak@example.com`);
    expect([answer.status, answer.body.type]).toEqual([405, 'METHODNOTALLOWED']);
    await service.call('DELETE', `${USERS}/weak@example.com`);
  });

  it('two admins who delete each other leave one', async () => {
    const own = await startTestService();
    const other = await addUser(own, 'other@example.com', 'admin');
    const answers = await Promise.all([
      own.call('DELETE', `${USERS}/other@example.com`),
      own.call('DELETE', `${USERS}/admin@localhost`, undefined, { key: other }),
    ]);
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 401]);
    const left = answers[0]?.status === 200 ? own.key : other;
    const { body } = await own.call('GET', USERS, undefined, { key: left });
    expect(body.data).toHaveLength(1);
    expect(body.data[0].roles).toEqual(['admin']);
    await own.remove();
  });
});

describe('users over restarts', () => {
  it('stay as they are; the admin of the data folder comes back', async () => {
    const first = await startTestService();
    const admin = await addUser(first, 'boss@example.com', 'admin');
    await addUser(first, 'new@example.com', 'read-only');
    expect((await first.call('DELETE', `${USERS}/admin@localhost`, undefined, { key: admin })).status).toBe(200);
    expect((await first.call('GET', USERS)).status).toBe(401);
    const before = (await first.call('GET', USERS, undefined, { key: admin })).body.data;
    await first.stop();
    const second = await startTestService({}, first.folder);
    const after = (await second.call('GET', USERS, undefined, { key: admin })).body.data;
    expect(after.filter((one: { email: string }) => one.email !== 'admin@localhost')).toEqual(before);
    expect(second.key).not.toBe(first.key);
    expect((await second.call('GET', MY_KEYS)).body.data).toHaveLength(1);
    await second.remove();
  });
});

describe('the HTTP core', () => {
  it('creates, lists and deletes users', async () => {
    const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    expect((await client.createUser({ email: 'c@example.com', roles: ['member'] })).state).toBe('NEW');
    expect((await client.listUsers({})).map((user) => user.email)).toContain('c@example.com');
    expect((await client.getCurrentUser({})).email).toBe('admin@localhost');
    expect((await client.deleteUser({ user: 'c@example.com' })).email).toBe('c@example.com');
    await expect(client.deleteUser({ user: 'c@example.com' })).rejects.toMatchObject({
      code: 'not_found',
      details: { messageKey: 'USER_NOT_FOUND' },
    });
    await client.close();
  });
});
