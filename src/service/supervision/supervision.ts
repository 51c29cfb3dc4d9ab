import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { cutWithoutKeys } from '../../contract/without-keys.ts';
import type { Engine, GiveUp } from '../../engine/engine.ts';
import type { Principal } from '../access/auth.ts';
import { readEndNote, writeEndNote } from './end-note.ts';
import { type Flight, fingerprint, leftInFlight, openFlights, type Work } from './flights.ts';
import { heldBack, heldOf, readStops, refusal, refusedOf, type Stop, stopsOf, stopsText } from './stopped-by.ts';
import { watchThread } from './thread-watch.ts';

/** Files of the data folder. */
export interface SupervisionFiles {
  /** What is in flight; exists while the service runs, and after an end that was no closing. */
  inFlightFile: string;
  /** What is known of the end of a process. */
  endNoteFile: string;
  /** Requests that ended the service, for the operator. */
  stoppedByFile: string;
}

/** What is known of a request when its handler begins. */
export interface Begun {
  traceId: string;
  operation: string;
  method: string;
  url: string;
  caller: Pick<Principal, 'keyName' | 'keyHash' | 'user'>;
  /** Absent: it has none. */
  body: Buffer | undefined;
}

/** A request that is being worked on. */
export interface Guarded {
  /** The engine, for the statements of this request. */
  engine: Engine;
  /** As in `Flight`. */
  run<T>(work: () => T): T;
  end(): void;
}

/**
 * Knows what is in flight, and what ended the service before: so that one request can end it once, and not again.
 * Without files it refuses nothing and ends nothing.
 */
export interface Supervision {
  /** Throws `query_error` or `invalid_input` for a request that is refused. */
  begin(request: Begun): Guarded;
  /** The engine for statements that the service runs by itself. */
  engine: Engine;
  /** Throws `resource_exceeded` for a key that is held back. */
  refuseHeld(caller: Pick<Principal, 'keyName' | 'keyHash'>): void;
  /** From here on another thread watches this one. */
  watch(): void;
  /** To be called last. */
  close(): void;
}

const SQL_CHARS_MAX = 400;
const NAME_CHARS_MAX = 100;
const KEY_CHARS = 16;
/** Requests whose statements may still run after their answer. */
const OUTLASTED_MAX = 1_000;

/** The latest requests that ran statements, by trace id: a statement may still run although its caller has an answer. */
export interface Outlasting {
  remember(work: Work): void;
  of(traceIds: readonly string[]): Work[];
}

export function createOutlasting(): Outlasting {
  const works = new Map<string, Work>();
  return {
    remember(work) {
      if (work.traceId === null) return;
      works.set(work.traceId, work);
      for (const [oldest] of works) if (works.size > OUTLASTED_MAX) works.delete(oldest);
    },
    of: (traceIds) => traceIds.flatMap((id) => works.get(id) ?? []),
  };
}

/** For when only the end of the process is left: notes whose doing that is. Returns the message to end with. */
export function noteEnd(endNoteFile: string, outlasting: Outlasting, { why, message, requestIds }: GiveUp): string {
  const at = new Date().toISOString();
  const by = outlasting.of(requestIds);
  try {
    writeEndNote(endNoteFile, { pid: process.pid, at, why, by });
  } catch {
    // A full disk; the process has to end all the same.
  }
  return `${message} ${by.map((work) => JSON.stringify(logged(work))).join(', ')}`.trim();
}

export interface SupervisionOptions {
  files: SupervisionFiles | undefined;
  engine: Engine;
  outlasting: Outlasting;
  /** Of the program and the engine. */
  versions: string;
  log: Logger;
  now?: () => number;
}

