import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { placeOf, strayRead } from '../../../contract/strays.ts';
import { cut } from '../../../contract/text.ts';
import type { Engine, FieldNews } from '../../engine.ts';
import type { CsvRows, ParquetRows, RowsOptions, RowsOutcome } from '../../rows.ts';
import { engineErrorText, isDiskFull, isFatal } from '../connections/engine-error.ts';
import { createSessions } from '../connections/sessions.ts';
import { quoteName } from '../sql/names.ts';
import { requireTable, type Table } from '../tables/catalog.ts';
import { hasNewMaps, withMaps } from '../tables/maps.ts';
import { columnsFor, NEW_TABLE, newColumnsIn } from '../tables/new-columns.ts';
import type { WritesContext } from '../tables/store-documents.ts';
import { tableLock } from '../tables/writes.ts';
import { INTEGERS, type Shape } from '../values/shape.ts';
import { typeOf } from '../values/types.ts';
import { addPart, type PartToAdd, storeOthers } from './add-part.ts';
import { type ColumnNote, groupedNotes } from './column-notes.ts';
import { csvRelation } from './csv-relation.ts';
import { planRows, type RowsPlan, withColumns } from './fit.ts';
import { openedRows } from './opened-rows.ts';
import { parquetRelation } from './parquet-relation.ts';
import { type Ask, NO_COLUMNS, type Part, type Relation, type RelationOptions, type RowColumn } from './relation.ts';
import { findRefused, handOver, type RowsReading } from './row-documents.ts';
import type { PlanRows } from './rows-part.ts';
import { documentNotes } from './text-notes.ts';

/** Rows that are looked at to tell whether objects are maps. */
const SAMPLE = 1_000;

/** Adding the rows of whole files. */
export function createRowLoads(
  context: WritesContext,
): Pick<Engine, 'addRows' | 'openRows' | 'sampleRows' | 'columnsFor' | 'textNotes'> {
  return {
    columnsFor,
    textNotes(documents, of) {
      if (typeof of !== 'string') {
        const types = new Map(of.map(({ name, type }) => [name, type]));
        return documentNotes(documents, (field) => types.get(field) === TEXT_TYPE);
      }
      const { columns } = requireTable(context.catalog, of).shape;
      return documentNotes(documents, (field) => columns.get(field) === 'string');
    },
    async addRows(id, rows, options) {
      const outcome: RowsOutcome = {
        rows: 0,
        added: 0,
        replaced: 0,
        repeated: 0,
        withoutId: 0,
        refused: [],
        refusedCount: 0,
        notes: [],
        isStopped: false,
      };
      try {
        await load(context, id, rows, options, outcome);
      } catch (error) {
        throw loadError(context, rows, options.signal, error);
      }
      return outcome;
    },
    async openRows(id, rows, signal) {
      const guarded = async <T>(during: AbortSignal, work: (reading: RowsReading) => Promise<T>) => {
        try {
          return await onConnection(context, during, (ask, connection) => work({ ask, connection }));
        } catch (error) {
          throw loadError(context, rows, during, error);
        }
      };
      const { times } = requireTable(context.catalog, id).shape;
      // What is stored until its rows are, and what fields have then, is not known yet.
      const how: RelationOptions = { idField: undefined, times, hasIntegers: () => true };
      const relation = await guarded(signal, ({ ask, connection }) => relationOf(ask, connection, rows, how));
      const { signal: always } = new AbortController();
      const plan: PlanRows = (table, own) =>
        planFor(context, table, own, (work) => onConnection(context, always, (ask) => work(ask)));
      return openedRows(relation, (work, during) => guarded(during, work), plan);
    },
    async sampleRows(rows, max, signal) {
      try {
        return await onConnection(context, signal, async (ask, connection) => {
          const relation = await relationOf(ask, connection, rows, {
            idField: undefined,
            times: true,
            hasIntegers: () => false,
          });
          const read = <T>(work: (one: Ask) => Promise<T>) => work(ask);
          const { shape } = await planFor(context, NEW_TABLE, relation, read);
          const columns = newColumnsIn(shape);
          const notes = notesOf(relation, shape.columns);
          const [first] = relation.parts;
          if (first === undefined) return { documents: [], columns, notes };
          const found = await ask(
            `SELECT ${relation.documentSql(NO_COLUMNS)} FROM ${first.from} WHERE NOT ${relation.isTooLarge ?? 'false'} ORDER BY l LIMIT ${max}`,
          );
          return { documents: found.map((values) => relation.document(values, NO_COLUMNS).document), columns, notes };
        });
      } catch (error) {
        throw loadError(context, rows, signal, error);
      }
    },
  };
}

