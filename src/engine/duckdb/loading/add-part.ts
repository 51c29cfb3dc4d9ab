import type { DuckDBValue } from '@duckdb/node-api';
import { createPace } from '../../../contract/turns/turns.ts';
import type { NewDocument } from '../../documents.ts';
import type { RowsOptions, RowsProgress } from '../../rows.ts';
import type { Sql } from '../connections/store.ts';
import { ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { acceptDocuments, outcomesOf } from '../tables/accept.ts';
import { dataTable, putTable, type Table, tableOf } from '../tables/catalog.ts';
import { COMPARED_ID, HASH_COLUMN, hashOf, IS_LIVE } from '../tables/columns.ts';
import { fieldNewsOf } from '../tables/field-news.ts';
import { rowKeyOf } from '../tables/find-rows.ts';
import { oldestKeptMicros } from '../tables/retention.ts';
import { alterTable, METADATA_LOCK, storeDocuments, type WritesContext } from '../tables/store-documents.ts';
import type { RowsPlan } from './fit.ts';
import type { Part, Relation } from './relation.ts';
import { readRow, refuse, rowsWithout } from './row-documents.ts';

/** The ids of a part's rows, and the stored documents that have these: of one transaction. */
const IDS = 'temp.rows_ids';
const OLDS = 'temp.rows_olds';
/** Documents that are stored in one transaction: some tenths of a second. */
const DOCUMENTS_AT_ONCE = 5_000;

/** Rows that go into a table. */
interface PartToInsert {
  relation: Relation;
  part: Part;
  plan: RowsPlan;
  refused: readonly number[] | undefined;
  options: Pick<RowsOptions, 'reserveIds' | 'onNews'>;
}

export interface PartToAdd extends PartToInsert {
  options: RowsOptions;
  progress: RowsProgress;
}

/**
 * Gives a table the columns that rows need, and stores those of a part; the caller holds the table's lock. Returns the rows
 * of which a value does not fit its column: `storeOthers` stores them.
 */
export async function addPart(context: WritesContext, table: Table, adding: PartToAdd): Promise<DuckDBValue[][]> {
  const { progress } = adding;
  const added = await insertRows(context, table, adding);
  progress.added += added.added;
  progress.replaced += added.replaced;
  progress.repeated += added.repeated;
  progress.withoutId += added.withoutId;
  return added.others;
}

/** The same; `finish` does in the same transaction what else is to be done, given the table as it is then. */
export async function insertRows(
  context: WritesContext,
  table: Table,
  adding: PartToInsert,
  finish?: (sql: Sql, table: Table, added: AddedRows) => Promise<void>,
): Promise<AddedRows> {
  const { catalog, locks, transaction, shortcuts } = context;
  const { plan, part, options } = adding;
  const isWider = plan.shape !== table.shape;
  const after = isWider ? tableOf(table, plan.shape) : table;
  const run = async () => {
    shortcuts.knownIds.forget(table.id);
    return await transaction(async (sql) => {
      if (isWider) await alterTable(sql, context, table, { after, retyped: [] });
      const added = part.rows === 0 ? NOTHING_ADDED : await insertPart(sql, after, adding);
      await finish?.(sql, after, added);
      return added;
    });
  };
  const news = await fieldNewsOf(table.shape, plan.shape, []);
  const added = isWider
    ? await locks.hold([METADATA_LOCK], async () => {
        const done = await run();
        putTable(catalog, after);
        return done;
      })
    : await run();
  if (news !== undefined) options.onNews?.(news);
  return added;
}

export interface AddedRows {
  added: number;
  replaced: number;
  repeated: number;
  withoutId: number;
  /** What has to be stored as documents. */
  others: DuckDBValue[][];
}

const NOTHING_ADDED: AddedRows = { added: 0, replaced: 0, repeated: 0, withoutId: 0, others: [] };

async function insertPart(
  sql: Sql,
  table: Table,
  { relation, part, plan, refused, options }: PartToInsert,
): Promise<AddedRows> {
  const { key } = relation;
  const from = rowsWithout(part, refused);
  const rows = part.rows - (refused?.length ?? 0);
  const now = `make_timestamptz(${BigInt(Date.now()) * 1_000n})`;
  // Then nothing of the file has to be read to know them.
  const isNumbered = key.isNumbered === true && plan.fits === undefined && rows === part.rows;
  const named =
    key.id === undefined
      ? NONE_NAMED
      : isNumbered
        ? await numberIds(sql, table, key.id, part)
        : await nameIds(sql, table, from, { relation, plan });
  const isMade = named.count < rows;
  const made = isMade ? madeId(`${options.reserveIds(part.last - part.first + 1)} + l - ${part.first}`) : 'NULL';
  const isJoined = named.isRepeated || (!isNumbered && named.count > 0 && key.time !== undefined);
  const joins = [
    isJoined ? `LEFT JOIN ${IDS} ON row_at = l` : '',
    named.olds > 0 ? `LEFT JOIN ${OLDS} ON old_id = ${key.id}` : '',
  ].join(' ');
  const times = [
    key.time,
    isJoined && key.time !== undefined ? 'row_time' : undefined,
    named.olds > 0 ? `CASE WHEN ${isVisible(table, 'old_time')} THEN old_time END` : undefined,
    now,
  ].filter((one) => one !== undefined);
  const conditions = [plan.fits, named.isRepeated ? `(${key.id} IS NULL OR row_at IS NOT NULL)` : undefined].filter(
    (one) => one !== undefined,
  );
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  const id = key.id === undefined ? made : isMade ? `coalesce(${key.id}, ${made})` : key.id;
  const values = plan.targets.map(([, value], at) => `${value} AS v${at}`);
  const targets = [ID_COLUMN, TIME_COLUMN, HASH_COLUMN, ...plan.targets.map(([name]) => name)].map(quoteName);
  const [inserted] = await sql(
    `INSERT INTO ${dataTable(table.id)} (${targets.join(', ')})
     SELECT row_key, row_when, ${hashOf('row_key')}${plan.targets.map((_, at) => `, v${at}`).join('')}
     FROM (SELECT ${[`${id} AS row_key`, `coalesce(${times.join(', ')}) AS row_when`, ...values].join(', ')}
       FROM ${from} ${joins}${where})`,
  );
  const stored = Number(inserted?.[0]);
  const kept = named.isRepeated ? ` AND (${key.id} IS NULL OR l IN (SELECT row_at FROM ${IDS}))` : '';
  const others =
    plan.fits === undefined
      ? []
      : await sql(
          `SELECT ${relation.documentSql(plan.shape.columns)} FROM ${from} WHERE NOT ${plan.fits}${kept} ORDER BY l`,
        );
  const repeated = named.count - named.ids;
  if (stored + others.length + repeated !== rows) {
    throw new Error(`the engine read ${stored + others.length + repeated} of ${rows} rows`);
  }
  if (key.id !== undefined) for (const one of [IDS, OLDS]) await sql(`DROP TABLE IF EXISTS ${one}`);
  const withoutOthers = others.length === 0 ? rows - named.count : 0;
  return {
    added: stored - named.visibleOlds,
    replaced: named.visibleOlds + repeated,
    repeated,
    withoutId: key.id === undefined ? stored : withoutOthers,
    others,
  };
}

interface NamedIds {
  /** Rows that have ids, and the ids that they have. */
  count: number;
  ids: number;
  isRepeated: boolean;
  /** Stored documents that are replaced, and how many of them were visible. */
  olds: number;
  visibleOlds: number;
}

const NONE_NAMED: NamedIds = { count: 0, ids: 0, isRepeated: false, olds: 0, visibleOlds: 0 };

/** Finds out which of the rows have the last say on their id, and deletes the documents that they replace. */
async function nameIds(
  sql: Sql,
  table: Table,
  from: string,
  { relation: { key }, plan }: { relation: Relation; plan: RowsPlan },
): Promise<NamedIds> {
  const rows = `SELECT l, ${key.id} AS row_id, ${key.time ?? 'NULL'} AS row_time, ${plan.fits ?? 'true'} AS row_fits FROM ${from}`;
  const time = key.time === undefined ? '' : ', arg_max(row_time, l) FILTER (row_time IS NOT NULL) AS row_time';
  const fits = plan.fits === undefined ? '' : ', arg_max(row_fits, l) AS row_fits';
  await sql(
    `CREATE TEMP TABLE rows_ids AS SELECT row_id, max(l) AS row_at, count(*) AS row_count${time}${fits}
     FROM (${rows}) WHERE row_id IS NOT NULL GROUP BY row_id`,
  );
  const [counted = []] = await sql(`SELECT count(*), coalesce(sum(row_count), 0)::BIGINT FROM ${IDS}`);
  const [ids, count] = counted.map(Number) as [number, number];
  const fitting = `SELECT row_id FROM ${IDS}${plan.fits === undefined ? '' : ' WHERE row_fits'}`;
  return { count, ids, isRepeated: count > ids, ...(await deleteOlds(sql, table, fitting)) };
}

/** The same for ids that are all different and follow from the numbers of the rows. */
async function numberIds(sql: Sql, table: Table, id: string, { rows, first, last }: Part): Promise<NamedIds> {
  const olds = await deleteOlds(sql, table, `SELECT ${id} AS row_id FROM range(${first}, ${last + 1}) r(l)`);
  return { count: rows, ids: rows, isRepeated: false, ...olds };
}

/** Deletes the documents that have these ids; `given`: a statement for them, as `row_id`. */
async function deleteOlds(sql: Sql, table: Table, given: string): Promise<Pick<NamedIds, 'olds' | 'visibleOlds'>> {
  const data = dataTable(table.id);
  const { column: rowKey, compared } = rowKeyOf(table);
  const hashes = `SELECT row_id, ${hashOf('row_id')} AS row_hash FROM (${given})`;
  await sql(
    `CREATE TEMP TABLE rows_olds AS
     SELECT ${quoteName(ID_COLUMN)} AS old_id, ${rowKey} AS old_key, ${quoteName(TIME_COLUMN)} AS old_time
     FROM ${data} JOIN (${hashes}) ON ${quoteName(HASH_COLUMN)} = row_hash AND ${COMPARED_ID} = row_id`,
  );
  const [found = []] = await sql(`SELECT count(*), count(*) FILTER (${isVisible(table, 'old_time')}) FROM ${OLDS}`);
  const [olds, visibleOlds] = found.map(Number) as [number, number];
  if (olds > 0) {
    const [deleted] = await sql(
      `DELETE FROM ${data} WHERE ${IS_LIVE} AND ${compared()} IN (SELECT old_key FROM ${OLDS})`,
    );
    if (Number(deleted?.[0]) !== olds) throw new Error(`${deleted?.[0]} of ${olds} documents were deleted`);
  }
  return { olds, visibleOlds };
}

/** SQL condition for the event time of a document that is not past the retention. */
function isVisible({ retentionSecs }: Table, time: string): string {
  const oldest = oldestKeptMicros(retentionSecs);
  return oldest === null ? 'true' : `${time} >= make_timestamptz(${oldest})`;
}

/**
 * SQL for the id of a number: a version 7 UUID that sorts by it. The rest is that of a random one, with its variant.
 * The numbers are so large that they have the same count of digits for centuries.
 */
function madeId(number: string): string {
  const upper = `concat('0', hex((((${number}) >> 12) << 16) + ((${number}) & 4095) + 28672))`;
  return `CAST(CAST(concat(${upper}, substring(CAST(uuid() AS VARCHAR), 20)) AS UUID) AS VARCHAR)`;
}

/**
 * Stores rows of which a value does not fit as documents, which decides by majority what becomes of the column. `onTable`
 * runs work with the table's lock, which others have their turn at between some documents and the next.
 */
export async function storeOthers(
  context: WritesContext,
  onTable: (work: (table: Table) => Promise<void>) => Promise<void>,
  others: readonly DuckDBValue[][],
  { relation, options, progress, plan }: PartToAdd,
): Promise<void> {
  const pace = createPace();
  for (let at = 0; at < others.length; at += DOCUMENTS_AT_ONCE) {
    options.signal.throwIfAborted();
    const given: NewDocument[] = [];
    for (const values of others.slice(at, at + DOCUMENTS_AT_ONCE)) {
      const turn = pace();
      if (turn !== undefined) await turn;
      const row = relation.document(values, plan.shape.columns);
      const read = readRow(row, relation, options);
      if ('why' in read) {
        refuse(progress, { ...row, ...read });
        continue;
      }
      given.push(read);
      if (row.id === null) progress.withoutId += 1;
    }
    const acceptance = await acceptDocuments(given);
    const documents = [...acceptance.documents.values()];
    let existed = new Map<string, bigint>();
    await onTable(async (table) => {
      existed = await storeDocuments(context, table, documents, { onNews: options.onNews });
    });
    for (const outcome of outcomesOf(given, acceptance, existed)) {
      if (outcome.status === 'added') progress.added += 1;
      else if (outcome.status === 'replaced') progress.replaced += 1;
    }
  }
}
