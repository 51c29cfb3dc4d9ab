import { readFileSync } from 'node:fs';
import { ApiError } from '../../contract/errors.ts';
import type { EndNote, Why } from './end-note.ts';
import type { Work } from './flights.ts';

/** A request that was there when a process ended itself or crashed; one line of the operator's file. */
export interface Stop extends Work {
  /** ISO-8601. */
  at: string;
  why: Why;
  /** Whether it was this request; otherwise it was one of several in flight. */
  isCause: boolean;
  /** Of the program and the engine. */
  versions: string;
}

const STOPS_MAX = 200;
/** How JavaScript ends a process that has no memory left for its own values: no statement's doing alone. */
const OUT_OF_HEAP = 'SIGABRT';
const HOUR_MS = 3_600_000;
const HOLD_MS = 10 * 60_000;

/**
 * What a process left in flight, given what is known of its end: nothing if that was somebody else's doing, such as a
 * kill by the system or a person. The one that was seen at work is the cause, or one alone in flight at a crash; others
 * count once each: a thread that hangs in nobody's request may do the service's own work. Whose statement did not stop,
 * or took the memory, the engine says: if not, nobody is to blame.
 */
export function stopsOf(works: readonly Work[], note: EndNote | undefined, versions: string): Stop[] {
  if (note === undefined) return [];
  const { at, why, by, signal } = note;
  const isOfEngine = why === 'crashed' && signal !== OUT_OF_HEAP;
  // Only statements run in the engine while the thread is free to take requests.
  const statements = isOfEngine ? works.filter(({ sql }) => sql !== null) : [];
  const there = why === 'stuck' || why === 'memory' ? [] : statements.length > 0 ? statements : works;
  const seen = by.length > 0 ? by : there;
  const isCause = seen.length === 1 && signal !== OUT_OF_HEAP && (why !== 'hung' || by.length > 0);
  return seen.map((work) => ({ ...work, at, why, isCause, versions }));
}

/** The list that the operator reads and may edit: the file as it is, without what other versions wrote. */
export function readStops(file: string): Stop[] {
  try {
    const { stops } = JSON.parse(readFileSync(file, 'utf8')) as { stops?: unknown };
    return Array.isArray(stops) ? stops.filter(isStop) : [];
  } catch {
    return [];
  }
}

function isStop(value: unknown): value is Stop {
  const stop = value as Partial<Stop> | null;
  return typeof stop?.at === 'string' && Array.isArray(stop.fingerprints) && typeof stop.operation === 'string';
}

export function stopsText(stops: readonly Stop[]): string {
  return `${JSON.stringify({ stops: stops.slice(-STOPS_MAX) }, null, 2)}\n`;
}

/** Those that are refused: each was the cause, or was in flight at two ends. */
export function refusedOf(stops: readonly Stop[]): Map<string, Stop> {
  const refused = new Map<string, Stop>();
  const once = new Map<string, string>();
  for (const stop of stops) {
    for (const one of stop.fingerprints) {
      if (stop.isCause || (once.get(one) ?? stop.at) !== stop.at) refused.set(one, stop);
      once.set(one, stop.at);
    }
  }
  return refused;
}

/** Until when keys are held back, by their fingerprints: those that were the cause twice within an hour. */
export function heldOf(stops: readonly Stop[]): Map<string, number> {
  const held = new Map<string, number>();
  const last = new Map<string, number>();
  for (const { caller, isCause, at } of stops) {
    if (!isCause || caller === null) continue;
    const time = Date.parse(at);
    if (time - (last.get(caller.fingerprint) ?? Number.NEGATIVE_INFINITY) <= HOUR_MS) {
      held.set(caller.fingerprint, time + HOLD_MS);
    }
    last.set(caller.fingerprint, time);
  }
  return held;
}

const HOW: Record<Why, string> = {
  hung: 'the service no longer answered',
  stuck: 'it did not stop when told to',
  memory: 'it took ever more memory and did not stop',
  crashed: 'the process crashed',
};

export function refusal({ at, why, sql, isCause }: Stop, file: string): ApiError {
  const what = sql === null ? 'This request' : 'This statement';
  const seen = isCause ? `${what} ended the service` : `${what} was running at two ends of the service, the last`;
  return new ApiError(
    sql === null ? 'invalid_input' : 'query_error',
    `${seen} at ${at}: ${HOW[why]}. So it is refused. Write it differently; whoever operates the service can allow it again by removing it from "${file}".`,
  );
}

export function heldBack(keyName: string, until: number, now: number): ApiError {
  return new ApiError(
    'resource_exceeded',
    `Requests with the API key "${keyName}" have ended the service twice within an hour, so it is held back until ${new Date(until).toISOString()}.`,
    { retryAfterMs: until - now },
  );
}