const TEXT_TYPE = typeOf('string');
const NONE_REFUSED: ReadonlyMap<Part, readonly number[]> = new Map();

function loadError(context: WritesContext, rows: CsvRows | ParquetRows, signal: AbortSignal, error: unknown) {
  if (signal.aborted) return signal.reason;
  if (rows.kind === 'parquet' && isOfFile(error)) return unreadable(error, rows.path);
  return context.store.writeError('add the rows of the file', error);
}

function relationOf(
  ask: Ask,
  connection: DuckDBConnection,
  rows: CsvRows | ParquetRows,
  how: RelationOptions,
): Promise<Relation> {
  return rows.kind === 'csv' ? csvRelation(ask, rows, how) : parquetRelation(connection, ask, rows, how);
}

/** How rows are read that are to go into a table. */
function readingFor({ shape: { times, columns } }: Table, idField: string | undefined): RelationOptions {
  const hasIntegers = (name: string) => INTEGERS.includes(columns.get(name) ?? 'null');
  return { idField, times, hasIntegers };
}

async function load(
  context: WritesContext,
  id: string,
  rows: CsvRows | ParquetRows,
  options: RowsOptions,
  outcome: RowsOutcome,
): Promise<void> {
  const { catalog } = context;
  const how = readingFor(requireTable(catalog, id), options.idField);
  const read = <T>(work: (ask: Ask, connection: DuckDBConnection) => Promise<T>) =>
    onConnection(context, options.signal, work);
  const relation = await read((ask, connection) => relationOf(ask, connection, rows, how));
  requireIdColumn(relation, options.idField);
  outcome.notes = relation.notes;
  const mayRefuse = relation.key.isUnsure !== undefined || relation.isTooLarge !== undefined;
  const refused = mayRefuse
    ? await read((ask, connection) => findRefused({ ask, connection }, relation, options, outcome))
    : NONE_REFUSED;
  outcome.isStopped = options.stopsAtRefused && outcome.refusedCount > 0;
  if (outcome.isStopped) return;
  const { take, signal } = options;
  if (take !== undefined) {
    await read((_, connection) => handOver(connection, relation, refused, take, signal));
    return;
  }
  /** Columns of which some cells are beside them, and how many of these documents have told of. */
  const strayed = new Map<string, RowColumn>();
  const told = new Map<string, number>();
  const onNews = (news: FieldNews) => {
    for (const { path, count } of news.strays) told.set(path, (told.get(path) ?? 0) + count);
    options.onNews?.(news);
  };
  const parts: readonly (Part | undefined)[] = relation.parts.length === 0 ? [undefined] : relation.parts;
  for (const part of parts) {
    signal.throwIfAborted();
    let adding: PartToAdd | undefined;
    let others: DuckDBValue[][] = [];
    await withTable(context, id, async (table) => {
      const plan = await planFor(context, table, relation, read);
      for (const column of plan.strayed) strayed.set(column.name, column);
      const own = { part: part ?? NO_ROWS, refused: part && refused.get(part) };
      adding = { relation, plan, options: { ...options, onNews }, progress: outcome, ...own };
      others = await addPart(context, table, adding);
    });
    if (adding !== undefined && others.length > 0) {
      // What fits is in, whatever becomes of the others.
      options.tell(outcome);
      await storeOthers(context, (work) => withTable(context, id, work), others, adding);
    }
    outcome.rows += part?.rows ?? 0;
    options.tell(outcome);
  }
  const table = requireTable(catalog, id);
  outcome.notes = notesOf(relation, table.shape.columns);
  const strays = straysOf(table, strayed.values(), told);
  if (strays.length > 0) options.onNews?.({ changed: 0, changes: [], strayed: strays.length, strays, spellings: [] });
}

/** What is to be told of rows whose columns have these shapes. */
function notesOf({ textNotes, numberNotes, notes }: Relation, columns: ReadonlyMap<string, Shape>): string[] {
  const told = (byColumn: ReadonlyMap<string, ColumnNote> = new Map(), shape: Shape) =>
    groupedNotes([...byColumn].filter(([name]) => columns.get(name) === shape));
  return [...told(textNotes, 'string'), ...told(numberNotes, 'double'), ...notes];
}

