import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Why } from '../../../src/service/supervision/end-note.ts';
import type { Work } from '../../../src/service/supervision/flights.ts';
import { fingerprint, leftInFlight, openFlights, SLOT_BYTES } from '../../../src/service/supervision/flights.ts';
import {
  heldOf,
  readStops,
  refusal,
  refusedOf,
  type Stop,
  stopsOf,
  stopsText,
} from '../../../src/service/supervision/stopped-by.ts';

const AT = '2026-01-01T00:00:00.000Z';
const MINUTE = 60_000;

const work = (name: string, sql: string | null = `SELECT ${name}`): Work => ({
  traceId: name,
  operation: 'runQuery',
  startedAt: AT,
  caller: { keyName: 'k', email: 'e@x.test', fingerprint: 'of-key' },
  fingerprints: [name],
  sql,
});
const note = (why: Why, by: Work[] = []) => ({ pid: 1, at: AT, why, by });
const stop = (name: string, over: Partial<Stop> = {}): Stop => ({
  ...work(name),
  at: AT,
  why: 'hung',
  isCause: true,
  versions: 'v',
  ...over,
});
const at = (minutes: number) => new Date(Date.parse(AT) + minutes * MINUTE).toISOString();

describe('the requests that an end is put down to', () => {
  const [a, b, upload] = [work('a'), work('b'), work('upload', null)];
  test.each<[string, Work[], ReturnType<typeof note> | undefined, [string, boolean][]]>([
    ['none where nothing is known of the end: it was a kill', [a], undefined, []],
    ['one alone in flight', [a], note('crashed'), [['a', true]]],
    [
      'that alone, but not as the cause, where the thread hung in work of nobody known',
      [a],
      note('hung'),
      [['a', false]],
    ],
    ['the one seen at work', [a, b], note('hung', [b]), [['b', true]]],
    ['one whose answer had been sent', [a], note('stuck', [b]), [['b', true]]],
    [
      'all in flight, where none was seen',
      [a, upload],
      note('hung'),
      [
        ['a', false],
        ['upload', false],
      ],
    ],
    [
      'of the engine, those with a statement',
      [a, upload, b],
      note('crashed'),
      [
        ['a', false],
        ['b', false],
      ],
    ],
    ['of the engine, anything where there is no statement', [upload], note('crashed'), [['upload', true]]],
    ['none where nothing was in flight', [], note('crashed'), []],
  ])('%s', (_, works, of, expected) => {
    expect(stopsOf(works, of, 'v').map(({ traceId, isCause }) => [traceId, isCause])).toEqual(expected);
  });
});

describe('refusedOf()', () => {
  test('has causes, and what was in flight at two ends', () => {
    const stops = [
      stop('cause'),
      stop('once', { isCause: false }),
      stop('twice', { isCause: false }),
      stop('twice', { isCause: false, at: at(1) }),
    ];
    expect([...refusedOf(stops).keys()]).toEqual(['cause', 'twice']);
  });

  test('one that was in flight in two requests at one end is not refused', () => {
    expect(refusedOf([stop('same', { isCause: false }), stop('same', { isCause: false })]).size).toBe(0);
  });
});

describe('heldOf()', () => {
  test.each([
    ['once', [0], undefined],
    ['twice within an hour', [0, 59], 69],
    ['twice, more than an hour apart', [0, 61], undefined],
    ['a third time', [0, 59, 80], 90],
  ])('a key that ended the service %s', (_, minutes, until) => {
    const held = heldOf(minutes.map((minute, index) => stop(`s${index}`, { at: at(minute) })));
    expect(held.get('of-key')).toBe(until === undefined ? undefined : Date.parse(at(until)));
  });

  test('holds no key back for what it may not have done', () => {
    const stops = [
      stop('a', { isCause: false }),
      stop('b', { isCause: false, at: at(1) }),
      stop('c', { caller: null }),
    ];
    expect(heldOf(stops).size).toBe(0);
  });
});

