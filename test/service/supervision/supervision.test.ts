import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Engine, QueryRequest } from '../../../src/engine/engine.ts';
import type { UserRecord } from '../../../src/service/catalog/records.ts';
import { readEndNote } from '../../../src/service/supervision/end-note.ts';
import { CURRENT, leftInFlight, openFlights } from '../../../src/service/supervision/flights.ts';
import { readStops, type Stop } from '../../../src/service/supervision/stopped-by.ts';
import {
  createOutlasting,
  createSupervision,
  noteEnd,
  type Outlasting,
  type Supervision,
  type SupervisionFiles,
} from '../../../src/service/supervision/supervision.ts';

const CALLER = { keyName: 'laptop', keyHash: 'f'.repeat(64), user: { email: 'm@x.test' } as UserRecord };
const OTHER = { ...CALLER, keyName: 'other', keyHash: 'e'.repeat(64) };
const WORK = { traceId: null, operation: 'runQuery', startedAt: '', caller: null, fingerprints: [], sql: null };
const SECRET = 'k'.repeat(64);

let folder = '';
let files: SupervisionFiles;
let lines: Record<string, unknown>[] = [];
let outlasting: Outlasting;
let asked: QueryRequest[] = [];
/** What the engine does with a query. */
let run: (request: QueryRequest) => Promise<unknown>;
let count = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'colloquy-supervision-'));
  files = {
    inFlightFile: join(folder, 'in-flight'),
    endNoteFile: join(folder, 'ended.json'),
    stoppedByFile: join(folder, 'stopped-by.json'),
  };
  lines = [];
  asked = [];
  outlasting = createOutlasting();
  run = async () => ({ rows: [] });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open({ versions = 'v1', now = Date.now } = {}): Supervision {
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const engine = {
    namesVersion: 7,
    query: (request: QueryRequest) => {
      asked.push(request);
      return run(request);
    },
    inspect: async () => ({}),
  } as unknown as Engine;
  return createSupervision({ files, engine, outlasting, versions, log, now });
}

/** A request with this SQL, from begin to end. */
async function request(
  supervision: Supervision,
  sql: string,
  { caller = CALLER, body = sql, parameters = [] as never[] } = {},
) {
  const traceId = `t${++count}`;
  const url = '/v1/orgs/self/queries';
  const bytes = Buffer.from(body);
  const guarded = supervision.begin({ traceId, operation: 'runQuery', method: 'POST', url, caller, body: bytes });
  try {
    return await guarded.engine.query({ sql, parameters });
  } finally {
    guarded.end();
  }
}

const failure = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => Promise.reject(new Error('expected a rejection')),
    (error: ApiError) => error,
  );

/** The process ends while these statements run, and the next one starts. */
async function endDuring(supervision: Supervision, why: 'crashed' | undefined, ...sqls: string[]) {
  run = () => new Promise(() => {});
  for (const sql of sqls) void request(supervision, sql);
  await Promise.resolve();
  if (why !== undefined) {
    const at = new Date().toISOString();
    writeFileSync(files.endNoteFile, JSON.stringify({ pid: process.pid, at, why, by: [] }));
  }
  run = async () => ({ rows: [] });
  return open();
}

describe('a request in flight', () => {
  test('is in the file with its statement, caller and no key; and no longer when it is over', async () => {
    const supervision = open();
    let left: unknown;
    run = async () => {
      left = leftInFlight(files.inFlightFile)?.works;
    };
    await request(supervision, `SELECT '${SECRET}'`);
    expect(left).toMatchObject([
      {
        operation: 'runQuery',
        caller: { keyName: 'laptop', email: 'm@x.test', fingerprint: 'f'.repeat(16) },
        sql: "SELECT 'kkkk…'",
      },
    ]);
    expect(leftInFlight(files.inFlightFile)?.works).toEqual([]);
    expect(asked[0]?.requestId).toBe(`t${count}`);
    expect(readFileSync(files.inFlightFile, 'utf8')).not.toContain(SECRET);
    if (process.platform !== 'win32') expect(statSync(files.inFlightFile).mode & 0o777).toBe(0o600);
    supervision.close();
    expect(existsSync(files.inFlightFile)).toBe(false);
  });

  test('is seen at work whenever the thread works on it, after waits too, and on nothing else', async () => {
    const flights = openFlights(files.inFlightFile);
    const seen = () => Atomics.load(flights.board, CURRENT);
    const [one, other] = [flights.begin(WORK), flights.begin(WORK)];
    const waits = async () => {
      const found = [seen()];
      for (const wait of [
        sleep(1),
        new Promise((resolve) => setImmediate(resolve)),
        readFile(files.inFlightFile),
        null,
      ]) {
        await wait;
        found.push(seen());
      }
      return found;
    };
    const [first, second, none] = await Promise.all([one.run(waits), other.run(waits), sleep(1).then(waits)]);
    expect([first, second, none]).toEqual([Array(5).fill(1), Array(5).fill(2), Array(5).fill(0)]);
    const late = one.run(async () => {
      await sleep(5);
      return seen();
    });
    one.end();
    expect(await late).toBe(0);
    flights.close();
  });

  test('gets an engine that is otherwise the same', () => {
    const supervision = open();
    expect(supervision.engine.namesVersion).toBe(7);
    supervision.close();
  });
});