const STRAYED_SHOWN = 10;
const CELL_CHARS_MAX = 40;

/** Cells that are beside their columns, but for those that documents have told of already, as writes of documents tell of them. */
function straysOf(
  { shape }: Table,
  strayed: Iterable<RowColumn>,
  told: ReadonlyMap<string, number>,
): FieldNews['strays'] {
  const all = [...strayed].flatMap(({ name, cell }): FieldNews['strays'] => {
    const { others = 0, line = 0, cell: text = '' } = cell?.mixed ?? {};
    const path = quoteName(name);
    const count = others - (told.get(path) ?? 0);
    const held = shape.columns.get(name);
    if (count <= 0 || held === undefined) return [];
    const example = { line, value: JSON.stringify(cut(text, CELL_CHARS_MAX)) };
    return [{ path, type: typeOf(held), count, sql: strayRead(placeOf([name])), example }];
  });
  return all.slice(0, STRAYED_SHOWN);
}

const NAMES_SHOWN = 20;

function requireIdColumn({ names }: Relation, idField: string | undefined): void {
  if (idField === undefined || names.includes(idField)) return;
  const shown = names.slice(0, NAMES_SHOWN).map((name) => JSON.stringify(name));
  const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : '';
  throw new ApiError(
    'invalid_input',
    `The file has no column ${JSON.stringify(idField)}, which is to be the _id. Its columns: ${shown.join(', ')}${more}.`,
  );
}

/** Of a file without rows: its columns are there all the same. */
const NO_ROWS: PartToAdd['part'] = { from: '(SELECT 0 AS l WHERE false)', rows: 0, first: 0, last: 0 };

async function withTable(context: WritesContext, id: string, work: (table: Table) => Promise<void>): Promise<void> {
  const { store, catalog, locks } = context;
  await locks.hold([tableLock(id)], async () => {
    const table = requireTable(catalog, id);
    try {
      await work(table);
    } catch (error) {
      if (isOfFile(error)) throw error;
      throw store.writeError(`write to collection "${table.workspace}.${table.name}"`, error);
    } finally {
      context.written(id);
    }
  });
}

type Read = <T>(work: (ask: Ask) => Promise<T>) => Promise<T>;

async function planFor(context: WritesContext, table: Table, relation: Relation, read: Read): Promise<RowsPlan> {
  const plan = planRows(table.shape, relation.columns, relation.key);
  if (!hasNewMaps(table.shape, plan.shape)) return plan;
  const [first] = relation.parts;
  if (first === undefined) return plan;
  const rows = await read((ask) =>
    ask(`SELECT ${relation.documentSql(plan.shape.columns)} FROM ${first.from} LIMIT ${SAMPLE}`),
  );
  const documents = rows.map((values) => ({ fields: relation.document(values, plan.shape.columns).document }));
  const { shape, retyped } = await withMaps(context.transaction, table, plan.shape, documents);
  return retyped.length > 0 ? plan : withColumns(plan, relation.columns, shape);
}

/** Reads on a connection of its own, which an abort interrupts. */
async function onConnection<T>(
  { store }: WritesContext,
  signal: AbortSignal,
  work: (ask: Ask, connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const sessions = createSessions(store);
  try {
    return await store.reading(() =>
      sessions.run(signal, (connection) =>
        work(async (text) => (await connection.runAndReadAll(text)).getRows(), connection),
      ),
    );
  } finally {
    await sessions.close();
  }
}

/** Whether a statement failed because of the file that it read. */
function isOfFile(error: unknown): boolean {
  if (error instanceof ApiError || isDiskFull(error) || isFatal(error)) return false;
  return /parquet|magic bytes|TProtocol|thrift|Invalid Input Error|IO Error|Could not read|snappy|zstd|gzip|decompress/i.test(
    engineErrorText(error),
  );
}

function unreadable(error: unknown, path: string): ApiError {
  // Where the service keeps the file meanwhile says nothing to its sender.
  const why = (engineErrorText(error).split('\n', 1)[0] ?? '').replaceAll(path, 'the file');
  return new ApiError('invalid_input', `The file cannot be read as Parquet: ${why}`, { cause: error });
}
