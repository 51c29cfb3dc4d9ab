import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract, OPERATIONS, type Operation } from '../../../src/contract/contract.ts';
import { fillPath } from '../../../src/contract/path.ts';
import { ROLES, type Role, type Row } from '../../../src/contract/row.ts';
import { permits } from '../../../src/service/access/auth.ts';
import { startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

/**
 * The endpoints, by number, that each role may call in addition to those of the previous role: from the interface description's table,
 * not from the rows.
 */
const MAY: Readonly<Record<Role, readonly number[]>> = {
  // Every GET but other users' keys (#11); queries and lambda runs; its own keys.
  'read-only': [
    ...[15, 16, 17, 18, 21, 22, 23, 24, 25, 28, 29, 32, 33, 34, 38, 39, 43, 44, 47, 48, 49, 50],
    ...[53, 54, 55, 56, 60, 61, 62],
    ...[1, 2, 41, 46],
    ...[6, 8, 10],
  ],
  // Documents, aliases, collections, lambdas and tags, workspaces.
  member: [...[3, 4, 5], ...[12, 13, 14], ...[19, 20], ...[35, 36, 37, 40, 42, 45], ...[58, 59]],
  // Users, other users' keys, allowlist, integrations, virtual instances.
  admin: [...[51, 52], ...[7, 9, 11], ...[26, 27], ...[30, 31], 57],
};

function mayCall(role: Role, number: number): boolean {
  return ROLES.slice(0, ROLES.indexOf(role) + 1).some((upTo) => MAY[upTo].includes(number));
}

let service: TestService;
const keys = new Map<string, string>();
beforeAll(async () => {
  service = await startTestService();
  for (const role of ROLES) keys.set(role, await addUser(service, `${role}@example.com`, role));
  keys.set('two', await addUser(service, 'two@example.com', 'read-only', 'member'));
});
afterAll(() => service.remove());

/** Names of things that do not exist, so that even an allowed call changes nothing. */
const PARAMS = {
  workspace: 'no-workspace',
  collection: 'no-collection',
  alias: 'no-alias',
  queryLambda: 'no-lambda',
  version: '0000000000000000',
  tag: 'no-tag',
  integration: 'no-integration',
  name: 'no-name',
  user: 'nobody@example.com',
  virtualInstanceId: '00000000-0000-0000-0000-000000000000',
};

function callAs(who: string, operation: Operation, options: { rawBody?: string } = {}) {
  const row: Row = contract[operation];
  const body = row.body === undefined || options.rawBody !== undefined ? undefined : {};
  return service.call(row.method, fillPath(row.path, PARAMS), body, { key: keys.get(who) ?? null, ...options });
}

describe('the table of roles', () => {
  it('names each of the 62 endpoints once', () => {
    const numbers = ROLES.flatMap((role) => MAY[role]);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 62 }, (_, index) => index + 1));
    expect(new Set(OPERATIONS.map((operation) => contract[operation].number))).toEqual(new Set(numbers));
  });
});

describe.each(ROLES)('a %s key', (role) => {
  it.each(OPERATIONS.map((operation) => [contract[operation].number, operation] as const))(
    'and #%i %s',
    async (number, operation) => {
      const answer = await callAs(role, operation);
      if (mayCall(role, number)) {
        expect([200, 400, 404, 409]).toContain(answer.status);
        return;
      }
      expect([answer.status, answer.body.type]).toEqual([403, 'FORBIDDEN']);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      const needed = ROLES.find((upTo) => MAY[upTo].includes(number));
      expect(answer.body.message).toMatch(
        new RegExp(`^Cannot .*: it needs the role "${needed}", and the user "${role}@example\\.com" .* has "${role}"`),
      );
      // The request is refused before its body is read.
      const malformed = await callAs(role, operation, { rawBody: '{"name":' });
      expect(malformed.status).toBe(403);
    },
  );
});

describe('a user with two roles', () => {
  it('may do what either may', async () => {
    for (const operation of OPERATIONS) {
      const answer = await callAs('two', operation);
      const isRefused = answer.status === 403;
      expect([operation, isRefused]).toEqual([operation, !mayCall('member', contract[operation].number)]);
    }
  });
});

describe('what is refused', () => {
  it('changes nothing', async () => {
    const key = keys.get('read-only') ?? null;
    const before = await state();
    for (const [path, body] of [
      ['/ws', { name: 'sneaked-in' }],
      ['/ws/commons/collections', { name: 'sneaked-in' }],
      ['/users', { email: 'sneak@example.com', roles: ['admin'] }],
      ['/users/read-only@example.com/apikeys', { name: 'sneaked-in' }],
      ['/ip/allowlist', { name: 'sneaked-in', ip_address: '203.0.113.9' }],
      ['/integrations', { name: 'sneaked-in', kafka: { kafka_topic_names: ['t'] } }],
    ] as const) {
      expect((await service.call('POST', `/v1/orgs/self${path}`, body, { key })).status).toBe(403);
    }
    expect(await state()).toEqual(before);
  });
});

/** Everything that exists, except when keys were last used. */
async function state(): Promise<string[]> {
  const paths = [
    '/ws',
    '/collections',
    '/users',
    '/users/read-only@example.com/apikeys',
    '/ip/allowlist',
    '/integrations',
  ];
  const answers = await Promise.all(paths.map((path) => service.call('GET', `/v1/orgs/self${path}`)));
  return answers.map((answer) => answer.text.replace(/"last_access_time":"[^"]*"/g, ''));
}

describe('permits()', () => {
  it('needs one role that is high enough', () => {
    expect(permits([], 'read-only')).toBe(false);
    expect(permits(['read-only'], 'member')).toBe(false);
    expect(permits(['read-only', 'admin'], 'member')).toBe(true);
  });
});
