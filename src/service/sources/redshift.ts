import { hash } from 'node:crypto';
import type pg from 'pg';
import type { JsonObject } from '../../contract/json/json.ts';
import { type Collecting, createCollecting } from './items.ts';
import { type Connection, createConnection } from './redshift-connection.ts';
import { createPages, type Pages } from './redshift-pages.ts';
import { quoted } from './redshift-rows.ts';
import {
  describe,
  digest,
  estimated,
  isFrom,
  isInfinite,
  isTime,
  type Key,
  latest,
  OVERLAP_SECONDS,
  type Row,
  rowOf,
  rowReader,
  type Table,
} from './redshift-table.ts';
import { BATCH_ITEMS_MAX, type SourceBatch, type SourceOptions, type SourceReader } from './source.ts';

/*
 * A table of Amazon Redshift, or of PostgreSQL, whose wire it speaks: all rows in the order of their key, then again and
 * again those whose `incremental_field` is larger than before. Rows that are deleted there are not noticed.
 */

const POLL_MS = 1_000;
/** A look without an index reads the whole table there: it may take so much of the time. */
const LOOKING_SHARE = 0.1;
/** Rows of the overlap that are known to be stored as they are. */
const KNOWN_MAX = 50_000;

interface Checkpoint {
  /** The largest value of the incremental field that there was before the scan, or has been read since; null: none. */
  position: string | null;
  /** Of the last row that the scan has read; null: it begins. */
  scanned: Key | null;
  rows: number;
  isScanned: boolean;
}

interface Reading {
  using: Connection['using'];
  settings: JsonObject;
  table: Table;
  signal: AbortSignal;
  pages: Pages;
  /** Digests of rows of the overlap, by id, as they were read: they are the same each time. */
  known: Map<string, string>;
  /** The overlap of a position as all of it was read; absent: none was. */
  seen: { position?: string | null; digest?: string | undefined };
  /** How long the last look for changes took, in milliseconds. */
  looked: { ms: number };
}

export async function openSource(options: SourceOptions): Promise<SourceReader> {
  const { settings } = options;
  const pages = createPages();
  const { using, close } = createConnection(options);
  const known = new Map<string, string>();
  const seen: Reading['seen'] = {};
  const looked: Reading['looked'] = { ms: 0 };
  return {
    get pollMs() {
      return Math.max(POLL_MS, looked.ms / LOOKING_SHARE);
    },
    check: (signal) => using(signal, async (one) => void (await describe(one, settings))),
    async *read(from, signal) {
      const table = await using(signal, (one) => describe(one, settings));
      const reading: Reading = { using, settings, table, signal, pages, known, seen, looked };
      let at = (from as unknown as Checkpoint | undefined) ?? {
        position: await using(signal, (one) => latest(one, table)),
        scanned: null,
        rows: 0,
        isScanned: false,
      };
      if (!at.isScanned) {
        for await (const batch of scan(reading, at)) {
          at = batch.checkpoint as unknown as Checkpoint;
          yield batch;
        }
      }
      yield* follow(reading, at);
    },
    close,
  };
}

