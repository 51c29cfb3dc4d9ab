import { type JsonObject, parseJson } from '../../../contract/json/json.ts';
import type { RecordChange, RecordsListener } from '../../engine.ts';
import type { Transaction } from '../connections/store.ts';
import { CATALOG, quoteText } from '../sql/names.ts';
import { type Catalog, reloadNames } from '../tables/catalog.ts';
import type { CatalogClient } from './catalog-client.ts';
import { CATALOG_SCHEMA } from './lake-options.ts';

/** What other nodes of a lake change. */
export interface LakeChanges {
  /** Resolves when the catalog in memory has, and `onRecords` was told, everything that was stored before the call. */
  refresh(): Promise<void>;
  /**
   * Resolves to whether the names in memory are those of this snapshot, or newer only by what this node changed just now. Looks
   * for what others did if the snapshot is newer than what it knows.
   */
  fits(snapshot: number): Promise<boolean>;
  /** As in `Sharing`. */
  onRecords(listener: RecordsListener): void;
}

interface Options {
  client: CatalogClient;
  read: Transaction;
  catalog: Catalog;
  /** What this node's own commits have as their author. */
  node: string;
  /** The last snapshot that the catalog in memory knows. */
  from: number;
  /** Whether this node may have committed what it does not know of. */
  settled(): Promise<boolean>;
  /** Told the tables whose rows others changed. */
  changed(tables: readonly string[]): void;
}

interface Snapshot {
  id: number;
  isOwn: boolean;
  /** Ids of the lake's tables. */
  tables: readonly string[];
}

interface LakeTable {
  schema: string;
  name: string;
}

const SNAPSHOTS = `SELECT snapshot_id, changes_made, author FROM ${CATALOG_SCHEMA}.ducklake_snapshot_changes
  WHERE snapshot_id > $1 ORDER BY snapshot_id`;
const LAST = `SELECT max(snapshot_id) AS id FROM ${CATALOG_SCHEMA}.ducklake_snapshot`;
const TABLES = `SELECT t.table_id, t.table_name, s.schema_name FROM ${CATALOG_SCHEMA}.ducklake_table t
  JOIN ${CATALOG_SCHEMA}.ducklake_schema s ON s.schema_id = t.schema_id WHERE s.schema_name IN ('_meta', '_data')`;

/** Before all snapshots, and not right before the first: everything is read anew. */
const NOTHING = -2;

/** How often all records are read, at most, until nothing is stored in the meantime. */
const UNCHANGED_TRIES = 10;

/** The tables of metadata that say what SQL can name. */
const NAMES: ReadonlySet<string> = new Set(['tables', 'workspaces', 'aliases', 'trash']);

function changesNames(tables: readonly LakeTable[]): boolean {
  return tables.some(({ schema, name }) => schema === '_meta' && NAMES.has(name));
}

export async function lastSnapshot(client: CatalogClient): Promise<number> {
  const [row] = await client.query(LAST);
  return Number(row?.['id'] ?? 0);
}