describe('fingerprint()', () => {
  test('differs with any part, and with where one part ends', () => {
    const all = [
      fingerprint('a', 'b'),
      fingerprint('ab', ''),
      fingerprint('a', 'c'),
      fingerprint('a', Buffer.from('b')),
    ];
    expect(new Set(all).size).toBe(3);
    expect(all[0]).toBe(all[3]);
  });

  test('knows a long part by its length, beginning and end', () => {
    const long = Buffer.alloc(200_000, 'x');
    const [first, last, shorter] = [Buffer.from(long), Buffer.from(long), long.subarray(1)];
    first[0] = 1;
    last[199_999] = 1;
    expect(new Set([long, first, last, shorter].map((bytes) => fingerprint(bytes))).size).toBe(4);
  });
});

test('what is refused says when and why, and how it is allowed again', () => {
  expect(refusal(stop('a', { why: 'stuck' }), '/d/stopped-by.json')).toMatchObject({
    code: 'query_error',
    message: expect.stringMatching(/ended the service at 2026-01-01.*did not stop.*removing it from "\/d\/stopped-by/),
  });
  expect(refusal(stop('a', { sql: null, isCause: false }), 'f')).toMatchObject({
    code: 'invalid_input',
    message: expect.stringMatching(/^This request was running at two ends/),
  });
});

describe('files', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'colloquy-stops-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test.each(['', '{', '[]', '{"stops": 1}', '{"stops": [null, {"at": 1}]}'])('a list with %j is empty', (text) => {
    const file = join(folder, 'stopped-by.json');
    writeFileSync(file, text);
    expect(readStops(file)).toEqual([]);
  });

  test('the list keeps the last 200', () => {
    const file = join(folder, 'stopped-by.json');
    writeFileSync(file, stopsText(Array.from({ length: 250 }, (_, index) => stop(`s${index}`))));
    const stops = readStops(file);
    expect([stops.length, stops[0]?.traceId, stops.at(-1)?.traceId]).toEqual([200, 's50', 's249']);
  });

  test('what is in flight is left behind, unless the service closes', () => {
    const file = join(folder, 'in-flight');
    const flights = openFlights(file);
    const [first, second] = [flights.begin(work('first', null)), flights.begin(work('second'))];
    expect(leftInFlight(file)).toEqual({ pid: process.pid, works: [first.work, second.work] });
    first.work.sql = 'SELECT 1';
    first.changed();
    second.end();
    expect(leftInFlight(file)?.works).toEqual([{ ...work('first'), sql: 'SELECT 1' }]);
    flights.close();
    expect(leftInFlight(file)).toBeUndefined();
  });

  test('however many there are, each is named, and changes after an end take nothing from others', () => {
    const file = join(folder, 'in-flight');
    const flights = openFlights(file);
    const all = Array.from({ length: 300 }, (_, index) => flights.begin(work(`s${index}`)));
    expect(leftInFlight(file)?.works).toHaveLength(300);
    for (const flight of all) flight.end();
    const next = flights.begin(work('next'));
    for (const flight of all) {
      flight.changed();
      flight.end();
    }
    expect(leftInFlight(file)?.works).toEqual([next.work]);
    // Places are used again.
    for (let index = 1; index < 300; index++) flights.begin(work('again'));
    expect(statSync(file).size).toBeLessThanOrEqual(301 * SLOT_BYTES);
    flights.close();
  });

  test('the longest entry fits its place', () => {
    const file = join(folder, 'in-flight');
    const flights = openFlights(file);
    const long = work('long', '\u0001'.repeat(400));
    long.caller = { keyName: '\u{1f600}'.repeat(50), email: '"'.repeat(100), fingerprint: 'f'.repeat(16) };
    long.fingerprints = ['f'.repeat(32), 'f'.repeat(32)];
    expect(Buffer.byteLength(JSON.stringify(long))).toBeLessThan(SLOT_BYTES - 4);
    flights.begin(long);
    expect(leftInFlight(file)?.works).toEqual([long]);
    flights.close();
  });

  test('a file that was cut short, or holds something else, tells what it can', () => {
    const file = join(folder, 'in-flight');
    writeFileSync(file, Buffer.alloc(SLOT_BYTES + 2, 0xff));
    expect(leftInFlight(file)).toEqual({ pid: 0, works: [] });
    expect(leftInFlight(join(folder, 'none'))).toBeUndefined();
  });
});
