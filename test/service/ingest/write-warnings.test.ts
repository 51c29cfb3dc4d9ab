import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../harness.ts';

const WS = '/v1/orgs/self/ws';
const HOUR_MICROS = 3_600_000_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ purgeEveryMs: 3_600_000 });
});
afterAll(() => service.remove());

let count = 0;
let name = '';
beforeEach(() => {
  name = `t${++count}`;
});

async function ok(method: string, path: string, body?: unknown) {
  const answer = await service.call(method, path, body);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

const create = (more: object = {}) => ok('POST', `${WS}/commons/collections`, { name, ...more });
const add = (...data: object[]) => ok('POST', `${WS}/commons/collections/${name}/docs`, { data });
const patch = (_id: string, operation: object) =>
  ok('PATCH', `${WS}/commons/collections/${name}/docs`, { data: [{ _id, patch: [operation] }] });

describe('a write of values that do not fit their fields', () => {
  it('says how many, and what becomes of them, until most disagree: then the type changes, and lambdas are named', async () => {
    await create();
    await add({ _id: '1', price: 1.5 });
    await ok('POST', `${WS}/commons/aliases`, { name: `${name}a`, collections: [`commons.${name}`] });
    for (const [lambda, from] of [
      ['l2', `${name}a`],
      ['l1', name],
      ['l3', '(SELECT 1 AS price)'],
    ]) {
      await ok('POST', `${WS}/commons/lambdas`, {
        name: `${name}${lambda}`,
        sql: { query: `SELECT max(PRICE) AS m FROM ${from}` },
      });
    }
    await ok('POST', `${WS}/commons/lambdas`, { name: `${name}l4`, sql: { query: `SELECT _id FROM ${name}` } });
    await ok('POST', `${WS}/commons/lambdas`, { name: `${name}l5`, sql: { query: `SELECT * FROM ${name}` } });
    const answer = await add({ _id: '3', price: 2 }, { _id: '4', price: 'cheap' });
    expect(answer.data.map(({ status }: { status: string }) => status)).toEqual(['ADDED', 'ADDED']);
    expect(answer.warnings).toEqual([
      `1 value of "price" of commons.${name} does not fit its type DOUBLE (document "4" has text): SELECT of the field shows it as given, what SQL computes sees NULL, and (_strays->>'price') has it.`,
    ]);
    expect((await add({ _id: '5', price: 'free' }, { _id: '6', price: 'dear' })).warnings).toEqual([
      `"price" of commons.${name} was DOUBLE and is VARCHAR from now on, since most of its values do not fit DOUBLE.`,
      `Lambdas that read commons.${name}, and may fail or answer otherwise now: commons.${name}l1, commons.${name}l5, commons.${name}l2.`,
    ]);
    const query = `SELECT price FROM ${name} ORDER BY _id`;
    expect((await ok('POST', '/v1/orgs/self/queries', { sql: { query } })).results).toEqual([
      { price: 1.5 },
      { price: 2 },
      { price: 'cheap' },
      { price: 'free' },
      { price: 'dear' },
    ]);
    const text = `SELECT max(price) AS m FROM ${name}`;
    const { results, warnings } = await ok('POST', '/v1/orgs/self/queries', { sql: { query: text } });
    expect(results).toEqual([{ m: 'free' }]);
    expect(warnings).toEqual([expect.stringMatching(/are text here: 2 of price \(VARCHAR\)/)]);
  });

  it('does so by settings that have documents parsed, by a patch, and by a restore', async () => {
    await create({ event_time_info: { field: 'at' } });
    const at = '2026-01-31';
    await add({ _id: '1', at, list: ['x'], o: { n: 1 } }, { _id: '2', at, list: ['y'] });
    expect((await add({ _id: '3', at, o: 'none' })).warnings).toEqual([
      expect.stringMatching(/^1 value of "o" of .* type STRUCT\("n" BIGINT\) \(document "3" has text\)/),
    ]);
    expect((await patch('2', { op: 'replace', path: '/list', value: 5 })).warnings).toEqual([
      expect.stringMatching(/^1 value of "list" .* type VARCHAR\[\] \(document "2" has an integer\)/),
    ]);
    expect(await patch('2', { op: 'replace', path: '/list', value: ['z'] })).not.toHaveProperty('warnings');

    name = `${name}b`;
    await create();
    await add({ _id: 'a', n: 'x' });
    await ok('DELETE', `${WS}/commons/collections/${name}/docs`, { data: [{ _id: 'a' }] });
    await ok('DELETE', `${WS}/commons/collections/${name}`);
    const trash = (await ok('GET', '/v1/colloquy/trash')).data as { id: string; kind: string; name: string }[];
    const idOf = (kind: string) => trash.find((one) => one.name === name && one.kind === kind)?.id;
    await ok('DELETE', `/v1/colloquy/trash/${idOf('collection')}`);
    await create();
    await add({ _id: 'b', n: 1 });
    const { data } = await ok('POST', `/v1/colloquy/trash/${idOf('documents')}/restore`);
    expect(data).toMatchObject({ documents: 1, warnings: [expect.stringContaining('of "n" of')] });
  });

  it('says that an object became a map, and which lambdas read it', async () => {
    await create();
    const object = (n: number) => ({ o: { [`k${n}`]: n, [`k${n + 1}`]: n } });
    for (let n = 0; n < 10; n++) expect(await add({ _id: `${n}`, ...object(n) })).not.toHaveProperty('warnings');
    await ok('POST', `${WS}/commons/lambdas`, { name: `${name}m`, sql: { query: `SELECT o.k1 FROM ${name}` } });
    const { warnings } = await add(...[10, 11, 12, 13, 14, 15].map((n) => ({ _id: `${n}`, ...object(n) })));
    expect(warnings).toEqual([
      `"o" of commons.${name} is a MAP from now on, since its keys are data: "o".key and "o"['key'] read it as before, in the letter case of the documents, and map_keys("o") are its keys; "o".* and the functions of structs fail.`,
      expect.stringContaining(`${name}m`),
    ]);
    const query = `SELECT o.k1, o.k16 FROM ${name} WHERE _id IN ('1', '15') ORDER BY _id`;
    expect((await ok('POST', '/v1/orgs/self/queries', { sql: { query } })).results).toEqual([
      { k1: 1, k16: null },
      { k1: null, k16: 15 },
    ]);
  });

  it('names few fields and lambdas', async () => {
    await create();
    const many = (value: unknown) => Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`f${at}`, value]));
    await add({ _id: '1', ...many(1) });
    for (let at = 0; at < 7; at++) {
      await ok('POST', `${WS}/commons/lambdas`, { name: `${name}m${at}`, sql: { query: `SELECT f0 FROM ${name}` } });
    }
    const strays = await add({ _id: '2', ...many('x') });
    expect(strays.warnings).toHaveLength(6);
    expect(strays.warnings[5]).toBe(`3 more fields of commons.${name} have values that do not fit, too.`);
    const { warnings } = await add({ _id: '3', ...many('x') });
    expect(warnings).toHaveLength(7);
    expect(warnings[5]).toBe(`3 more fields of commons.${name} changed their type, too.`);
    expect(warnings[6]).toMatch(/m4 and 2 more\.$/);
  });
});