export function createLakeChanges({ client, read, catalog, node, from, settled, changed }: Options): LakeChanges {
  let known = from;
  /** The last snapshot, of those known, with another change of what SQL can name. */
  let named = from;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const listeners: RecordsListener[] = [];
  /** Whether records changed before anyone listened: what the engine read at its start is not theirs any more. */
  let isUntold = false;
  /** By id of the lake. */
  const tables = new Map<string, LakeTable>();

  async function learn(ids: readonly string[]): Promise<void> {
    if (ids.every((id) => tables.has(id))) return;
    for (const { table_id: id, table_name: name, schema_name: schema } of await client.query(TABLES))
      tables.set(String(id), { schema: String(schema), name: String(name) });
  }

  /** The tables that these snapshots changed. */
  function tablesOf(some: readonly Snapshot[]): LakeTable[] {
    return [...new Set(some.flatMap((one) => one.tables))].flatMap((id) => tables.get(id) ?? []);
  }

  async function look(): Promise<void> {
    if ((await settled()) || (isUntold && listeners.length > 0)) {
      known = NOTHING;
      isUntold = false;
    }
    const rows = await client.query(SNAPSHOTS, [known]);
    const [first] = rows;
    if (first === undefined) return;
    const last = Number(rows.at(-1)?.['snapshot_id']);
    const all = rows.map(({ snapshot_id: id, changes_made: what, author }): Snapshot => {
      return { id: Number(id), isOwn: author === node, tables: idsIn(String(what)) };
    });
    await learn(all.flatMap((one) => one.tables));
    const foreign = all.filter(({ isOwn }) => !isOwn);
    // Snapshots that were removed say nothing any more.
    const isGap = Number(first['snapshot_id']) > known + 1;
    if (foreign.length > 0 || isGap) {
      const touched = tablesOf(foreign);
      const meta = new Set(touched.filter(({ schema }) => schema === '_meta').map(({ name }) => name));
      if (isGap || changesNames(touched)) await reloadNames(catalog, read);
      if (isGap) tell(await allRecords(), true);
      else if (meta.has('records')) tell(await recordsIn(foreign), false);
      changed(
        isGap ? [...catalog.tables.keys()] : touched.filter(({ schema }) => schema === '_data').map(({ name }) => name),
      );
    }
    named = isGap ? last : (all.findLast((one) => changesNames(tablesOf([one])))?.id ?? named);
    known = last;
  }

  function tell(changes: readonly RecordChange[], isAll: boolean): void {
    if (!isAll && changes.length === 0) return;
    isUntold ||= listeners.length === 0;
    for (const listener of listeners) listener(changes, isAll);
  }

  /** Only what others changed: what this node did is known here already, and may be newer. */
  async function recordsIn(foreign: readonly Snapshot[]): Promise<RecordChange[]> {
    const ids = foreign.map(({ id }) => id);
    const rows = await read((sql) =>
      sql(
        `SELECT snapshot_id, change_type, kind, key, value::VARCHAR
         FROM ducklake_table_changes(${quoteText(CATALOG)}, '_meta', 'records', ${Math.min(...ids)}, ${Math.max(...ids)})
         WHERE snapshot_id IN (${ids.join(', ')}) AND change_type IN ('insert', 'delete', 'update_postimage')
         ORDER BY snapshot_id, change_type = 'insert', change_type = 'update_postimage'`,
      ),
    );
    return rows.map(([, type, kind, key, value]) => changeOf(type !== 'delete', kind, key, value));
  }

  async function allRecords(): Promise<RecordChange[]> {
    let rows: unknown[][] = [];
    // What this node stores meanwhile is newer, and known.
    for (let tries = 0, before = -1; tries < UNCHANGED_TRIES; tries++) {
      before = await lastSnapshot(client);
      rows = await read((sql) => sql('SELECT kind, key, value::VARCHAR FROM "_meta"."records"'));
      if ((await lastSnapshot(client)) === before) break;
    }
    return rows.map(([kind, key, value]) => changeOf(true, kind, key, value));
  }

  function run(): Promise<void> {
    const done = look().finally(() => {
      running = undefined;
    });
    running = done;
    return done;
  }

  function refresh(): Promise<void> {
    if (running === undefined) return run();
    // One that has begun may have looked too early.
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return refresh();
      });
    return next;
  }

  return {
    refresh,
    async fits(snapshot) {
      if (snapshot > known) await refresh();
      return named <= snapshot;
    },
    onRecords: (listener) => void listeners.push(listener),
  };
}

function changeOf(isThere: boolean, kind: unknown, key: unknown, value: unknown): RecordChange {
  const one = { kind: String(kind), key: String(key) };
  return isThere
    ? { do: 'putRecord', ...one, value: parseJson(String(value)) as JsonObject }
    : { do: 'deleteRecord', ...one };
}

/** The tables that a snapshot changed. Numbers in names are found, too, which does no harm. */
function idsIn(changes: string): string[] {
  return [...changes.matchAll(/:(\d{1,18})/g)].map(([, id]) => id ?? '');
}
