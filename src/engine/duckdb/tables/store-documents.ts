import { mapInTurns } from '../../../contract/turns/turns.ts';
import { lineCount } from '../../documents.ts';
import type { DocumentsText, NumberedLines, OnFieldNews, RecordChange, TextOutcome } from '../../engine.ts';
import type { Locks } from '../connections/locks.ts';
import type { Sql, Store, Transaction } from '../connections/store.ts';
import { idsOfLines } from '../shortcuts/id-filters.ts';
import type { Shortcuts } from '../shortcuts/shortcuts.ts';
import type { ScannedText, TextDocument } from '../shortcuts/unparsed.ts';
import { insertNumbered, insertText, partsOfText } from '../shortcuts/unparsed-insert.ts';
import type { Shape } from '../values/shape.ts';
import type { AcceptedDocument } from './accept.ts';
import { createAliasView } from './aliases.ts';
import { alterSteps, convertedColumns } from './alter.ts';
import {
  aliasesOver,
  type Catalog,
  dataTable,
  putTable,
  requireTable,
  type Table,
  tableOf,
  updateShape,
} from './catalog.ts';
import { columnDefinitions, type Fitting, lastColumns, type Retyped, type TableShape, widenTable } from './columns.ts';
import { fieldNewsOf } from './field-news.ts';
import { deleteRows, findRows, visibleOf } from './find-rows.ts';
import { insertDocuments } from './insert.ts';
import { areOfMajority, mayRetype, withMajority } from './majority.ts';
import { withMaps } from './maps.ts';
import type { Earlier, Written } from './places.ts';
import { emptySteps, refit } from './retype.ts';
import { createView } from './views.ts';

export interface WritesContext {
  store: Store;
  catalog: Catalog;
  locks: Locks;
  transaction: Transaction;
  shortcuts: Pick<Shortcuts, 'knownIds' | 'unparsed' | 'columnUpdates'>;
  /** Called after each write to a table, whether it succeeded or not. */
  written(table: string): void;
  /** Called with the records that a write has stored, while their lock is held. */
  recordsStored(changes: readonly RecordChange[]): void;
}

/**
 * Lock of the schema and the records; a record that nobody else changes meanwhile may be stored without it. If a
 * table's lock is needed as well, take that one first.
 */
export const METADATA_LOCK = 'metadata';

/**
 * Lock of whoever plans changes of records by those that there are (`Sharing.alone`), and so of whoever stores others along
 * with documents. Taken before any other: then come tables' locks, then that of the metadata.
 */
export const RECORDS_LOCK = 'records';

/** What else is done when documents are stored. */
interface Storing {
  /** In the same transaction; given the table as it is then, and the event times of the documents that were replaced, by id. */
  finish?: (sql: Sql, table: Table, existed: ReadonlyMap<string, bigint>) => Promise<void>;
  onNews?: OnFieldNews | undefined;
  /** The documents that had strays before, as they were, if these are changed: of the same strays there is no news. */
  earlier?: Earlier['documents'];
}

/** Stores documents with distinct ids, replacing those that have these ids now; returns what `store` does. */
export async function storeDocuments(
  context: WritesContext,
  before: Table,
  documents: readonly AcceptedDocument[],
  { finish, onNews, earlier }: Storing = {},
): Promise<Map<string, bigint>> {
  if (documents.length === 0) return new Map();
  const { shape, retyped, written } = await fitting(context.transaction, before, documents);
  const stored = { shape, retyped, ids: documents.map(({ id }) => id), written, onNews, earlier };
  return store(context, before, stored, async (sql, table, timeOf, existed) => {
    const fitted = written.map((one) => ({ ...one, eventTimeMicros: one.eventTimeMicros ?? timeOf(one.id) }));
    await insertDocuments(sql.again, table, fitted);
    await finish?.(sql, table, existed);
  });
}

/** How documents go into a table: its shape then, and the columns that do not hold all of their values in it. */
export async function fitting(
  read: Transaction,
  before: Table,
  documents: readonly AcceptedDocument[],
): Promise<Retyped & { written: (AcceptedDocument & Fitting)[] }> {
  let fit = await fitAll(before.shape, documents);
  const retyped = await withMajority(read, before, fit.shape, {
    documents: fit.written,
    ids: documents.map(({ id }) => id),
  });
  if (retyped.size > 0) fit = await fitAll(retypedShape(before.shape, retyped), documents);
  const mapped = await withMaps(read, before, fit.shape, documents);
  fit = mapped.retyped.length > 0 ? await fitAll(mapped.shape, documents) : { ...fit, shape: mapped.shape };
  return { ...fit, retyped: [...retyped.keys(), ...mapped.retyped] };
}

