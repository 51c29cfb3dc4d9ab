import { randomUUID } from 'node:crypto';
import { availableParallelism, totalmem } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SIZES } from '../../../src/contract/virtual-instances.ts';
import { createClient } from '../../../src/http/client.ts';
import { isLong } from '../../long.ts';
import { startTestService, type TestService } from '../harness.ts';
import { addUser } from '../people.ts';
import { ERROR_KEYS, keysOf } from '../shapes.ts';

const LIST = '/v1/orgs/self/virtualinstances';
const KEYS = [
  'created_at',
  'created_by',
  'current_size',
  'current_type',
  'default_vi',
  'description',
  'desired_size',
  'desired_type',
  'id',
  'monitoring_enabled',
  'name',
  'state',
];
const MIB = 1024 * 1024;

let service: TestService;
let id: string;
beforeAll(async () => {
  service = await startTestService();
  id = (await service.call('GET', LIST)).body.data[0].id;
});
afterAll(() => service.remove());

function resize(body: unknown, on = service, which = id) {
  return on.call('POST', `${LIST}/${which}`, body);
}

describe('the virtual instance', () => {
  it('is one, main, of the size of the whole engine', async () => {
    const list = await service.call('GET', LIST);
    expect(keysOf(list.body)).toEqual(['data']);
    expect(list.body.data).toHaveLength(1);
    expect(keysOf(list.body.data[0])).toEqual(KEYS);
    expect(list.body.data[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      name: 'main',
      description: expect.stringContaining(`${availableParallelism()} thread`),
      state: 'ACTIVE',
      current_size: 'LARGE',
      desired_size: 'LARGE',
      current_type: 'LOCAL',
      desired_type: 'LOCAL',
      default_vi: true,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      created_by: 'admin@localhost',
      monitoring_enabled: false,
    });
    const one = await service.call('GET', `${LIST}/${id}`);
    expect(one.body).toEqual({ data: list.body.data[0] });
    for (const other of [id.toUpperCase(), 'main', 'Main'])
      expect((await service.call('GET', `${LIST}/${other}`)).body).toEqual(one.body);
  });

  it.each([randomUUID(), 'self', '__proto__', 'x'.repeat(3_000)])('%s does not exist', async (other) => {
    for (const answer of [
      await service.call('GET', `${LIST}/${other}`),
      await resize({ new_size: 'SMALL' }, service, other),
    ]) {
      expect([answer.status, answer.body.message_key]).toEqual([404, 'VIRTUAL_INSTANCE_NOT_FOUND']);
      expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
      expect(answer.body.message).toContain(id);
    }
  });
});

