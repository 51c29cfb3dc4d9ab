import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { contract, OPERATIONS } from '../../../src/contract/contract.ts';
import { fillPath } from '../../../src/contract/path.ts';
import type { Row } from '../../../src/contract/row.ts';
import { createClient } from '../../../src/http/client.ts';
import { makeFolder, startTestService, type TestService } from '../harness.ts';
import { callFrom } from '../people.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

const LIST = '/v1/orgs/self/ip/allowlist';
const KEYS = ['created_at', 'creator_email', 'description', 'ip_address', 'name'];
const ON_LIST = '203.0.113.9';
const STRANGER = '198.51.100.1';

/** A service that trusts what a proxy on this machine says about addresses. */
async function startBehindProxy(folder?: string, trustProxy: string[] = ['127.0.0.1']): Promise<TestService> {
  const home = folder ?? (await makeFolder());
  const listen = [{ path: `${home}/service.sock` }, { host: '127.0.0.1', port: 0 }];
  return startTestService({ listen, trustProxy }, home);
}

let service: TestService;
beforeAll(async () => {
  service = await startBehindProxy();
});
afterAll(() => service.remove());
// Done over the local socket, which is always admitted.
afterEach(async () => {
  for (const { name } of (await service.call('GET', LIST)).body.data) await service.call('DELETE', `${LIST}/${name}`);
});

function add(name: unknown, ip_address: unknown) {
  return service.call('POST', LIST, { name, ip_address });
}

async function names(): Promise<string[]> {
  return (await service.call('GET', LIST)).body.data.map((one: { name: string }) => one.name);
}

describe('the entries', () => {
  it('are created, read, listed and deleted in the data envelope', async () => {
    const body = { name: 'office', description: 'the office', ip_address: '203.0.113.0/24' };
    const made = await service.call('POST', LIST, body);
    expect(made.status).toBe(200);
    expect(keysOf(made.body)).toEqual(['data']);
    expect(keysOf(made.body.data)).toEqual(KEYS);
    expect(made.body.data).toEqual({
      ...body,
      creator_email: 'admin@localhost',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect((await service.call('GET', `${LIST}/office`)).body).toEqual(made.body);
    const second = await add('home', '2001:db8::7');
    expect(second.body.data.description).toBeNull();
    expect((await service.call('GET', LIST)).body).toEqual({ data: [second.body.data, made.body.data] });
    // The body of a request that should have none is ignored.
    expect((await service.call('DELETE', `${LIST}/office`, { name: 'home' })).body).toEqual(made.body);
    expect(await names()).toEqual(['home']);
    expect((await add('office', '1.2.3.4')).status).toBe(200);
  });

  it.each([
    ['0.0.0.0/0', ['This range holds every IPv4 address: with it, the allowlist refuses none of them.']],
    ['::/0', ['This range holds every IPv6 address: with it, the allowlist refuses none of them.']],
    [
      '203.0.113.7/20',
      [
        '"203.0.113.7/20" has bits set behind its prefix: it lets the whole range in, 203.0.112.0 being its first address. For one address leave the prefix out.',
      ],
    ],
    ['203.0.113.7/32', undefined],
    ['203.0.113.0/24', undefined],
    ['2001:db8::/32', undefined],
  ])('are answered with what %s holds beyond what may be meant', async (range, warnings) => {
    expect((await add('some', range)).body.data.warnings).toEqual(warnings);
  });

  it('have one name each', async () => {
    await add('office', '203.0.113.0/24');
    const again = await add('office', '1.2.3.4');
    expect([again.status, again.body.type]).toEqual([409, 'ALREADYEXISTS']);
    expect(keysOf(again.body)).toEqual(ERROR_KEYS);
    expect(again.body.message).toContain('"office"');
    expect((await service.call('GET', `${LIST}/office`)).body.data.ip_address).toBe('203.0.113.0/24');
    const answers = await Promise.all(Array.from({ length: 4 }, () => add('race', '1.2.3.4')));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409]);
  });

  it.each([
    [undefined, '1.2.3.4', '"name" is missing'],
    ['', '1.2.3.4', '"name"'],
    ['a b', '1.2.3.4', '"name"'],
    ['a/b', '1.2.3.4', '"name"'],
    ['_a', '1.2.3.4', '"name"'],
    ['x'.repeat(129), '1.2.3.4', '"name"'],
    [5, '1.2.3.4', '"name": expected a string'],
    ['a', undefined, '"ip_address" is missing'],
    ['a', null, '"ip_address"'],
    ['a', 16909060, '"ip_address": expected a string'],
    ['a', ['1.2.3.4'], '"ip_address": expected a string'],
    ['a', '', '"ip_address" "" is neither'],
    ['a', '1.2.3.256', '"1.2.3.256" is neither an IP address nor a range in CIDR notation'],
    ['a', '1.2.3.4/33', 'is neither'],
    ['a', '1.2.3', 'is neither'],
    ['a', ' 1.2.3.4', 'is neither'],
    ['a', '1.2.3.4:80', 'is neither'],
    ['a', 'localhost', 'is neither'],
    ['a', '*', 'is neither'],
    ['a', '1.2.3.4-1.2.3.9', 'is neither'],
    ['a', '1.2.3.4, 1.2.3.5', 'is neither'],
    ['a', '2001:db8::/129', 'is neither'],
    ['a', 'x'.repeat(5_000), 'is neither'],
  ])('name %j with address %j is 400', async (name, address, why) => {
    const answer = await add(name, address);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
    expect(answer.body.message.length).toBeLessThan(600);
    expect(await names()).toEqual([]);
  });

  it.each(['nothing', '__proto__', 'a%2Fb', 'x'.repeat(3_000)])('%s does not exist', async (name) => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await service.call(method, `${LIST}/${name}`);
      expect([answer.status, answer.body.message_key]).toEqual([404, 'ALLOWLIST_ENTRY_NOT_FOUND']);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    }
  });
});