async function fitAll(
  before: TableShape,
  documents: readonly AcceptedDocument[],
): Promise<{ shape: TableShape; written: (AcceptedDocument & Fitting)[] }> {
  const widening = widenTable(before);
  const written = await mapInTurns(documents, (document) => ({
    ...document,
    ...widening.add(document.fields, document.declared),
  }));
  return { shape: widening.result(), written };
}

function retypedShape(shape: TableShape, retyped: ReadonlyMap<string, Shape>): TableShape {
  return {
    ...shape,
    strays: new Set([...shape.strays, ...retyped.keys()]),
    columns: new Map([...shape.columns, ...retyped]),
  };
}

/** The ids that may already exist: a generated one cannot. */
function givenIds(documents: readonly TextDocument[], ids: readonly string[]): readonly string[] {
  return documents.some(({ isMade }) => isMade) ? ids.filter((_, at) => documents[at]?.isMade !== true) : ids;
}

/** A type changes, so that nothing is stored as it is. */
class OtherMajority extends Error {}

/** Stores documents of a text; undefined: nothing, since they need a closer look. */
export async function storeText(
  context: WritesContext,
  before: Table,
  { bytes, numbered: lines }: DocumentsText,
  { documents, shape }: ScannedText,
  { finish, onNews }: Storing = {},
): Promise<TextOutcome[] | undefined> {
  const ids = documents.map(({ id }) => id);
  const written: Written[] = [];
  for (const { id, parsed } of documents) if (parsed !== null) written.push({ id, ...parsed });
  const given = givenIds(documents, ids);
  const retyping = await mayRetype(context.transaction, before, shape, { documents: written, ids: given });
  if (retyping === 'yes') return undefined;
  const parts = partsOfText(documents, context.store.insertedBytesMax);
  const isOne = parts.length === 1 && retyping === 'no' && finish === undefined;
  const stored = { shape, retyped: [], ids, given, lines, written, onNews, isOne };
  const storing = store(context, before, stored, async (sql, table, timeOf, replaced) => {
    await insertText(sql.again, table, bytes, parts, ({ id, eventTimeMicros }) => eventTimeMicros ?? timeOf(id));
    // Among all documents those that were parsed may be few: only with all of them it is known.
    if (retyping !== 'no' && !(await areOfMajority((work) => work(sql), table, retyping))) throw new OtherMajority();
    await finish?.(sql, table, replaced);
  });
  const existed = await storing.catch((error: unknown) => {
    if (error instanceof OtherMajority) return undefined;
    throw error;
  });
  if (existed === undefined) return undefined;
  return documents.map(({ id, start, end }) => ({
    id,
    status: existed.has(id) ? 'replaced' : 'added',
    bytes: end - start,
  }));
}

/**
 * Stores the numbered lines of a text, all of which fit the table, which has columns; `finish` as in `storeDocuments`. No list of
 * what is known of each is made, which takes as long as all else here.
 */
export async function storeLines(
  context: WritesContext,
  table: Table,
  text: DocumentsText,
  finish: (sql: Sql, existed: ReadonlyMap<string, bigint>) => Promise<void>,
): Promise<void> {
  const { shape } = table;
  const { numbered = [] } = text;
  const stored = { shape, retyped: [], ids: [], lines: numbered, written: [], onNews: undefined };
  await store(context, table, stored, async (sql, _, timeOf, existed) => {
    const timeOfAll = existed.size === 0 ? timeOf('') : undefined;
    await insertNumbered(sql.again, table, text, { max: context.store.insertedBytesMax, timeOf, timeOfAll });
    await finish(sql, existed);
  });
}

interface Stored {
  /** Shape of the table afterwards. */
  shape: TableShape;
  /** Columns whose values may not fit their new type. */
  retyped: readonly string[];
  ids: readonly string[];
  /** The ids that may already exist; default: all. */
  given?: readonly string[];
  /** Lines whose ids these are; of lines alone no ids are listed. */
  lines?: readonly NumberedLines[] | undefined;
  /** The documents that may have widened the shape, or have strays, in order. */
  written: readonly Written[];
  onNews: OnFieldNews | undefined;
  /** Whether they are inserted by one statement, and nothing else is done (default: no). */
  isOne?: boolean;
  earlier?: Earlier['documents'] | undefined;
}

/**
 * Replaces the documents that have these ids now with what `insert` inserts, and returns the event times of the
 * replaced ones by id; `timeOf` gives the event time of the replaced document, or now. All in one transaction; the
 * table's wider shape is put into the catalog once it is durable.
 */