describe('updateVirtualInstance()', () => {
  it('resizes at once', async () => {
    const small = await resize({ new_size: 'SMALL' });
    expect(small.status).toBe(200);
    expect(keysOf(small.body)).toEqual(['data']);
    expect(keysOf(small.body.data)).toEqual(KEYS);
    const threads = Math.max(1, Math.floor(availableParallelism() / 4));
    const memory = Math.max(512, Math.floor(Math.max(totalmem() / 4, 512 * MIB) / 4 / MIB));
    expect(small.body.data).toMatchObject({
      current_size: 'SMALL',
      desired_size: 'SMALL',
      description: expect.stringMatching(new RegExp(`${threads} threads? and ${memory} MiB of memory$`)),
    });
    expect((await service.call('GET', `${LIST}/${id}`)).body).toEqual(small.body);
    const large = await resize({ new_size: 'LARGE', new_type: 'LOCAL' });
    expect(large.body.data).toMatchObject({ current_size: 'LARGE', desired_size: 'LARGE' });
  });

  it('while queries run, which end well', { timeout: 180_000 }, async () => {
    const rows = isLong ? 3_000_000 : 300_000;
    const query = `SELECT count(*) AS n FROM range(${rows}) a, range(100) b WHERE (a.range * b.range) % 7 = 3`;
    const sql = { sql: { query } };
    const queries = Array.from({ length: 3 }, () => service.call('POST', '/v1/orgs/self/queries', sql));
    const resizes = await Promise.all([
      resize({ new_size: 'FREE' }),
      resize({ new_size: 'MEDIUM' }),
      resize({ new_size: 'LARGE' }),
    ]);
    expect(resizes.map((answer) => answer.status)).toEqual([200, 200, 200]);
    const answers = await Promise.all(queries);
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body.results))).size).toBe(1);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
    expect((await service.call('GET', `${LIST}/${id}`)).body.data).toMatchObject({ current_size: 'LARGE' });
  });

  it.each(['XLARGE4', 'XLARGE8', 'XLARGE16'])('refuses %s, and says what fits', async (size) => {
    const answer = await resize({ new_size: size });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(keysOf(answer.body)).toEqual(ERROR_KEYS);
    expect(answer.body.message).toMatch(
      new RegExp(`"${size}": it has \\d+ threads and \\d+ MiB.*allow \\d+ threads? and \\d+ MiB.*fits is "X?LARGE2?"`),
    );
    expect((await service.call('GET', `${LIST}/${id}`)).body.data.current_size).toBe('LARGE');
  });

  it.each([
    [undefined, '"new_size" is missing'],
    [{}, '"new_size" is missing'],
    [{ new_size: null }, '"new_size"'],
    [{ new_size: '' }, '"new_size"'],
    [{ new_size: 'large' }, '"new_size": expected one of "FREE"'],
    [{ new_size: 'HUGE' }, 'got "HUGE"'],
    [{ new_size: '__proto__' }, '"new_size"'],
    [{ new_size: 4 }, '"new_size"'],
    [{ new_size: 'SMALL', new_type: 'SHARED' }, '"new_type": the only type of this service is "LOCAL"'],
    [{ new_size: 'SMALL', new_type: 1 }, '"new_type": expected a string'],
    [[], 'expected a JSON object'],
  ])('%j is 400', async (body, why) => {
    const answer = await resize(body);
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
    expect((await service.call('GET', `${LIST}/${id}`)).body.data.desired_size).toBe('LARGE');
  });

  it('needs an admin', async () => {
    const key = await addUser(service, 'm@example.com', 'member');
    const answer = await service.call('POST', `${LIST}/${id}`, { new_size: 'SMALL' }, { key });
    expect([answer.status, answer.body.type]).toEqual([403, 'FORBIDDEN']);
    expect((await service.call('GET', `${LIST}/${id}`, undefined, { key })).status).toBe(200);
  });
});

describe('the size over restarts', () => {
  it('stays, and id and type with it', async () => {
    const first = await startTestService();
    const own = (await first.call('GET', LIST)).body.data[0].id;
    const resized = await resize({ new_size: 'MEDIUM' }, first, own);
    await first.stop();
    const second = await startTestService({}, first.folder);
    expect((await second.call('GET', `${LIST}/${own}`)).body).toEqual(resized.body);
    await second.remove();
  });

  it("is within the operator's limits, which win over a larger stored size", async () => {
    const first = await startTestService();
    const own = (await first.call('GET', LIST)).body.data[0].id;
    const largest =
      SIZES.findLast((size) => ['XLARGE2', 'LARGE'].includes(size) && totalmem() > 4 * 1024 * MIB) ?? 'LARGE';
    expect((await resize({ new_size: largest }, first, own)).body.data.current_size).toBe(largest);
    await first.stop();
    const limits = { threads: 1, memoryBytes: 600 * MIB };
    const second = await startTestService({ limits }, first.folder);
    const { body } = await second.call('GET', `${LIST}/${own}`);
    expect(body.data).toMatchObject({
      current_size: 'LARGE',
      desired_size: largest,
      description: expect.stringMatching(/1 thread and 600 MiB of memory$/),
    });
    const refused = await resize({ new_size: 'XLARGE' }, second, own);
    expect(refused.status).toBe(400);
    expect(refused.body.message).toMatch(/it has 1 thread and 1200 MiB.*allow 1 thread and 600 MiB.*fits is "LARGE"/);
    expect((await resize({ new_size: 'NANO' }, second, own)).body.data.description).toMatch(/1 thread and 512 MiB/);
    await second.remove();
  });
});

describe('the HTTP core', () => {
  it('lists, reads and resizes', async () => {
    const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    const [main] = await client.listVirtualInstances({});
    expect(await client.getVirtualInstance({ virtualInstanceId: id })).toEqual(main);
    const resized = await client.updateVirtualInstance({ virtualInstanceId: id, new_size: 'LARGE' });
    expect(resized.current_size).toBe('LARGE');
    await expect(client.getVirtualInstance({ virtualInstanceId: 'x' })).rejects.toMatchObject({ code: 'not_found' });
    await client.close();
  });
});
