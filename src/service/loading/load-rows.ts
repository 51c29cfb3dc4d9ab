import { fieldTaken } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { isObject } from '../../contract/json/json.ts';
import type {
  CsvRows,
  FieldNews,
  FileField,
  NewDocument,
  ParquetRows,
  RefusedRow,
  RowDocument,
  RowsOptions,
  RowsProgress,
} from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { write } from '../collections/documents.ts';
import type { CallContext } from '../context.ts';
import { reserveDocumentIds } from '../ingest/document-id.ts';
import { readOrRefuse, takeIn, takesAsGiven } from '../ingest/intake.ts';
import type { TableNote } from '../ingest/seen-rows.ts';
import { tableNotes } from '../ingest/table-look.ts';
import { droppedWarnings, fieldWarnings } from '../ingest/write-warnings.ts';
import { spoolCsv } from './csv-spool.ts';
import type { SpooledCsv } from './csv-taker.ts';
import { DocumentLook } from './document-look.ts';
import { enterLoad } from './load-places.ts';
import type { LoadOptions, LoadOutcome, LoadSample } from './loading.ts';
import { joinNews } from './news.ts';
import { createSpool, type Spool } from './spool.ts';

const REFUSED_SHOWN = 100;
const STOPPED_SHOWN = 3;
/** A file of Parquet that is read once more to tell what its rows are. */
const LOOKED_AT = { rowsMax: 1_000, bytesMax: 256 * 1024 };

/** What came in before the engine reads it. */
type Received = Omit<SpooledCsv, 'rows'> & { rows: CsvRows | ParquetRows };

/**
 * Loads the rows of a CSV or Parquet file into a collection: the engine reads the file, once all of it is there. Throws
 * `invalid_input` for a file that cannot be read, `storage_full`, and the signal's reason.
 */
export async function loadRows(
  ctx: CallContext,
  collection: CollectionRecord,
  body: AsyncIterable<Buffer>,
  options: LoadOptions,
): Promise<LoadOutcome> {
  return await spooling(ctx, async (spool) => {
    const received: Received =
      options.format === 'csv'
        ? await spoolCsv(body, spool, options, ctx.signal)
        : await spoolParquet(body, spool, options, ctx.signal);
    const { fileField } = options;
    if (fileField !== undefined) received.rows = withFileField(received.rows, fileField);
    return await addReceived(ctx, collection, received, options);
  });
}

/** Throws `invalid_input` where a column of CSV has the name. */
function withFileField(rows: Received['rows'], fileField: FileField): Received['rows'] {
  if (rows.kind === 'csv' && rows.names.some((name) => isSameName(name, fileField.name)))
    throw fieldTaken(fileField.name);
  return { ...rows, fileField };
}

/** SQL takes names that differ in case for one. */
const isSameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** Runs work with a spool of its own once there is a place for it. */
async function spooling<T>(ctx: CallContext, work: (spool: Spool) => Promise<T>): Promise<T> {
  const leave = await enterLoad(ctx);
  const spool = createSpool(ctx.engine.spool);
  try {
    return await work(spool);
  } finally {
    await spool.remove();
    leave();
  }
}

/** Reads the first rows of a CSV or Parquet file as documents; the types of CSV are those of what was read of it. */
export async function sampleRows(
  ctx: CallContext,
  body: AsyncIterable<Buffer>,
  options: LoadOptions,
  max: number,
): Promise<LoadSample> {
  return await spooling(ctx, async (spool) => {
    const received: Received =
      options.format === 'csv'
        ? await spoolCsv(body, spool, options, ctx.signal, max + 1)
        : await spoolParquet(body, spool, options, ctx.signal);
    const { refused, entries } = received;
    const rows = options.fileField === undefined ? received.rows : withFileField(received.rows, options.fileField);
    const isStopped = options.onError === 'stop' && refused.length > 0;
    const { documents: found, columns, notes } = await ctx.engine.sampleRows(rows, max + 1, ctx.signal);
    const documents = isStopped ? [] : found.slice(0, max);
    const isAll = found.length <= max && entries <= max;
    const warnings = [...received.notes, ...notes];
    return { documents, columns, refused, isAll, stopped: null, warnings, ...separatorOf(rows) };
  });
}

