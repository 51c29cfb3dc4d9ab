import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { openEngine } from '../../src/engine/duckdb/open.ts';
import { openLake } from '../../src/engine/duckdb/open-lake.ts';
import type { ShortcutName } from '../../src/engine/duckdb/shortcuts/shortcuts.ts';
import type { DocumentsText, Engine, EngineLimits, NewDocument } from '../../src/engine/engine.ts';
import type { Log } from '../../src/engine/log.ts';
import { readGiven } from '../../src/service/ingest/intake.ts';
import { lakeFor, ON_LAKE, sameLake } from '../lake/lake-for.ts';

/** A test of what is particular to one file; left out where the engine's tests are run on lakes. */
export const fileTest: typeof test = ON_LAKE
  ? (Object.assign(() => undefined, { each: () => () => undefined }) as never)
  : test;

/** A new folder, which exists until `dispose` is called. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-engine-'));
  return {
    folder,
    file: join(folder, 'data', '_colloquy.duckdb'),
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

// With this limit, documents are looked up as in large collections.
const SMALL: Partial<EngineLimits> = { threads: 2, memoryBytes: 512 * 1024 * 1024, lookupRowsMin: 0 };

/** All shortcuts, if the tests are run without them: everything must work all the same. */
export const SHORTCUTS_OFF: readonly ShortcutName[] =
  process.env['SHORTCUTS'] === 'off' ? ['knownStatements', 'lookups', 'knownIds', 'unparsed', 'columnUpdates'] : [];

/** On a database file; where the tests are run for lakes, on a lake that has been made for it. */
export async function openSmall(file: string, limits: Partial<EngineLimits> = {}, log?: Log): Promise<Engine> {
  const options = { limits: { ...SMALL, ...limits }, log, shortcutsOff: SHORTCUTS_OFF };
  return ON_LAKE ? openLake({ ...options, ...(await lakeFor(file)) }) : openEngine({ file, ...options });
}

/** Creates the workspace `commons` with the collection `docs`, whose table is `t`. */
export async function createDocs(engine: Engine, recognizeTimes = false): Promise<void> {
  await engine.commit([
    { do: 'createWorkspace', workspace: 'commons' },
    { do: 'createCollection', table: 't', workspace: 'commons', name: 'docs', recognizeTimes },
  ]);
}

export function doc(id: string, fields: JsonObject, eventTimeMicros: bigint | null = null): NewDocument {
  return { id, eventTimeMicros, fields };
}

/** Documents in the form in which a request contains them. */
export function textOf(documents: readonly JsonObject[]): DocumentsText {
  const bytes = Buffer.from(JSON.stringify(documents));
  return {
    bytes,
    start: 0,
    end: bytes.length,
    max: 100,
    makeId: () => 'made',
    readTime: () => undefined,
    read: readGiven,
  };
}

/** The documents with these ids as they are stored; a missing one is undefined. */
export async function readBack(
  engine: Engine,
  table: string,
  ids: readonly string[],
): Promise<(JsonObject | undefined)[]> {
  const documents: (JsonObject | undefined)[] = ids.map(() => undefined);
  await engine.changeDocuments(table, ids, (document, index) => {
    documents[index] = document;
    throw new Error('only looking');
  });
  return documents;
}

/** Resolves once an endless statement, started just before, is running: nothing else takes this much CPU time. */
export async function untilBusy(cpuMs = 50): Promise<void> {
  const from = process.cpuUsage();
  const busy = () => expect(process.cpuUsage(from).user).toBeGreaterThan(cpuMs * 1_000);
  await vi.waitFor(busy, { timeout: 20_000, interval: 5 });
}

/** Rows of a query, in order. */
export async function rowsOf(engine: Engine, sql: string) {
  return (await engine.query({ sql })).rows;
}

export function statusesOf(outcomes: readonly { status: string }[]): string[] {
  return outcomes.map(({ status }) => status);
}

/** Opens a copy of the current files, as if the process that has them open had just died. */
export function openAfterCrash(file: string, copy: string): Promise<Engine> {
  if (ON_LAKE) sameLake(file, join(copy, basename(file)));
  else cpSync(dirname(file), copy, { recursive: true });
  return openSmall(join(copy, basename(file)));
}

/** Name and type of each column of a collection of `commons`. */
export async function columnsOf(engine: Engine, name = 'docs'): Promise<string[]> {
  return (await rowsOf(engine, `SHOW ${name}`)).map(([column, type]) => `${column} ${type}`);
}