describe('a write of a field that differs only in case from another', () => {
  it('says what SQL reads by that name, and how both are read', async () => {
    await create();
    expect((await add({ _id: '3', Total: 5 }, { _id: '4', total: 7 })).warnings).toEqual([
      `"total" of commons.${name} differs from "Total" only in letter case, which SQL does not tell apart: either spelling reads "Total" alone, and "total" is in _extra. Load the field in one spelling (a document that is added again with its _id is replaced), or read both: coalesce("Total", TRY_CAST(_extra->'$.total' AS BIGINT)).`,
    ]);
    expect(await add({ _id: '5', total: 8 })).not.toHaveProperty('warnings');
    expect((await patch('5', { op: 'add', path: '/TOTAL', value: 9 })).warnings).toEqual([
      expect.stringMatching(/^"TOTAL" of .* differs from "Total"/),
    ]);
    const query = `SELECT sum(coalesce("Total", TRY_CAST(_extra->'$.total' AS BIGINT)))::INT AS n FROM ${name}`;
    expect((await ok('POST', '/v1/orgs/self/queries', { sql: { query } })).results).toEqual([{ n: 20 }]);
  });
});

describe('a write of documents past the retention', () => {
  const ago = (micros: number) => Date.now() * 1_000 - micros;

  it('says how many they are, and why', async () => {
    await create({ retention_secs: 3_600 });
    const old = { _event_time: ago(2 * HOUR_MICROS) };
    // These are read twice: the last document makes the result of scanning the others useless.
    const { data, warnings } = await add(
      { _id: 'a', ...old, n: 1.5 },
      old,
      { n: 1 },
      { _event_time: ago(1_000), n: 'x' },
    );
    expect(data.map(({ status }: { status: string }) => status)).toEqual(['ADDED', 'ADDED', 'ADDED', 'ADDED']);
    expect(warnings).toEqual([
      expect.stringContaining('does not fit'),
      `2 documents of this write are past the retention of commons.${name} (3600 seconds) by the _event_time that they came with: no query sees them, and they will be removed.`,
    ]);
    expect(await add({ _id: 'a' }, { _event_time: ago(HOUR_MICROS - 60_000_000) })).not.toHaveProperty('warnings');
  });

  it('says so where the time is read from a field, and not of what is refused', async () => {
    await create({ retention_secs: 3_600, event_time_info: { field: 'at' } });
    const at = '2020-01-01T00:00:00Z';
    const { warnings } = await add({ at, _id: 'a' }, { at, _id: 7 });
    expect(warnings).toEqual([expect.stringMatching(/^1 document of this write is past the retention/)]);
  });

  it('says nothing where documents are kept for ever', async () => {
    await create();
    expect(await add({ _event_time: '1970-01-01' })).not.toHaveProperty('warnings');
  });
});