async function spoolParquet(
  body: AsyncIterable<Buffer>,
  spool: Spool,
  { skip }: LoadOptions,
  signal: AbortSignal,
): Promise<Received> {
  const file = await spool.create();
  let bytes = 0;
  for await (const piece of body) {
    signal.throwIfAborted();
    await file.write(piece);
    bytes += piece.length;
  }
  await file.close();
  const rows: ParquetRows = { kind: 'parquet', path: file.path, skip };
  return { rows, entries: 0, refused: [], refusedCount: 0, bytes, notes: [], lasting: [] };
}

async function addReceived(
  ctx: CallContext,
  collection: CollectionRecord,
  received: Received,
  options: LoadOptions,
): Promise<LoadOutcome> {
  const outcome: LoadOutcome = {
    entries: 0,
    added: 0,
    replaced: 0,
    repeated: 0,
    withoutId: 0,
    refused: received.refused,
    refusedCount: received.refusedCount,
    warnings: [],
    lasting: [],
    stopped: null,
    ...separatorOf(received.rows),
  };
  const stop = () => {
    outcome.stopped = stoppedBy(outcome);
    outcome.warnings = received.notes;
    return outcome;
  };
  if (options.onError === 'stop' && received.refusedCount > 0) return stop();
  const news: FieldNews[] = [];
  const before = received.rows.kind === 'parquet' ? options.skip : Math.min(options.skip, received.entries);
  const put = ({ rows, refused, refusedCount, ...counts }: RowsProgress) => {
    const { added, replaced, repeated, withoutId } = counts;
    Object.assign(outcome, { entries: entriesAt(received, before, rows), added, replaced, repeated, withoutId });
    outcome.refusedCount = received.refusedCount + refusedCount;
    outcome.refused = [...received.refused, ...refused].sort((a, b) => a.at - b.at).slice(0, REFUSED_SHOWN);
  };
  const rowsOptions: RowsOptions = {
    idField: options.idField,
    stopsAtRefused: options.onError === 'stop',
    reserveIds: reserveDocumentIds,
    read: readOrRefuse,
    tell(progress) {
      put(progress);
      options.tell(outcome);
    },
    onNews: (one) => news.push(one),
    signal: ctx.signal,
  };
  const taking = takesAsGiven(collection) ? undefined : documentTaker(ctx, collection, options, news, rowsOptions);
  const done = await write(ctx, collection, () =>
    ctx.engine.addRows(collection.table, received.rows, { ...rowsOptions, take: taking?.take }),
  );
  if (taking === undefined) put(done);
  else {
    const { progress } = taking;
    const refused = [...done.refused, ...progress.refused];
    put({
      ...progress,
      rows: progress.rows + done.refusedCount,
      refused,
      refusedCount: done.refusedCount + progress.refusedCount,
    });
  }
  const { dropped = 0 } = taking ?? {};
  ctx.usage.dropped(collection, dropped);
  if (done.isStopped || (options.onError === 'stop' && outcome.refusedCount > 0)) return stop();
  if (outcome.added + outcome.replaced > 0) ctx.usage.wrote(collection, { inserted: received.bytes, overwritten: 0 });
  const isSmall = received.bytes <= LOOKED_AT.bytesMax && outcome.entries <= LOOKED_AT.rowsMax;
  const looked = received.rows.kind === 'parquet' && isSmall ? await lookedAt(ctx, received.rows) : [];
  outcome.lasting = [...received.lasting, ...looked];
  outcome.warnings = [
    ...received.notes,
    ...looked.map(({ text }) => text),
    ...done.notes,
    ...fieldWarnings(ctx.catalog, collection, joinNews(news)),
    ...droppedWarnings(collection, dropped),
  ];
  return outcome;
}

