import { describe, expect, it } from 'vitest';
import { type Answer, startTestService } from '../harness.ts';
import { COLLECTIONS, madeCollections } from './made-collections.ts';

const { call, create: createWith, select } = madeCollections();

const create = (event_time_info: object, more: object = {}) => createWith({ event_time_info, ...more });

async function add(name: string, text: string): Promise<Answer> {
  return call('POST', `${COLLECTIONS}/${name}/docs`, undefined, { rawBody: `{"data":[${text}]}` });
}

async function times(name: string): Promise<string[]> {
  return (await select(`SELECT _event_time AS t FROM ${name} ORDER BY _id`)).map(({ t }) => String(t));
}

describe('event_time_info', () => {
  it.each([
    [{}, '"2026-07-01T12:00:00.5+02:00"', '2026-07-01T10:00:00.500000Z'],
    [{}, '1782900000000000', '2026-07-01T10:00:00.000000Z'],
    [{ format: 'iso-8601', time_zone: 'Europe/Berlin' }, '"2026-07-01 12:00:00.123456"', '2026-07-01T10:00:00.123456Z'],
    [{ time_zone: 'Europe/Berlin' }, '"2026-01-01"', '2025-12-31T23:00:00.000000Z'],
    [{ time_zone: 'europe/berlin' }, '"2026-07-01T12:00:00Z"', '2026-07-01T12:00:00.000000Z'],
    [{ time_zone: '-05:30' }, '"2026-07-01T12:00:00"', '2026-07-01T17:30:00.000000Z'],
    [{ format: 'seconds_since_epoch' }, '1782900000.25', '2026-07-01T10:00:00.250000Z'],
    [{ format: 'seconds_since_epoch' }, '"1782900000"', '2026-07-01T10:00:00.000000Z'],
    [{ format: 'seconds_since_epoch' }, '-1', '1969-12-31T23:59:59.000000Z'],
    [{ format: 'milliseconds_since_epoch' }, '1782900000001', '2026-07-01T10:00:00.001000Z'],
    [{ format: 'microseconds_since_epoch' }, '1782900000000001', '2026-07-01T10:00:00.000001Z'],
    [{ format: 'NANOSECONDS_since_epoch' }, '1782900000000001999', '2026-07-01T10:00:00.000001Z'],
    [{ format: '%d.%m.%Y %H:%M' }, '"01.07.2026 12:00"', '2026-07-01T12:00:00.000000Z'],
    [{ format: '%d.%m.%Y %H:%M', time_zone: 'Europe/Berlin' }, '"01.07.2026 12:00"', '2026-07-01T10:00:00.000000Z'],
    [{ format: '%d.%m.%Y %H:%M', time_zone: '+02:00' }, '"01.07.2026 12:00"', '2026-07-01T10:00:00.000000Z'],
    [{ format: '%Y-%m-%d %H:%M %z', time_zone: '+05:00' }, '"2026-07-01 12:00 +0200"', '2026-07-01T10:00:00.000000Z'],
    [{ format: '%Y%m%d' }, '20260701', '2026-07-01T00:00:00.000000Z'],
  ])('%j reads %s', async (info, value, expected) => {
    const name = await create({ field: 'at.time', ...info });
    const answer = await add(name, `{"at":{"time":${value}},"_event_time":0}`);
    expect(answer.body.data[0].error).toBeNull();
    expect(await times(name)).toEqual([expected]);
  });

  it('of a document without the field is its own _event_time, or the time it arrives', async () => {
    const name = await create({ field: 'at' });
    const before = Date.now();
    await add(name, '{"_id":"a","_event_time":"2020-01-01"},{"_id":"b"},{"_id":"c","at":null}');
    const [own, ...arrived] = await times(name);
    expect(own).toBe('2020-01-01T00:00:00.000000Z');
    for (const time of arrived) expect(Date.parse(time)).toBeGreaterThanOrEqual(before);
  });

  it.each([
    [{}, '"yesterday"', '"yesterday"'],
    [{}, '1.5', '1.5'],
    [{}, 'true', 'true'],
    [{}, '{"a":1}', '{"a":1}'],
    [{ time_zone: 'Europe/Berlin' }, '"2026-02-30"', '"2026-02-30"'],
    [{ format: 'seconds_since_epoch' }, '"x"', 'seconds_since_epoch'],
    [{ format: 'seconds_since_epoch' }, '1e18', 'in the years 1 to 9999'],
    [{ format: '%Y-%m-%d' }, '"01.07.2026"', '"%Y-%m-%d"'],
    [{ format: '%Y-%m-%d' }, '["2026-07-01"]', '["2026-07-01"]'],
  ])('%j refuses the document with %s', async (info, value, why) => {
    const name = await create({ field: 'at', ...info });
    const answer = await add(name, `{"_id":"a","at":${value}},{"_id":"b"}`);
    expect(answer.body.data.map((row: { status: string }) => row.status)).toEqual(['ERROR', 'ADDED']);
    expect(answer.body.data[0]._id).toBe('a');
    expect(answer.body.data[0].error.message).toContain('the event time in "at" is ');
    expect(answer.body.data[0].error.message).toContain(why);
  });

  it('is read after the mappings, and from the document as it came where these left none', async () => {
    const field_mappings = [
      { name: 'all', is_drop_all_fields: true },
      { name: 'n', input_fields: [{ field_name: 'n' }], output_field: { field_name: 'n', value: ':n + 1' } },
    ];
    const mapped = await create({ field: 'n', format: 'seconds_since_epoch' }, { field_mappings });
    await add(mapped, '{"n":9}');
    expect(await times(mapped)).toEqual(['1970-01-01T00:00:10.000000Z']);
    const dropped = await create({ field: 'at', format: 'seconds_since_epoch' }, { field_mappings });
    await add(dropped, '{"at":5}');
    expect(await times(dropped)).toEqual(['1970-01-01T00:00:05.000000Z']);
  });

  it('survives a restart, and patches keep the event time', async () => {
    const own = await startTestService();
    await own.call('POST', COLLECTIONS, { name: 'kept', event_time_info: { field: 'at', format: '%Y' } });
    await own.stop();
    const again = await startTestService({}, own.folder);
    await again.call('POST', `${COLLECTIONS}/kept/docs`, { data: [{ _id: 'a', at: '2020' }] });
    const patch = [{ op: 'replace', path: '/at', value: '2021' }];
    await again.call('PATCH', `${COLLECTIONS}/kept/docs`, { data: [{ _id: 'a', patch }] });
    const rows = await again.call('POST', '/v1/orgs/self/queries', {
      sql: { query: 'SELECT "at", _event_time FROM kept' },
    });
    expect(rows.body.results).toEqual([{ at: '2021', _event_time: '2020-01-01T00:00:00.000000Z' }]);
    await again.remove();
  });

  it.each([
    [{}, '"event_time_info.field" is missing'],
    [{ field: '' }, '"event_time_info.field" is missing'],
    [{ field: '_id' }, 'cannot hold an event time'],
    [{ field: 'a..b' }, 'cannot hold an event time'],
    [{ field: 'a', format: 'unix' }, 'formats are "ISO-8601" (the default), "seconds_since_epoch"'],
    [{ field: 'a', format: '%Q' }, 'the pattern "%Q" is not one'],
    [{ field: 'a', time_zone: 'Europe/Berlim' }, 'did you mean "Europe/Berlin"'],
    [{ field: 'a', time_zone: '+99:00' }, 'no time zone'],
    [{ field: 'a', time_zone: "UTC'; --" }, 'no time zone'],
    [{ field: 7 }, '"event_time_info.field": expected a string'],
  ])('%j is 400', async (event_time_info, why) => {
    const answer = await call('POST', COLLECTIONS, { name: 'refused', event_time_info });
    expect([answer.status, answer.body.type]).toEqual([400, 'INVALIDINPUT']);
    expect(answer.body.message).toContain(why);
  });
});
