import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import type { Locks } from '../connections/locks.ts';
import type { Sql } from '../connections/store.ts';
import { CATALOG, quoteText } from '../sql/names.ts';
import { METADATA_LOCK } from '../tables/store-documents.ts';
import { tableLock } from '../tables/writes.ts';
import type { CatalogClient } from './catalog-client.ts';
import { CATALOG_SCHEMA } from './lake-options.ts';
import type { CommitOptions } from './lake-store.ts';

/*
 * Each write makes a file, and leaves what it replaces in another: one node makes fewer and fuller ones of them, and removes
 * what no query can see any more. A step takes the table's lock for its commit alone, which the lake refuses where rows of the
 * table were deleted meanwhile: then it is done once more, and holds the lock from its beginning. So it does with metadata, of
 * which rows may be deleted in the catalog.
 */

export interface MaintenanceContext {
  client: CatalogClient;
  /** As of `LakeStore`. */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: CommitOptions): Promise<T>;
  locks: Locks;
  /** Runs `work` on the lake opened anew, for it alone. */
  opened(work: (sql: Sql) => Promise<void>): Promise<void>;
  log: Log;
}

const MIB = 1024 * 1024;
/** Smaller files are put together, and no more of them at once than make one of the last size. */
const SMALL_BYTES = 8 * MIB;
/** So are these in a table that nobody has written to for a while, where they fill one: a query takes its time for each file. */
const HALF_BYTES = 32 * MIB;
export const TARGET_BYTES = 64 * MIB;
/** So many of them are worth a step: the first in a table that nobody has written to for a while, the other in any. */
const SMALL_MIN = 16;
const SMALL_MANY = 100;
/** A load writes a file every now and then, and would wait for each step. */
const QUIET_SECS = 10;
/**
 * Files are written anew once this share of their rows is deleted, the most hollow first: in a step, so many bytes of them. Small
 * ones of which anything is deleted are not put together as they are, and so written anew, too, once there are many.
 */
const HOLLOW = 0.3;
const REWRITTEN_BYTES = 32 * MIB;
const LOOK_MS = 5_000;
/** Between one step and the next; writers that wait go first. */
const NEXT_MS = 100;
const EXPIRE_EVERY_MS = 600_000;
const EXPIRE_FIRST_MS = 60_000;
const ORPHANS_EVERY_MS = 86_400_000;
/** How long what was replaced can be read: the longest query, export and absence of a node that does not read all anew. */
const KEPT = "INTERVAL '1 hour'";
/** A file that no commit names may belong to one that is under way. */
const ORPHANED = "INTERVAL '1 day'";

/** How a table is stored. */
interface Look {
  schema: string;
  table: string;
  /** Seconds since a file was added. */
  quiet: number;
  /** Small files. */
  small: number;
  /** Bytes of files that are at most half full. */
  half: number;
  /** The share of deleted rows from which on files are to be written anew now. */
  hollow: number | undefined;
  /** Small files of which less is deleted, and that share if these are to be. */
  holed: number;
  least: number | undefined;
}

const LOOK = `SELECT schema_name, table_name,
    coalesce(extract(epoch FROM now() - max(snapshot_time)), ${QUIET_SECS}) AS quiet,
    count(*) FILTER (WHERE size < ${SMALL_BYTES} AND deleted = 0) AS small,
    coalesce(sum(size) FILTER (WHERE size < ${HALF_BYTES} AND deleted = 0), 0) AS half,
    coalesce(min(deleted) FILTER (WHERE deleted >= ${HOLLOW} AND until <= ${REWRITTEN_BYTES}),
      max(deleted) FILTER (WHERE deleted >= ${HOLLOW})) AS hollow,
    count(*) FILTER (WHERE size < ${SMALL_BYTES} AND deleted > 0 AND deleted < ${HOLLOW}) AS holed,
    coalesce(min(deleted) FILTER (WHERE deleted > 0 AND until <= ${REWRITTEN_BYTES}), max(deleted)) AS least
  FROM (SELECT *, sum(size) OVER (PARTITION BY table_id ORDER BY deleted DESC) AS until
    FROM (SELECT s.schema_name, t.table_name, t.table_id, n.snapshot_time, f.file_size_bytes AS size,
        coalesce(d.delete_count::float8 / nullif(f.record_count, 0), 0) AS deleted
      FROM ${CATALOG_SCHEMA}.ducklake_data_file f
      JOIN ${CATALOG_SCHEMA}.ducklake_table t ON t.table_id = f.table_id AND t.end_snapshot IS NULL
      JOIN ${CATALOG_SCHEMA}.ducklake_schema s ON s.schema_id = t.schema_id
      LEFT JOIN ${CATALOG_SCHEMA}.ducklake_snapshot n ON n.snapshot_id = f.begin_snapshot
      LEFT JOIN ${CATALOG_SCHEMA}.ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
      WHERE f.end_snapshot IS NULL) AS files) AS ordered
  GROUP BY 1, 2`;