/** What the rows of a Parquet file are, which only the engine reads. Nothing, if that fails: they are stored by then. */
async function lookedAt({ engine, signal }: CallContext, rows: ParquetRows): Promise<TableNote[]> {
  const { documents } = await engine.sampleRows(rows, LOOKED_AT.rowsMax, signal).catch(() => ({ documents: [] }));
  return tableNotes(new DocumentLook({ unit: 'row' }).seenOf(documents, true));
}

function separatorOf(rows: Received['rows']): Pick<LoadOutcome, 'separator'> {
  return rows.kind === 'csv' ? { separator: rows.separator } : {};
}

/** Entries of the file that are dealt with once so many rows of it are: with those that were left out or refused before. */
function entriesAt({ rows: source, entries }: Received, before: number, rows: number): number {
  if (source.kind === 'parquet') return before + rows;
  let left = rows;
  let dealt = before;
  for (const part of source.parts) {
    if (left < part.rows) return dealt + left;
    left -= part.rows;
    dealt = part.entries;
  }
  return entries;
}

function stoppedBy({ refused, refusedCount, added, replaced }: LoadOutcome): string {
  const some = refused.slice(0, STOPPED_SHOWN);
  const reasons = [...new Set(some.map(({ why }) => why))].map((why) => {
    const places = some.filter((one) => one.why === why).map(({ at }) => at.toLocaleString('en-US'));
    return `${places.join(', ')} ${why}`;
  });
  const more = refusedCount > some.length ? `; and ${counted(refusedCount - some.length, 'more')}` : '';
  const fate = added + replaced === 0 ? 'nothing is stored' : `${counted(added + replaced, 'documents')} are stored`;
  return `${counted(refusedCount, 'rows')} cannot be stored, so ${fate}: ${reasons.join('; ')}${more}`;
}

/** Rows go through the collection's mappings and its event time as documents that are added do. */
function documentTaker(
  ctx: CallContext,
  collection: CollectionRecord,
  options: LoadOptions,
  news: FieldNews[],
  { tell }: RowsOptions,
) {
  const counts = { rows: 0, added: 0, replaced: 0, repeated: 0, withoutId: 0, refusedCount: 0 };
  const progress: RowsProgress = { ...counts, refused: [] };
  let isOver = false;
  const refuse = (row: RefusedRow) => {
    progress.refusedCount += 1;
    if (progress.refused.length < REFUSED_SHOWN) progress.refused.push(row);
    isOver ||= options.onError === 'stop';
  };
  const take = async (rows: readonly RowDocument[]) => {
    if (isOver) return;
    const prepared = await takeIn(
      ctx,
      collection,
      rows.map(({ document }) => document),
    );
    const given: { at: number; document: NewDocument }[] = [];
    for (const [index, one] of prepared.entries()) {
      const row = rows[index];
      if (row === undefined || isOver) break;
      if ('document' in one) {
        given.push({ at: row.at, document: { ...one.document, declared: declaredFor(one.document, row) } });
        if ((row.document['_id'] ?? null) === null) progress.withoutId += 1;
      } else if ('isDropped' in one) taking.dropped += 1;
      else refuse({ at: row.at, id: one.id, why: one.problem, kind: one.kind });
      progress.rows += 1;
    }
    const documents = given.map(({ document }) => document);
    const outcomes = await ctx.engine.addDocuments(collection.table, documents, (one) => news.push(one));
    for (const [index, outcome] of outcomes.entries()) {
      const { at = 0, document } = given[index] ?? {};
      if (outcome.status === 'error') refuse({ at, id: document?.id ?? null, why: outcome.message });
      else if (outcome.status === 'added') progress.added += 1;
      else progress.replaced += 1;
    }
    tell(progress);
  };
  const taking = { take, progress, dropped: 0 };
  return taking;
}

/** What mappings declare, and the row of what they left as it was. */
function declaredFor({ fields, declared }: NewDocument, row: RowDocument): NewDocument['declared'] {
  const left = [...(row.declared ?? [])].filter(
    ([name]) => isObject(row.document) && fields[name] === row.document[name],
  );
  return left.length === 0 ? declared : new Map([...left, ...(declared ?? [])]);
}