async function store(
  context: WritesContext,
  before: Table,
  { shape, retyped, ids, given = ids, lines, written, onNews, earlier, isOne: insertsOnce = false }: Stored,
  insert: (
    sql: Sql,
    table: Table,
    timeOf: (id: string) => bigint,
    existed: ReadonlyMap<string, bigint>,
  ) => Promise<void>,
): Promise<Map<string, bigint>> {
  const { catalog, locks } = context;
  const { knownIds } = context.shortcuts;
  const isWider = shape !== before.shape;
  const table = isWider ? tableOf(before, shape) : before;
  const now = BigInt(Date.now()) * 1_000n;
  const found = lines === undefined ? knownIds.try(before.id, given) : knownIds.tryLines(before.id, lines);
  const sought = found ?? (lines === undefined ? given : lines.flatMap(idsOfLines));
  if (lines === undefined) knownIds.add(before.id, ids);
  else knownIds.addLines(before.id, lines);
  const run = async () => {
    let isFirst = false;
    const mayBeFirst = before.shape.columns.size === 0;
    const isOne = insertsOnce && !isWider && !mayBeFirst && sought.length === 0;
    const work = async (sql: Sql) => {
      if (isWider) await alterTable(sql, context, before, { after: table, retyped });
      isFirst = mayBeFirst && (await isEmpty(sql, table));
      const isNew = isFirst || sought.length === 0;
      const existed = isNew ? new Map<string, bigint>() : await deleteExisting(sql, table, sought);
      await insert(sql, table, existed.size === 0 ? () => now : (id) => existed.get(id) ?? now, existed);
      return existed;
    };
    const stored = await context.store.transaction(work, { isOne });
    if (isFirst) knownIds.begin(before.id, ids, lines);
    knownIds.stored(before.id, lines === undefined ? ids.length : lineCount(lines));
    return stored;
  };
  const news = onNews && (await fieldNewsOf(before.shape, shape, written, earlier));
  const tell = () => (news === undefined ? undefined : onNews?.(news));
  if (!isWider) {
    const existed = await run();
    tell();
    return existed;
  }
  return locks.hold([METADATA_LOCK], async () => {
    const existed = await run();
    putTable(catalog, table);
    tell();
    return existed;
  });
}

/** The caller holds the metadata lock, so the tables behind an alias stay as they are until this is done. */
export async function alterTable(
  sql: Sql,
  { catalog, store }: Pick<WritesContext, 'catalog' | 'store'>,
  before: Table,
  { after, retyped }: { after: Table; retyped: readonly string[] },
): Promise<void> {
  const data = dataTable(after.id);
  const isEmptied = (name: string) => retyped.includes(name) && before.shape.columns.has(name);
  const emptied = new Map([...after.shape.columns].filter(([name]) => isEmptied(name)));
  const from = { ...before.shape, columns: new Map([...before.shape.columns, ...emptied]) };
  const steps = [...alterSteps(from, after.shape), ...emptySteps(before.shape, emptied)];
  const isNew = store.remakesTables && steps.length > 1 && isBare(before.shape) && (await isEmpty(sql, before));
  const statements = isNew
    ? [`CREATE OR REPLACE TABLE ${data} (${columnDefinitions(after.shape)})`]
    : store.columnStatements(data, steps);
  for (const statement of statements) await sql(statement);
  // A shape can change without its columns: an integer that grows past 2^53 is still a BIGINT.
  if (statements.length > 0) await createView(sql, catalog, after, catalog.withDeleted.has(after.id));
  for (const alias of aliasesOver(catalog, after.id)) {
    const tables = alias.tables.map((id) => (id === after.id ? after : requireTable(catalog, id)));
    await createAliasView(sql, alias, tables);
  }
  await updateShape(sql, after);
  await refit(sql, after, [...emptied.keys(), ...convertedColumns(from, after.shape)]);
}

/** Whether a table has no columns but its own. */
function isBare(shape: TableShape): boolean {
  return shape.columns.size === 0 && lastColumns(shape).length === 0;
}

/** Whether a table has no rows, not even such as are in the trash. */
async function isEmpty(sql: Sql, { id }: Table): Promise<boolean> {
  return (await sql(`SELECT 1 FROM ${dataTable(id)} LIMIT 1`)).length === 0;
}

/** Deletes the documents with these ids that exist; returns the event times, by id, of those that were visible. */
async function deleteExisting(sql: Sql, table: Table, ids: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await findRows(sql, table, ids);
  await deleteRows(sql, table, rows);
  return new Map(visibleOf(table, rows).map(({ id, eventTimeMicros }) => [id, eventTimeMicros]));
}