/** All rows, in the order of their key. */
async function* scan(
  { using, settings, table, signal, pages, known, seen }: Reading,
  from: Checkpoint,
): AsyncGenerator<SourceBatch> {
  const total = from.scanned === null ? await using(signal, (one) => estimated(one, settings)) : undefined;
  let at = from;
  const isRecent = recentBy(table, at.position);
  const reader = rowReader(table);
  const scanning = await using(signal, async (one) => {
    await one.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await declare(one, table, reader.select, at.scanned);
    return one;
  });
  for (;;) {
    const collecting = createCollecting();
    let key = at.scanned;
    let rows = 0;
    let isScanned = false;
    const take = (row: Row) => {
      rows += 1;
      key = row.key;
      add(collecting, table, row);
      // The first look for changes meets it again.
      if (known.size < KNOWN_MAX && isRecent(row.field)) known.set(row.id, digestOf(row));
    };
    const fetchPage = async (one: pg.Client) => {
      const asked = pages.fetchRows(table, rows);
      const query = { text: `FETCH ${asked} FROM colloquy`, given: [], asked };
      const page = await pages.read(one, query, reader, collecting, take);
      isScanned = page.isLast;
      if (!page.isCut) return page.isLast || rows >= BATCH_ITEMS_MAX || pages.isEnough(collecting);
      // What was left out is read again, as this transaction sees it.
      await one.query('CLOSE colloquy');
      await declare(one, table, reader.select, key);
      return true;
    };
    let failure: unknown;
    try {
      while (!(await using(signal, fetchPage)));
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    // On a line that breaks all the time, what came is not read again.
    if (failure !== undefined && rows === 0) throw failure;
    at = { ...at, scanned: isScanned ? null : key, rows: at.rows + rows, isScanned };
    yield collecting.take(at as unknown as JsonObject, {
      phase: isScanned ? 'changes' : 'scan',
      scanned: at.rows,
      scanTotal: total === undefined ? undefined : Math.max(total, at.rows),
    });
    if (failure !== undefined) throw failure;
    if (isScanned) break;
  }
  // While the last rows are stored: as the scan saw it, unless that went on from what another one saw.
  const overlap = await using(signal, async (one) => {
    const isSeen = one === scanning && from.scanned === null;
    const told = isSeen ? await digest(one, table, at.position) : undefined;
    await one.query('COMMIT');
    return told;
  });
  if (overlap !== undefined) Object.assign(seen, { position: at.position, digest: overlap });
}

/** Opens the cursor of the scan, behind a key. */
async function declare(one: pg.Client, table: Table, select: string, after: Key | null): Promise<void> {
  const key = (after ?? []).map((text) => one.escapeLiteral(text));
  const behind = key.length === 0 ? '' : `WHERE ${rowOf(table.key)} > (${key.join(', ')})`;
  await one.query(`DECLARE colloquy CURSOR FOR ${select} ${behind} ORDER BY ${table.key.map(quoted).join(', ')}`);
}

/** Whether a value of the incremental field is within the overlap of a position, or behind it. */
function recentBy({ incremental }: Table, position: string | null): (value: string | null) => boolean {
  if (incremental === undefined) return () => false;
  if (position === null) return (value) => value !== null;
  if (!isTime(incremental)) return (value) => value === position;
  // The database writes all of them alike.
  const ms = timeMs(position);
  // A year that JavaScript does not know.
  if (Number.isNaN(ms)) return (value) => value !== null;
  const oldest = new Date(ms - OVERLAP_SECONDS * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  return (value) => value !== null && value >= oldest;
}

/** The session is in UTC. */
function timeMs(text: string): number {
  return Date.parse(`${text.replace(' ', 'T').replace(/[+]00$/, '')}Z`);
}

/** The rows whose incremental field is as large as before, or larger. */
async function* follow(
  { using, table, signal, pages, known, seen, looked }: Reading,
  from: Checkpoint,
): AsyncGenerator<SourceBatch> {
  const { incremental } = table;
  if (incremental === undefined) return;
  const start = from.position;
  const startedAt = performance.now();
  const overlap = await using(signal, (one) => digest(one, table, start));
  looked.ms = performance.now() - startedAt;
  if (overlap !== undefined && seen.position === start && seen.digest === overlap) return;
  const reader = rowReader(table);
  const columns = [incremental.name, ...table.key];
  const order = columns.map(quoted).join(', ');
  let position = start;
  let after: string[] | undefined;
  for (;;) {
    const { condition, given } =
      after === undefined
        ? isFrom(incremental, start)
        : { condition: `(${order}) > (${columns.map((_, n) => `$${n + 1}`).join(', ')})`, given: after };
    const collecting = createCollecting();
    const take = (row: Row) => {
      const { id, key, field: value } = row;
      const told = digestOf(row);
      if (known.get(id) !== told) add(collecting, table, row);
      known.delete(id);
      known.set(id, told);
      if (value !== null && !isInfinite(value)) position = value;
      after = value === null ? undefined : [value, ...key];
    };
    const asked = pages.rows;
    const query = { text: `${reader.select} WHERE ${condition} ORDER BY ${order} LIMIT ${asked}`, given, asked };
    const askedAt = performance.now();
    // What is left out of a page begins the next one.
    const { isLast } = await using(signal, (one) => pages.read(one, query, reader, collecting, take));
    if (isLast) looked.ms = Math.max(looked.ms, performance.now() - askedAt);
    for (const id of known.keys()) {
      if (known.size <= KNOWN_MAX) break;
      known.delete(id);
    }
    const ms = isTime(incremental) && position !== null ? timeMs(position) : Number.NaN;
    const itemTimeMs = Number.isNaN(ms) ? undefined : ms;
    const checkpoint = { ...from, position } as unknown as JsonObject;
    if (!collecting.isEmpty) yield collecting.take(checkpoint, { phase: 'changes', itemTimeMs });
    if (isLast) break;
  }
  Object.assign(seen, { position: start, digest: overlap });
}

/** It is kept instead of the text, which may be long. */
function digestOf({ text }: Row): string {
  return hash('sha256', text, 'base64');
}

function add(collecting: Collecting, { label, declared }: Table, { id, text }: Row): void {
  collecting.add({ id, text, declared, item: `${label}/${id}` }, text.length);
}