/** Rows that are kept in the catalog, of tables of metadata. */
const INLINED = `SELECT table_name AS name FROM ${CATALOG_SCHEMA}.ducklake_inlined_data_tables`;
const DATA_PATH = `SELECT value AS path FROM ${CATALOG_SCHEMA}.ducklake_metadata WHERE key = 'data_path'`;
const OLDEST = `SELECT min(snapshot_id) AS id FROM ${CATALOG_SCHEMA}.ducklake_snapshot`;

/** The time before which something has been as it is for so long, as text. */
const timeBefore = (interval: string) => `(now() AT TIME ZONE 'UTC' - ${interval})::text || '+00'`;

/** Goes on until `signal` aborts; for one node at a time. */
export async function maintain(context: MaintenanceContext, signal: AbortSignal): Promise<void> {
  // Not much later than the node that did this before would have done it.
  let expiredAt = performance.now() - EXPIRE_EVERY_MS + EXPIRE_FIRST_MS;
  let swept = 0;
  let wait = LOOK_MS;
  const inVain = new Map<string, string>();
  while (!signal.aborted) {
    await delay(wait, undefined, { signal, ref: false }).catch(() => undefined);
    wait = (await tidy(context, signal, { inVain })) ? NEXT_MS : LOOK_MS;
    if (signal.aborted || performance.now() - expiredAt < EXPIRE_EVERY_MS) continue;
    expiredAt = performance.now();
    const orphans = swept === 0 || expiredAt - swept > ORPHANS_EVERY_MS;
    await expire(context, { orphans });
    if (orphans) swept = expiredAt;
  }
}

/**
 * One step for each table that needs it; returns whether any did something. `inVain` has, by table and kind, the last step that
 * did not: files of different columns are not put together.
 */
export async function tidy(
  context: MaintenanceContext,
  signal: AbortSignal,
  { quietSecs = QUIET_SECS, inVain = new Map<string, string>() } = {},
): Promise<boolean> {
  let isAny = false;
  for (const look of (await context.client.query(LOOK)).map(lookOf)) {
    for (const [kind, step] of Object.entries(stepsFor(look, quietSecs))) {
      if (signal.aborted) return isAny;
      const [place, tried] = [`${look.table} ${kind}`, `${look.small} ${look.half} ${step}`];
      if (step === undefined || inVain.get(place) === tried) continue;
      inVain.delete(place);
      const done = await doStep(context, look, step);
      if (done === true) isAny = true;
      if (done === false) inVain.set(place, tried);
    }
  }
  return isAny;
}

function lookOf(row: Record<string, unknown>): Look {
  return {
    schema: String(row['schema_name']),
    table: String(row['table_name']),
    quiet: Number(row['quiet']),
    small: Number(row['small']),
    half: Number(row['half']),
    hollow: row['hollow'] === null ? undefined : Number(row['hollow']),
    holed: Number(row['holed']),
    least: row['least'] === null ? undefined : Number(row['least']),
  };
}

function stepsFor({ schema, table, quiet, small, half, hollow, holed, least }: Look, quietSecs: number) {
  const place = `${quoteText(CATALOG)}, ${quoteText(table)}, schema => ${quoteText(schema)}`;
  const many = quiet >= quietSecs ? SMALL_MIN : SMALL_MANY;
  const deleted = hollow ?? (holed >= many ? least : undefined);
  const merge = (bytes: number) =>
    `ducklake_merge_adjacent_files(${place}, max_file_size => ${bytes}, max_compacted_files => 1)`;
  return {
    fill: quiet >= quietSecs && half >= TARGET_BYTES ? merge(HALF_BYTES) : undefined,
    merge: small >= many ? merge(SMALL_BYTES) : undefined,
    // The share is computed there once more, and may round to less.
    rewrite:
      deleted === undefined
        ? undefined
        : `ducklake_rewrite_data_files(${place}, delete_threshold => ${Math.max(0, deleted - 1e-6)})`,
  };
}

