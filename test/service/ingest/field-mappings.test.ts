import { describe, expect, it } from 'vitest';
import { type Answer, startTestService } from '../harness.ts';
import { COLLECTIONS, madeCollections, statuses } from './made-collections.ts';

const { call, create, select } = madeCollections();

async function add(name: string, ...texts: string[]): Promise<Answer> {
  return call('POST', `${COLLECTIONS}/${name}/docs`, undefined, { rawBody: `{"data":[${texts.join(',')}]}` });
}

const output = (field: string, value: string, onError?: string) => ({
  field_name: field,
  value,
  ...(onError === undefined ? {} : { on_error: onError }),
});

describe('field_mappings', () => {
  it('that make a time give the field its type, and leave other text alone', async () => {
    const made = { name: 'm', input_fields: [{ field_name: 'd' }], output_field: output('day', 'CAST(:d AS date)') };
    const name = await create({ field_mappings: [made] });
    await add(name, '{"_id":"a","d":"2024-01-02"}', '{"_id":"b","d":"2024-02-01"}');
    expect(
      await select(`SELECT typeof(d) AS d, typeof(day) AS day, day + 1 AS next FROM ${name} ORDER BY _id`),
    ).toEqual([
      { d: 'string', day: 'date', next: '2024-01-03' },
      { d: 'string', day: 'date', next: '2024-02-02' },
    ]);
    expect(await select(`SELECT d, day FROM ${name} ORDER BY _id LIMIT 1`)).toEqual([
      { d: '2024-01-02', day: '2024-01-02' },
    ]);
  });

  it('that make a time without a zone store it without one, and with one what has one', async () => {
    const of = (field: string, sql: string) => ({
      name: field,
      input_fields: [{ field_name: 'd' }],
      output_field: output(field, sql),
    });
    const instant = 'CAST(:d AS TIMESTAMPTZ)';
    const field_mappings = [of('local', `${instant} AT TIME ZONE 'Europe/Berlin'`), of('instant', instant)];
    const name = await create({ field_mappings });
    await add(name, '{"d":"2024-07-01T10:00:00Z"}');
    expect(
      await select(`SELECT local, instant, local + INTERVAL 1 HOUR AS "later", typeof(local) AS t FROM ${name}`),
    ).toEqual([
      {
        local: '2024-07-01T12:00:00.000000',
        instant: '2024-07-01T10:00:00.000000Z',
        later: '2024-07-01T13:00:00.000000',
        t: 'datetime',
      },
    ]);
  });

  it.each([
    [
      'field_mappings',
      {
        field_mappings: [
          {
            name: 'm',
            input_fields: [{ field_name: 'd', is_drop: true }],
            output_field: output('at', 'CAST(:d AS TIMESTAMP)'),
          },
        ],
      },
    ],
    [
      'field_mapping_query',
      { field_mapping_query: { sql: 'SELECT _id, coalesce(CAST(d AS TIMESTAMP)) AS "at" FROM _input' } },
    ],
  ])('a time without a zone is UTC in a column whose times have one: %s', async (_, settings) => {
    const name = await create({ recognize_times: true, ...settings });
    // As what the same mapping stored when it had a zone.
    await add(name, '{"_id":"a"}');
    const patch = [{ op: 'add', path: '/at', value: '2024-01-01T10:00:00.000000Z' }];
    await call('PATCH', `${COLLECTIONS}/${name}/docs`, { data: [{ _id: 'a', patch }] });
    const answer = await add(name, '{"_id":"b","d":"2024-01-02T10:00:00"}', '{"_id":"c","d":"2024-01-03"}');
    expect(answer.body.warnings ?? []).toEqual([]);
    const rows = await select(`SELECT "at", epoch("at") AS s, typeof("at") AS t FROM ${name} ORDER BY _id`);
    expect(rows).toEqual([
      { at: '2024-01-01T10:00:00.000000Z', s: 1_704_103_200, t: 'timestamp' },
      { at: '2024-01-02T10:00:00.000000Z', s: 1_704_189_600, t: 'timestamp' },
      { at: '2024-01-03T00:00:00.000000Z', s: 1_704_240_000, t: 'timestamp' },
    ]);
  });

  it.each([
    ['text', 'upper(:a)'],
    ['an object, as clients have it', { sql: 'upper(:a)' }],
  ])('are returned with their defaults, also after a restart, with SQL as %s', async (_, value) => {
    const own = await startTestService();
    const mapping = { name: 'm', input_fields: [{ field_name: 'a' }], output_field: { field_name: 'b', value } };
    const expected = {
      name: 'm',
      is_drop_all_fields: false,
      input_fields: [{ field_name: 'a', if_missing: 'SKIP', is_drop: false, param: 'a' }],
      output_field: { field_name: 'b', value, on_error: 'SKIP' },
    };
    const created = await own.call('POST', COLLECTIONS, { name: 'kept', field_mappings: [mapping] });
    expect(created.body.data.field_mappings).toEqual([expected]);
    await own.stop();
    const again = await startTestService({}, own.folder);
    expect((await again.call('GET', `${COLLECTIONS}/kept`)).body.data.field_mappings).toEqual([expected]);
    await again.call('POST', `${COLLECTIONS}/kept/docs`, { data: [{ a: 'x' }] });
    const rows = await again.call('POST', '/v1/orgs/self/queries', { sql: { query: 'SELECT b FROM kept' } });
    expect(rows.body.results).toEqual([{ b: 'X' }]);
    await again.remove();
  });

  it('make _id and _event_time', async () => {
    const name = await create({
      field_mappings: [
        {
          name: 'id',
          input_fields: [{ field_name: 'user.id', param: 'id' }, { field_name: 'day' }],
          output_field: output('_id', "concat_ws('-', :id, :day)", 'FAIL'),
        },
        {
          name: 'time',
          input_fields: [{ field_name: 'day', is_drop: true }],
          output_field: output('_event_time', 'CAST(:day AS TIMESTAMP)'),
        },
      ],
    });
    const answer = await add(
      name,
      '{"user":{"id":7},"day":"2026-01-02"}',
      '{"user":{"id":7},"day":"2026-01-02","n":1}',
    );
    expect(answer.body.data.map((row: { _id: string }) => row._id)).toEqual(['7-2026-01-02', '7-2026-01-02']);
    expect(statuses(answer)).toEqual(['ADDED', 'REPLACED']);
    expect(await select(`SELECT * FROM ${name}`)).toEqual([
      { _id: '7-2026-01-02', _event_time: '2026-01-02T00:00:00.000000Z', user: { id: 7 }, n: 1 },
    ]);
  });

  it.each([
    [':id', 'must be a string'],
    ["''", 'must not be empty'],
    ["repeat('x', 2000)", 'at most 1024 bytes'],
  ])('an _id of %s fails for the document', async (value, why) => {
    const field_mappings = [
      { name: 'id', input_fields: [{ field_name: 'id' }], output_field: output('_id', value, 'FAIL') },
    ];
    const answer = await add(await create({ field_mappings }), '{"id":7}');
    expect(answer.body.data[0]).toMatchObject({
      status: 'ERROR',
      error: { type: 'INVALIDINPUT', message: expect.stringContaining(why) },
    });
  });

  it('on_error: FAIL refuses the document and says why; SKIP leaves the field out; the others go in', async () => {
    const mapping = (on_error: string) => ({
      name: 'number',
      input_fields: [{ field_name: 'text', is_drop: true }],
      output_field: output('number', 'CAST(:text AS INTEGER)', on_error),
    });
    const documents = ['{"_id":"a","text":"1"}', '{"_id":"b","text":"x"}', '{"_id":"c","text":"3"}', '{"_id":"d"}'];
    const failing = await create({ field_mappings: [mapping('FAIL')] });
    const answer = await add(failing, ...documents);
    expect(statuses(answer)).toEqual(['ADDED', 'ERROR', 'ADDED', 'ADDED']);
    expect(answer.body.data[1]).toMatchObject({ _id: 'b', patch_id: null });
    expect(answer.body.data[1].error.message).toMatch(/^field mapping "number" cannot make "number": .*'x'/);
    const skipping = await create({ field_mappings: [mapping('SKIP')] });
    expect(statuses(await add(skipping, ...documents))).toEqual(['ADDED', 'ADDED', 'ADDED', 'ADDED']);
    const columns = `SELECT _id, number FROM ${skipping} ORDER BY _id`;
    expect((await select(columns)).map((row) => row['number'])).toEqual([1, null, 3, null]);
    expect((await select(`SELECT * FROM ${skipping} LIMIT 1`))[0]).not.toHaveProperty('text');
  });

  it('error() refuses a document in its own words', async () => {
    const value = "CASE WHEN :n < 0 THEN error('negative') ELSE :n END";
    const name = await create({
      field_mappings: [
        { name: 'check', input_fields: [{ field_name: 'n' }], output_field: output('n', value, 'FAIL') },
      ],
    });
    const answer = await add(name, '{"n":1}', '{"n":-1}', '{"n":2}', '{"n":-2}', '{"n":3}');
    expect(statuses(answer)).toEqual(['ADDED', 'ERROR', 'ADDED', 'ERROR', 'ADDED']);
    expect(answer.body.data[1].error.message).toContain('negative');
  });

  it('a document is the same alone and beside others of other types', async () => {
    const field_mappings = [
      { name: 't', input_fields: [{ field_name: 'v' }], output_field: output('w', "concat(pg_typeof(:v), ' ', :v)") },
    ];
    const values = ['1', '1.5', '"1"', 'true', '[1]', '[1.5]', '[]', '{"a":1}', '9223372036854775807', '[1,"a"]'];
    const together = await create({ field_mappings });
    await add(together, ...values.map((value, index) => `{"_id":"${index}","v":${value}}`));
    const apart = await create({ field_mappings });
    for (const [index, value] of values.entries()) await add(apart, `{"_id":"${index}","v":${value}}`);
    const rows = await select(`SELECT w FROM ${together} ORDER BY _id`);
    expect(rows).toEqual(await select(`SELECT w FROM ${apart} ORDER BY _id`));
    expect(rows[8]).toEqual({ w: 'bigint 9223372036854775807' });
  });

  it('keep 64-bit integers, nested objects and times', async () => {
    const name = await create({
      field_mappings: [
        { name: 'a', input_fields: [{ field_name: 'n' }], output_field: output('m', ':n - 1') },
        { name: 'b', input_fields: [{ field_name: 'o' }], output_field: output('x.y', "{'n': :o.n, 'l': [:o.n]}") },
        { name: 'c', output_field: output('day', "DATE '2026-01-01' + 1") },
      ],
    });
    await add(name, '{"n":9223372036854775807,"o":{"n":9007199254740993}}');
    expect(await select(`SELECT m, x.y.n AS n, x.y.l AS l, "day" FROM ${name}`)).toEqual([
      { m: '9223372036854775806', n: '9007199254740993', l: ['9007199254740993'], day: '2026-01-02' },
    ]);
  });

  it('is_drop drops a field also where the mapping is skipped for want of another', async () => {
    const name = await create({
      field_mappings: [
        {
          name: 'hash',
          input_fields: [
            { field_name: 'email', param: 'e', is_drop: true },
            { field_name: 'salt', param: 's' },
          ],
          output_field: { field_name: 'hash', value: 'md5(:e || :s)' },
        },
      ],
    });
    await call('POST', `${COLLECTIONS}/${name}/docs`, {
      data: [{ email: 'a@b' }, { email: 'a@b', salt: null }, { email: 'a@b', salt: 'x' }],
    });
    const rows = await select(`SELECT * FROM ${name}`);
    expect(rows).toHaveLength(3);
    expect(JSON.stringify(rows)).not.toContain('a@b');
  });

  it('is_drop_all_fields leaves what the other mappings put out, and _id', async () => {
    const name = await create({
      field_mappings: [
        { name: 'all', is_drop_all_fields: true },
        { name: 'x', input_fields: [{ field_name: 'a' }], output_field: output('x', ':a + 1') },
        { name: 'y', input_fields: [{ field_name: 'x' }], output_field: output('y', ':x + 1') },
      ],
    });
    await add(name, '{"_id":"i","a":1,"secret":"s"}');
    const [row] = await select(`SELECT * EXCLUDE (_event_time) FROM ${name}`);
    expect(row).toEqual({ _id: 'i', x: 2, y: 3 });
  });

  it('are not applied to patches', async () => {
    const name = await create({
      field_mappings: [{ name: 'h', input_fields: [{ field_name: 'a' }], output_field: output('a', 'md5(:a)') }],
    });
    await add(name, '{"_id":"i","a":"x"}');
    const patch = [{ op: 'add', path: '/b', value: 'x' }];
    await call('PATCH', `${COLLECTIONS}/${name}/docs`, { data: [{ _id: 'i', patch }] });
    expect(await select(`SELECT a, b FROM ${name}`)).toEqual([{ a: '9dd4e461268c8034f5c8564e155c67a6', b: 'x' }]);
  });

  it('keep keys such as __proto__ harmless', async () => {
    const name = await create({
      field_mappings: [
        {
          name: 'p',
          input_fields: [{ field_name: '__proto__', param: 'p' }],
          output_field: output('q', ':p.polluted'),
        },
        { name: 'r', output_field: output('__proto__.polluted', '1') },
      ],
    });
    expect(statuses(await add(name, '{"a":1}', '{"__proto__":{"polluted":2}}'))).toEqual(['ADDED', 'ADDED']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each([
    [[{}], 'has no "name"'],
    [[{ name: 'm' }], 'does nothing'],
    [[{ name: 'm', is_drop_all_fields: true, output_field: output('a', '1') }], 'drops all fields'],
    [[{ name: 'm', input_fields: [{ field_name: 'a' }] }], 'has no effect'],
    [[{ name: 'm', input_fields: [{ is_drop: true }] }], 'has no "field_name"'],
    [[{ name: 'm', input_fields: [{ field_name: 'a..b', is_drop: true }] }], 'between its dots'],
    [[{ name: 'm', input_fields: [{ field_name: 'a.b' }], output_field: output('c', '1') }], 'needs a "param"'],
    [[{ name: 'm', input_fields: [{ field_name: 'a', param: 'x-y' }], output_field: output('c', '1') }], '"x-y"'],
    [
      [{ name: 'm', input_fields: [{ field_name: 'a' }, { field_name: 'A' }], output_field: output('c', '1') }],
      'the param "A" twice',
    ],
    [[{ name: 'm', output_field: { field_name: 'a' } }], 'has no "value"'],
    [[{ name: 'm', output_field: { value: '1' } }], 'has no "field_name"'],
    [[{ name: 'm', output_field: output('_meta', '1') }], '"_meta"'],
    [[{ name: 'm', output_field: output('_id.x', '1') }], '"_id.x"'],
    [[{ name: 'm', output_field: output('a', '1', 'MAYBE') }], 'on_error": expected one of "SKIP", "FAIL"'],
    [[{ name: 'm', input_fields: [{ field_name: 'a', if_missing: 'x' }] }], 'if_missing": expected one of'],
    [
      [
        { name: 'm', output_field: output('a', '1') },
        { name: 'm', output_field: output('b', '1') },
      ],
      'names are unique',
    ],
    [{ name: 'm' }, '"field_mappings": expected an array'],
  ])('%j is 400', async (field_mappings, why) => {
    const answer = await call('POST', COLLECTIONS, { name: 'refused', field_mappings });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
    expect((await call('GET', `${COLLECTIONS}/refused`)).status).toBe(404);
  });

  it.each([
    [':b', '":b", which is not declared'],
    ['upper(', 'syntax error'],
    ['uper(:a)', 'Did you mean "upper"?'],
    ['a', '"a" is no parameter'],
    ['sum(:a)', 'aggregate'],
    ['row_number() OVER ()', 'window function'],
    ['unnest([1, 2])', 'several rows'],
    ['(SELECT 1)', 'a subquery'],
    ['(SELECT count(*) FROM commons.secrets)', 'a subquery'],
    ['1 FROM commons.secrets', 'FROM'],
    ['1) FROM (SELECT 1', 'syntax error'],
    ['1, 2', '2 expressions'],
    ['1; DROP TABLE x', 'it holds ";"'],
    ['upper(:a);', 'it holds ";"'],
    ["getenv('HOME')", 'not available'],
    ["read_text('/etc/passwd')", 'not available'],
    [':a AS b', 'names its value'],
    ['', 'has no "value"'],
  ])('the expression %s is 400', async (value, why) => {
    const mapping = { name: 'm', input_fields: [{ field_name: 'a' }], output_field: output('c', value) };
    const answer = await call('POST', COLLECTIONS, { name: 'refused', field_mappings: [mapping] });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(/^Cannot create collection "refused": field_mappings\[0\]/);
    expect(answer.body.message).toContain(why);
  });

  it('a mistake in SQL says where it is', async () => {
    const field_mappings = [{ name: 'm', output_field: output('c', '1 +\n  uper(2)') }];
    const { body } = await call('POST', COLLECTIONS, { name: 'refused', field_mappings });
    expect(body).toMatchObject({ type: 'QUERY_ERROR', line: 2, column: 3 });
  });
});