describe('after an end', () => {
  test('the statement alone in flight is refused for everybody, and no other', async () => {
    const next = await endDuring(open(), 'crashed', 'SELECT bad');
    expect(await failure(request(next, 'SELECT bad'))).toMatchObject({ code: 'query_error' });
    expect(await failure(request(next, 'SELECT bad', { caller: OTHER, body: 'other' }))).toMatchObject({
      code: 'query_error',
    });
    await request(next, 'SELECT good');
    expect(asked.map(({ sql }) => sql)).toEqual(['SELECT bad', 'SELECT good']);
    expect(lines.map(({ msg }) => msg)).toEqual(['the service before this one did not close', 'this request ended it']);
    expect(existsSync(files.endNoteFile)).toBe(false);
    // Also by the process after that.
    next.close();
    expect(await failure(request(open(), 'SELECT bad'))).toMatchObject({ code: 'query_error' });
  });

  test('one of several is refused once it was there a second time', async () => {
    const second = await endDuring(open(), 'crashed', 'SELECT a', 'SELECT b');
    await request(second, 'SELECT a');
    // Two ends within a millisecond are one.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const third = await endDuring(second, 'crashed', 'SELECT a', 'SELECT c');
    await failure(request(third, 'SELECT a'));
    await request(third, 'SELECT b');
    await request(third, 'SELECT c');
  });

  test('a statement is refused with its parameters only', async () => {
    run = () => new Promise(() => {});
    const value = { name: 'p', value: 'x' } as never;
    void request(open(), 'SELECT :p', { body: 'x', parameters: [value] });
    await Promise.resolve();
    writeFileSync(
      files.endNoteFile,
      JSON.stringify({ pid: process.pid, at: new Date().toISOString(), why: 'crashed' }),
    );
    run = async () => ({ rows: [] });
    const next = open();
    expect(await failure(request(next, 'SELECT :p', { body: 'x', parameters: [value] }))).toBeInstanceOf(ApiError);
    await request(next, 'SELECT :p', { body: 'y', parameters: [value] });
  });

  test.each([
    ['nobody knows how', undefined],
    ['another process left the note', 1],
  ])('nothing is refused if %s', async (_, pid) => {
    const first = open();
    if (pid !== undefined) writeFileSync(files.endNoteFile, JSON.stringify({ pid, at: 'x', why: 'crashed' }));
    await request(await endDuring(first, undefined, 'SELECT bad'), 'SELECT bad');
    expect(existsSync(files.stoppedByFile)).toBe(false);
    expect(lines).toMatchObject([
      {
        msg: 'the service before this one did not close',
        in_flight: [{ operation: 'runQuery', caller: { keyName: 'laptop' } }],
      },
    ]);
  });

  test('a person allows it again by removing its entry, at once', async () => {
    const next = await endDuring(open(), 'crashed', 'SELECT bad');
    await failure(request(next, 'SELECT bad'));
    writeFileSync(files.stoppedByFile, JSON.stringify({ stops: [] }));
    await request(next, 'SELECT bad');
  });

  test('another version starts anew, and says so', async () => {
    (await endDuring(open(), 'crashed', 'SELECT bad')).close();
    lines = [];
    await request(open({ versions: 'v2' }), 'SELECT bad');
    expect(lines).toMatchObject([{ count: 1, msg: expect.stringMatching(/another version are no longer refused/) }]);
    expect(readStops(files.stoppedByFile)).toEqual([]);
  });

  test('a key that does it again is held back for ten minutes, and others are not', async () => {
    const second = await endDuring(open(), 'crashed', 'SELECT a');
    second.refuseHeld(CALLER);
    const third = await endDuring(second, 'crashed', 'SELECT b');
    const [, last] = readStops(files.stoppedByFile) as [Stop, Stop];
    third.close();
    let now = Date.parse(last.at) + 1_000;
    const held = open({ now: () => now });
    expect(() => held.refuseHeld(CALLER)).toThrow(/"laptop" have ended the service twice/);
    held.refuseHeld(OTHER);
    now += 600_000;
    held.refuseHeld(CALLER);
  });
});

describe('a statement that outlasts its request', () => {
  test.each(['query_timeout', 'query_stopped', 'aborted'] as const)('is known by it: %s', async (code) => {
    run = () => Promise.reject(new ApiError(code, 'x'));
    await failure(request(open(), 'SELECT slow'));
    const requestIds = [`t${count}`];
    const said = noteEnd(files.endNoteFile, outlasting, { why: 'stuck', message: 'It ends.', requestIds });
    expect(said).toMatch(/^It ends. \{"trace_id":"t\d+","operation":"runQuery",.*"keyName":"laptop"/);
    expect(said).not.toContain('SELECT');
    expect(readEndNote(files.endNoteFile, process.pid)).toMatchObject({ why: 'stuck', by: [{ sql: 'SELECT slow' }] });
    expect(await failure(request(open(), 'SELECT slow'))).toMatchObject({
      message: expect.stringMatching(/did not stop/),
    });
  });

  test('of which there are ever more, the oldest are forgotten', async () => {
    run = () => Promise.reject(new ApiError('aborted', 'x'));
    const supervision = open();
    const first = `t${count + 1}`;
    for (let index = 0; index <= 1_000; index++) await failure(request(supervision, `SELECT ${index}`));
    expect(outlasting.of([first, `t${count}`])).toMatchObject([{ sql: 'SELECT 1000' }]);
  });
});

test('without files nothing is written or refused', async () => {
  const log = pino({ level: 'silent' });
  const engine = { query: async () => 'rows' } as unknown as Engine;
  const supervision = createSupervision({ files: undefined, engine, outlasting, versions: '', log });
  supervision.watch();
  expect(await request(supervision, 'SELECT 1')).toBe('rows');
  supervision.refuseHeld(CALLER);
  supervision.close();
});