/** What the lake says of a commit that came too late. */
const DELETED_FROM = 'but another transaction has deleted from it';
const COMPACTED = 'but another transaction has compacted it';

/** Returns whether it did something; undefined: it is to be tried again. */
async function doStep(
  { transaction, locks, log }: MaintenanceContext,
  { schema, table }: Pick<Look, 'schema' | 'table'>,
  step: string,
): Promise<boolean | undefined> {
  const startedAt = performance.now();
  const isOfDocuments = schema !== '_meta';
  const within = <T>(work: () => Promise<T>) => locks.hold([isOfDocuments ? tableLock(table) : METADATA_LOCK], work);
  const call = (sql: Sql) => sql(`CALL ${step}`);
  const alone = () => within(() => transaction(call));
  const ifDeleted = (error: unknown) => {
    if (String(error).includes(DELETED_FROM)) return alone();
    throw error;
  };
  try {
    const rows = await (isOfDocuments ? transaction(call, { within }).catch(ifDeleted) : alone());
    log.info(
      { schema, table, ms: Math.round(performance.now() - startedAt) },
      `files of the lake: ${step.split('(')[0]}`,
    );
    return rows.length > 0;
  } catch (error) {
    // Another node's upkeep, as long as this one does not know that it leads no more: what it left is there at the next look.
    if (!String(error).includes(COMPACTED))
      log.warn({ err: error, table }, 'files of the lake are left as they are for now');
    return undefined;
  }
}

/** Whether a file lies where the tables of the lake have theirs; a lake below this one, or what a person put there, does not. */
function isOwn(file: string, data: string): boolean {
  if (!file.startsWith(data)) return false;
  return /^_(?:data|meta)\/[^/]+\/ducklake-[^/]+\.parquet$/.test(file.slice(data.length));
}

/**
 * Removes snapshots, and then files and rows, that nothing needs any more. On a lake that is opened for it: the engine's
 * extension (1.5.5) drops what it knows of the names at these snapshots, which are those of now, and whoever relies on them
 * goes on with freed memory. Rows that are kept in the catalog stay there, since flushing them does the same to all nodes.
 */
export async function expire(
  { client, opened, log }: Pick<MaintenanceContext, 'client' | 'opened' | 'log'>,
  { orphans, kept = KEPT, orphaned: age = ORPHANED }: { orphans: boolean; kept?: string; orphaned?: string },
): Promise<void> {
  try {
    // Not by the clock of this node, which may be wrong.
    const [time] = await client.query(`SELECT ${timeBefore(kept)} AS kept, ${timeBefore(age)} AS orphaned`);
    const before = (at: unknown) => `${quoteText(CATALOG)}, older_than => TIMESTAMPTZ ${quoteText(String(at))}`;
    const steps = ['ducklake_expire_snapshots', 'ducklake_cleanup_old_files'].map(
      (step) => `${step}(${before(time?.['kept'])})`,
    );
    const orphaned = `ducklake_delete_orphaned_files(${before(time?.['orphaned'])}`;
    const [place] = await client.query(DATA_PATH);
    await opened(async (sql) => {
      for (const step of steps) await sql(`CALL ${step}`);
      if (!orphans) return;
      const found = (await sql(`CALL ${orphaned}, dry_run => true)`)).map(([file]) => String(file));
      const foreign = found.find((file) => !isOwn(file, String(place?.['path'])));
      if (foreign === undefined) await sql(`CALL ${orphaned})`);
      else
        log.warn(
          { file: foreign },
          'files that no catalog names stay, since the place of the lake has files of others',
        );
    });
    const [oldest] = await client.query(OLDEST);
    for (const { name } of await client.query(INLINED))
      await client.query(`DELETE FROM ${CATALOG_SCHEMA}."${String(name)}" WHERE end_snapshot < $1`, [oldest?.['id']]);
  } catch (error) {
    log.warn({ err: error }, 'what the lake does not need any more is kept for now');
  }
}