describe('a write of an _event_time in seconds or milliseconds', () => {
  const some = [{ _event_time: 1_705_312_800 }, { _event_time: 1_705_312_800_000 }];

  it.each([
    ['as text', {}],
    ['parsed', { event_time_info: { field: 'at' } }],
  ])('says what a number counts, for documents taken %s', async (_, settings) => {
    await create(settings);
    const fine = [{ _event_time: 1_705_312_800_000_000 }, { _event_time: '1970-01-01T00:00:01Z' }, { n: 1 }];
    expect((await add(...some, ...fine)).warnings).toEqual([
      expect.stringMatching(/^2 documents .* about 1970: as a number it counts microseconds .*"event_time_info": \{/),
    ]);
    expect(await add(...fine)).not.toHaveProperty('warnings');
  });

  it.each([
    ['as text', { field: 'at' }],
    ['parsed', { field: 'o.at' }],
  ])('says so in a field that the collection takes it from, %s', async (_, info) => {
    await create({ event_time_info: info });
    const of = (at: number) => ({ at, o: { at } });
    expect((await add(of(1_705_312_800_000), of(1_705_312_800_000_000))).warnings).toEqual([
      expect.stringMatching(/^1 document .* about 1970/),
    ]);
  });

  it('says nothing where the collection names the unit', async () => {
    await create({ event_time_info: { field: '_event_time', format: 'seconds_since_epoch' } });
    expect(await add({ _id: 'a', _event_time: 1_705_312_800 })).not.toHaveProperty('warnings');
    const query = `SELECT year(_event_time)::INT AS y FROM ${name}`;
    expect((await ok('POST', '/v1/orgs/self/queries', { sql: { query } })).results).toEqual([{ y: 2024 }]);
  });
});