describe('the list', () => {
  it('lets everybody in while it is empty', async () => {
    for (const from of [STRANGER, ON_LIST, '2001:db8::9', 'nonsense', null]) {
      expect((await callFrom(service, from, 'GET', LIST)).status).toBe(200);
    }
  });

  it.each([
    ['203.0.113.0/24', ON_LIST],
    ['203.0.113.9', '::ffff:203.0.113.9'],
    ['::ffff:203.0.113.0/120', ON_LIST],
    ['2001:db8::/32', '2001:db8:0:1::7'],
    ['203.0.113.9', `127.0.0.1, ${ON_LIST}`],
  ])('%s lets %s in, and nobody else', async (entry, caller) => {
    await add('one', entry);
    expect((await callFrom(service, caller, 'GET', LIST)).status).toBe(200);
    for (const other of [STRANGER, '2001:db9::1', 'nonsense', `${ON_LIST}, ${STRANGER}`]) {
      expect([other, (await callFrom(service, other, 'GET', LIST)).status]).toEqual([other, 403]);
    }
    expect((await callFrom(service, null, 'GET', LIST)).status).toBe(200);
    expect((await service.call('GET', LIST)).status).toBe(200);
  });

  it.each(OPERATIONS)('refuses a stranger %s, with or without a key, and names the address', async (operation) => {
    await add('office', '203.0.113.0/24');
    const row: Row = contract[operation];
    const params = Object.fromEntries(Object.keys(row.params?.shape ?? {}).map((name) => [name, 'x']));
    const answer = await callFrom(service, STRANGER, row.method, fillPath(row.path, params));
    expect([answer.status, answer.body.type]).toEqual([403, 'FORBIDDEN']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toContain(`"${STRANGER}"`);
    expect(answer.body.message).toContain('IP allowlist');
  });

  it('does not keep probes away', async () => {
    await add('office', '203.0.113.0/24');
    for (const path of ['/', '/health', '/ready']) {
      expect((await callFrom(service, STRANGER, 'GET', path)).status).toBe(200);
    }
  });

  it('takes effect with the very next request, and ends with the last entry', async () => {
    expect((await callFrom(service, STRANGER, 'GET', LIST)).status).toBe(200);
    await add('office', '203.0.113.0/24');
    expect((await callFrom(service, STRANGER, 'GET', LIST)).status).toBe(403);
    await service.call('DELETE', `${LIST}/office`);
    expect((await callFrom(service, STRANGER, 'GET', LIST)).status).toBe(200);
  });
});

describe('nobody locks itself out', () => {
  it('by the first entry', async () => {
    const body = { name: 'office', ip_address: '203.0.113.0/24' };
    const refused = await callFrom(service, STRANGER, 'POST', LIST, body);
    expect([refused.status, refused.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(refused.body.message).toMatch(
      /"office".*locked out.*"198\.51\.100\.1".*"203\.0\.113\.0\/24" does not hold it/,
    );
    expect(await names()).toEqual([]);
    const own = { name: 'me', ip_address: STRANGER };
    expect((await callFrom(service, STRANGER, 'POST', LIST, own)).status).toBe(200);
    expect((await callFrom(service, STRANGER, 'POST', LIST, body)).status).toBe(200);
  });

  it('by deleting the entry that lets it in, unless it is the last', async () => {
    await add('me', STRANGER);
    await add('office', '203.0.113.0/24');
    const refused = await callFrom(service, STRANGER, 'DELETE', `${LIST}/me`);
    expect([refused.status, refused.body.type]).toEqual([409, 'DEPENDENTRESOURCES']);
    expect(refused.body.message).toMatch(/"me".*locked out.*"198\.51\.100\.1".*no other entry holds it/);
    expect(await names()).toEqual(['me', 'office']);
    expect((await callFrom(service, STRANGER, 'DELETE', `${LIST}/office`)).status).toBe(200);
    expect((await callFrom(service, STRANGER, 'DELETE', `${LIST}/me`)).status).toBe(200);
  });

  it('by two deletions at once', async () => {
    await add('wide', '198.51.100.0/24');
    await add('narrow', STRANGER);
    await add('office', '203.0.113.0/24');
    const answers = await Promise.all(
      ['wide', 'narrow'].map((name) => callFrom(service, STRANGER, 'DELETE', `${LIST}/${name}`)),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409]);
    expect((await callFrom(service, STRANGER, 'GET', LIST)).status).toBe(200);
  });

  it('on this machine, whatever the list says', async () => {
    expect((await callFrom(service, null, 'POST', LIST, { name: 'far', ip_address: '203.0.113.9' })).status).toBe(200);
    expect((await callFrom(service, null, 'GET', LIST)).status).toBe(200);
    expect((await callFrom(service, null, 'DELETE', `${LIST}/far`)).status).toBe(200);
  });
});

describe('X-Forwarded-For from a proxy that no setting names', () => {
  it('opens nothing, is refused by a list, and locks nobody out', async () => {
    const own = await startBehindProxy(undefined, ['10.0.0.1']);
    const entry = { name: 'office', ip_address: '203.0.113.0/24' };
    const refused = await callFrom(own, ON_LIST, 'POST', LIST, entry);
    expect([refused.status, refused.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(refused.body.message).toContain('--trust-proxy');
    await own.call('POST', LIST, entry);
    for (const from of [ON_LIST, '127.0.0.1', '10.0.0.1', 'nonsense']) {
      const answer = await callFrom(own, from, 'GET', LIST);
      expect([answer.status, answer.body.type]).toEqual([403, 'FORBIDDEN']);
      expect(answer.body.message).toMatch(/"127\.0\.0\.1".*proxy.*"--trust-proxy"/);
    }
    expect((await callFrom(own, null, 'GET', LIST)).status).toBe(200);
    await own.remove();
  });

  it.each(['proxy.example.com', '10.0.0.0/33', ''])('the setting %j does not start the service', async (text) => {
    const folder = await makeFolder();
    await expect(startBehindProxy(folder, [text])).rejects.toMatchObject({ code: 'invalid_input' });
    const after = await startBehindProxy(folder);
    await after.remove();
  });
});

describe('over restarts', () => {
  it('the list stays in force', async () => {
    const first = await startBehindProxy();
    const made = await first.call('POST', LIST, { name: 'office', ip_address: '203.0.113.0/24' });
    await first.stop();
    const second = await startBehindProxy(first.folder);
    expect((await callFrom(second, STRANGER, 'GET', LIST)).status).toBe(403);
    expect((await callFrom(second, ON_LIST, 'GET', LIST)).body).toEqual({ data: [made.body.data] });
    await second.remove();
  });
});

describe('the HTTP core', () => {
  it('creates, reads, lists and deletes entries', async () => {
    const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    const made = await client.createAllowlistEntry({ name: 'core', ip_address: '203.0.113.0/24' });
    expect(await client.getAllowlistEntry({ name: 'core' })).toEqual(made);
    expect(await client.listAllowlistEntries({})).toEqual([made]);
    expect(await client.deleteAllowlistEntry({ name: 'core' })).toEqual(made);
    await expect(client.getAllowlistEntry({ name: 'core' })).rejects.toMatchObject({ code: 'not_found' });
    await client.close();
  });
});