/** The database's lock must be held: the files are those of the folder's one service. */
export function createSupervision(options: SupervisionOptions): Supervision {
  const { files, engine, outlasting, versions, log, now = Date.now } = options;
  const all = files === undefined ? [] : takeOver(files, versions, log);
  let refused = refusedOf(all);
  let held = heldOf(all);
  const flights = openFlights(files?.inFlightFile);
  let stopWatching = () => {};

  /** Removing an entry from the file, or the file, is how an operator allows a request again. */
  const look = () => {
    const stops =
      files === undefined ? [] : readStops(files.stoppedByFile).filter((stop) => stop.versions === versions);
    refused = refusedOf(stops);
    held = heldOf(stops);
  };
  const refuse = (one: string) => {
    if (!refused.has(one)) return;
    look();
    const stop = refused.get(one);
    if (stop !== undefined) throw refusal(stop, files?.stoppedByFile ?? '');
  };

  /** `begin` returns the flight of a statement, which ends with the statement if it `isOwn`. */
  const guard = (begin: () => Flight, body: string, isOwn: boolean): Engine => {
    const statement = async <T>(
      request: { sql: string; parameters?: readonly unknown[] | undefined },
      run: (requestId: string | undefined) => Promise<T>,
    ): Promise<T> => {
      // A statement may be harmless with other parameters, and somebody else's: with parameters, it is this request.
      const values = request.parameters?.length ? body : '';
      const one = fingerprint('sql', request.sql, values);
      refuse(one);
      const flight = begin();
      const { work } = flight;
      work.fingerprints = [...(body === '' ? [] : [body]), one];
      work.sql = cutWithoutKeys(request.sql, SQL_CHARS_MAX);
      flight.changed();
      outlasting.remember({ ...work });
      try {
        return await flight.run(() => run(work.traceId ?? undefined));
      } finally {
        if (isOwn) flight.end();
      }
    };
    return Object.create(engine, {
      query: {
        value: (request: Parameters<Engine['query']>[0]) =>
          statement(request, (requestId) => engine.query({ ...request, requestId })),
      },
      inspect: {
        value: (request: Parameters<Engine['inspect']>[0]) =>
          statement(request, (requestId) => engine.inspect({ ...request, requestId })),
      },
    }) as Engine;
  };

  return {
    begin({ traceId, operation, method, url, caller, body }) {
      // Without a body there is nothing of a stranger's but names, and refusing them would take an endpoint from all.
      const one = body === undefined ? '' : fingerprint(method, url, body);
      refuse(one);
      const work = workOf(traceId, operation, now(), caller, one);
      const flight = flights.begin(work);
      return { engine: guard(() => flight, one, false), run: flight.run, end: flight.end };
    },
    engine: guard(() => flights.begin(workOf(null, 'of the service itself', now(), undefined, '')), '', true),
    refuseHeld({ keyName, keyHash }) {
      const one = keyHash.slice(0, KEY_CHARS);
      if (!held.has(one)) return;
      look();
      const until = held.get(one) ?? 0;
      if (until > now()) throw heldBack(keyName, until, now());
    },
    watch() {
      if (files === undefined) return;
      const onError = (err: unknown) => log.error({ err }, 'nothing watches the thread of this service any more');
      stopWatching = watchThread({ flights, endNoteFile: files.endNoteFile, onError });
    },
    close() {
      stopWatching();
      flights.close();
    },
  };
}

function workOf(
  traceId: string | null,
  operation: string,
  now: number,
  caller: Begun['caller'] | undefined,
  body: string,
): Work {
  const shown = caller && {
    keyName: caller.keyName.slice(0, NAME_CHARS_MAX),
    email: caller.user.email.slice(0, NAME_CHARS_MAX),
    fingerprint: caller.keyHash.slice(0, KEY_CHARS),
  };
  const startedAt = new Date(now).toISOString();
  return { traceId, operation, startedAt, caller: shown ?? null, fingerprints: body === '' ? [] : [body], sql: null };
}

/** Reads what the process before left, adds it to the operator's list, and says so. Returns the list. */
function takeOver(files: SupervisionFiles, versions: string, log: Logger): Stop[] {
  const { inFlightFile, endNoteFile, stoppedByFile } = files;
  const known = readStops(stoppedByFile);
  const stops = known.filter((stop) => stop.versions === versions);
  if (stops.length < known.length) {
    const count = known.length - stops.length;
    log.info({ count }, 'requests that ended a service of another version are no longer refused');
  }
  const left = leftInFlight(inFlightFile);
  if (left !== undefined) {
    const note = readEndNote(endNoteFile, left.pid);
    const added = stopsOf(left.works, note, versions);
    stops.push(...added);
    const why = note?.why ?? 'not known: it was killed, perhaps';
    const found = { why, service_pid: left.pid, in_flight: left.works.map(logged) };
    if (note !== undefined || left.works.length > 0) log.warn(found, 'the service before this one did not close');
    for (const stop of added)
      log.warn(logged(stop), stop.isCause ? 'this request ended it' : 'perhaps this request did');
  }
  if (stops.length !== known.length || left !== undefined) store(stoppedByFile, stops, log);
  rmSync(endNoteFile, { force: true });
  return stops;
}

/** For the log: with the name that all its lines use, and without SQL, in which there may be secrets. */
function logged<T extends Work>({ traceId, sql, fingerprints, ...rest }: T) {
  return { trace_id: traceId, ...rest };
}

/** In place of the old list, durably, and before anything is taken on: this process may end as the last one did. */
function store(file: string, stops: readonly Stop[], log: Logger): void {
  if (stops.length === 0 && !existsSync(file)) return;
  const next = `${file}.next`;
  try {
    const fd = openSync(next, 'w', 0o600);
    writeSync(fd, stopsText(stops));
    fsyncSync(fd);
    closeSync(fd);
    renameSync(next, file);
    if (process.platform === 'win32') return;
    const folder = openSync(dirname(file), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    log.error({ err: error }, 'cannot store which requests ended the service');
  }
}
