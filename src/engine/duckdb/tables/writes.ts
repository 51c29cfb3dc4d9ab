import type {
  DocumentsText,
  Engine,
  Keep,
  OnFieldNews,
  RecordChange,
  Restored,
  TextOutcome,
  WriteOutcome,
} from '../../engine.ts';
import type { Sql } from '../connections/store.ts';
import type { ScannedText } from '../shortcuts/unparsed.ts';
import { acceptDocuments, outcomesOf } from './accept.ts';
import { requireTable, type Table } from './catalog.ts';
import { changeAll } from './change.ts';
import type { TableShape } from './columns.ts';
import { deleteVisible, findRows, visibleOf } from './find-rows.ts';
import { createJoined } from './joined.ts';
import { markSql, withMarks } from './marks.ts';
import { purgeExpired } from './purge.ts';
import { readDocuments } from './read-back.ts';
import { type StoreRecords, storeRecord } from './records.ts';
import { storable, storeBatch, storeBatchLines, storeBatchRows, storeBatchText } from './store-batch.ts';
import { METADATA_LOCK, RECORDS_LOCK, storeDocuments, storeText, type WritesContext } from './store-documents.ts';
import { forgetKept, keepDocuments, keptIn, readKept, restoreRows, storeKeptAsText, whyKept } from './trash.ts';
import { createView } from './views.ts';

/** The writing half of `Engine`, which documents each method. */
export type Writes = Pick<
  Engine,
  | 'addDocuments'
  | 'addText'
  | 'storeBatch'
  | 'deleteDocuments'
  | 'markSql'
  | 'restoreDocuments'
  | 'changeDocuments'
  | 'purge'
>;

/** How many of the documents that could not be restored are named. */
const LEFT_IDS_MAX = 100;

/** Lock of a collection's documents: the uniqueness of ids depends on it, as the table has no key. */
export function tableLock(id: string): string {
  return `table ${id}`;
}

export function createWrites(context: WritesContext): Writes {
  const { store, catalog, locks, shortcuts } = context;

  /** Runs `work` on a table whose lock is held. */
  const onTable = async <T>(id: string, work: (table: Table) => Promise<T>): Promise<T> => {
    const table = requireTable(catalog, id);
    try {
      return await work(table);
    } catch (error) {
      throw store.writeError(`write to collection "${table.workspace}.${table.name}"`, error);
    } finally {
      context.written(id);
    }
  };
  const hold = <T>(id: string, work: () => Promise<T>): Promise<T> => locks.hold([tableLock(id)], work);
  /** Runs `work` on a table while nothing else writes to it. */
  const withTable = <T>(id: string, work: (table: Table) => Promise<T>): Promise<T> =>
    hold(id, () => onTable(id, work));
  /** The same for work that also stores records. */
  const withRecords = <T>(id: string, work: (table: Table, storeRecords: StoreRecords) => Promise<T>): Promise<T> => {
    const toldWork = async (table: Table) => {
      const stored: RecordChange[] = [];
      const result = await work(table, async (sql, changes) => {
        for (const change of changes) await storeRecord(sql, change);
        stored.push(...changes);
      });
      if (stored.length > 0) context.recordsStored(stored);
      return result;
    };
    const run = () => onTable(id, toldWork);
    if (!store.locksMetadata) return hold(id, run);
    // Else a change of the same record that is planned already would undo what is stored here.
    return locks.hold([RECORDS_LOCK], () => hold(id, () => locks.hold([METADATA_LOCK], run)));
  };

  const addOne =
    ({ text, shape, scanned, onNews }: AddedText) =>
    async (table: Table) => {
      const now = table.shape === shape ? scanned : await shortcuts.unparsed.try(text, table.shape);
      return now && (await storeText(context, table, text, now, { onNews }));
    };
  const adds = createJoined<AddedText, TextOutcome[] | undefined>({
    hold,
    alone: (id, added) => onTable(id, addOne(added)),
    together: (id, some) => onTable(id, (table) => addTogether(context, table, some)),
  });
  const changeOne = (changed: Changed) => (table: Table) => changeDocuments(context, table, changed);
  const changes = createJoined<Changed, WriteOutcome[]>({
    hold,
    alone: (id, changed) => onTable(id, changeOne(changed)),
    together: (id, some) => onTable(id, (table) => changeTogether(context, table, some)),
  });

  return {
    addDocuments: (id, documents, onNews) =>
      withTable(id, async (table) => {
        const acceptance = await acceptDocuments(documents);
        const existed = await storeDocuments(context, table, [...acceptance.documents.values()], { onNews });
        return outcomesOf(documents, acceptance, existed);
      }),

    async addText(id, text, onNews) {
      // Scanned while other writes to the table go on: after them its shape is nearly always still the same.
      const { shape } = requireTable(catalog, id);
      const scanned = await shortcuts.unparsed.try(text, shape);
      await text.after;
      if (scanned === undefined) return undefined;
      const added = { text, shape, scanned, onNews };
      return scanned.documents.length <= JOINED_MAX ? adds.add(id, added) : withTable(id, addOne(added));
    },

    async storeBatch(id, batch) {
      const { shape } = requireTable(catalog, id);
      const { documents } = batch;
      if ('refused' in documents) {
        const rows = storable(documents);
        await batch.after;
        return await withRecords(id, (table, storeRecords) =>
          storeBatchRows(context, table, { ...batch, documents: rows, storeRecords }),
        );
      }
      if ('bytes' in documents) {
        const areLines = await shortcuts.unparsed.tryLines(documents, shape);
        const scanned = areLines ? undefined : await shortcuts.unparsed.try(documents, shape);
        await batch.after;
        if (areLines) {
          return await withRecords(id, async (table, storeRecords) => {
            const fit = table.shape === shape || (await shortcuts.unparsed.tryLines(documents, table.shape));
            return fit ? await storeBatchLines(context, table, { ...batch, documents, storeRecords }) : undefined;
          });
        }
        return (
          scanned &&
          (await withRecords(id, (table, storeRecords) =>
            storeBatchText(context, table, { ...batch, documents, scanned, shape, storeRecords }),
          ))
        );
      }
      const acceptance = await acceptDocuments(documents);
      await batch.after;
      return await withRecords(id, (table, storeRecords) =>
        storeBatch(context, table, { ...batch, documents, acceptance, storeRecords }),
      );
    },

    markSql: (id) => markSql(requireTable(catalog, id).shape),

    async deleteDocuments(id, ids, keep, marks) {
      const distinct = async (table: Table) =>
        marks === undefined ? [...new Set(ids)] : await context.transaction((sql) => withMarks(sql, table, ids, marks));
      if (keep !== undefined) {
        return await withRecords(id, async (table, storeRecords) =>
          trashExisting(context, table, await distinct(table), { ...keep, storeRecords }),
        );
      }
      return await withTable(id, async (table) => {
        const some = await distinct(table);
        return await context.transaction((sql) => deleteVisible(sql, table, some));
      });
    },

    restoreDocuments: (trash, id, after, onNews) =>
      withRecords(id, async (table, storeRecords) => {
        const inPlace = await restoreInPlace(context, table, trash, { after, storeRecords });
        if (inPlace !== undefined) return inPlace;
        const documents = await context.transaction((sql) => readKept(sql, table, trash));
        const ids = documents.map((document) => document.id);
        const restored: Restored = {
          docCount: ids.length,
          left: { docCount: 0, bytes: 0, ids: [] },
          leftIds: [],
          pastCount: 0,
        };
        const finish = async (sql: Sql) => {
          restored.left = await forgetKept(sql, trash, ids);
          Object.assign(restored, await whyKept(sql, table, trash, LEFT_IDS_MAX));
          await storeRecords(sql, after(restored.left));
        };
        if (ids.length === 0) await context.transaction(finish);
        else await storeDocuments(context, table, documents, { finish, onNews });
        return restored;
      }),

    changeDocuments: (id, ids, change, fields, onNews) => {
      const changed = { ids, change, fields, onNews };
      return ids.length <= JOINED_MAX ? changes.add(id, changed) : withTable(id, changeOne(changed));
    },

    purge: (id, nowMs) => withTable(id, (table) => context.transaction((sql) => purgeExpired(sql, table, nowMs))),
  };
}

/** Larger writes are done alone. */
const JOINED_MAX = 100;

/** A list of documents to add, as it was scanned for a table of this shape. */
interface AddedText {
  text: DocumentsText;
  shape: TableShape;
  scanned: ScannedText;
  onNews: OnFieldNews | undefined;
}

/** Documents that bring nothing new and have different ids are one list. */
async function addTogether(
  context: WritesContext,
  table: Table,
  some: readonly AddedText[],
): Promise<TextOutcome[][] | undefined> {
  const hasNews = ({ scanned }: AddedText) =>
    scanned.shape !== table.shape || scanned.documents.some(({ parsed }) => parsed !== null);
  const ids = new Set(some.flatMap(({ scanned }) => scanned.documents.map(({ id }) => id)));
  const count = some.reduce((sum, { scanned }) => sum + scanned.documents.length, 0);
  if (ids.size < count || some.some(hasNews)) return undefined;
  const bytes = Buffer.concat(some.map(({ text }) => text.bytes.subarray(text.start, text.end)));
  let before = 0;
  const documents = some.flatMap(({ text, scanned }) => {
    const by = before - text.start;
    before += text.end - text.start;
    return scanned.documents.map((one) => ({ ...one, start: one.start + by, end: one.end + by }));
  });
  const [first] = some;
  if (first === undefined) return [];
  const text = { ...first.text, bytes, start: 0, end: bytes.length };
  const outcomes = await storeText(context, table, text, { documents, shape: table.shape });
  return outcomes && some.map(({ scanned }) => outcomes.splice(0, scanned.documents.length));
}

/** What `changeDocuments` is given. */
interface Changed {
  ids: readonly string[];
  change: Parameters<Engine['changeDocuments']>[2];
  fields: ReadonlySet<string> | undefined;
  onNews: OnFieldNews | undefined;
}

async function changeDocuments(
  context: WritesContext,
  table: Table,
  { ids, change, fields, onNews }: Changed,
): Promise<WriteOutcome[]> {
  const { transaction, shortcuts } = context;
  const done = fields && (await shortcuts.columnUpdates.try(transaction, table, fields, ids, change));
  if (done !== undefined) return done;
  const { changed, outcomes, earlier } = await transaction(async (sql) => {
    const rows = visibleOf(table, await findRows(sql, table, [...new Set(ids)]));
    const stored = await readDocuments(sql, table, rows);
    // Taken now, since each change puts another `read` there.
    const withStrays = [...stored].flatMap(([id, { hasStrays, read }]) => (hasStrays ? [[id, read] as const] : []));
    return { ...(await changeAll(stored, ids, change)), earlier: new Map(withStrays) };
  });
  await storeDocuments(context, table, [...changed.values()], { onNews, earlier });
  return outcomes;
}

/** Changes of known fields are one change of all of them; a document that is in several is changed in order. */
async function changeTogether(
  { transaction, shortcuts }: WritesContext,
  table: Table,
  some: readonly Changed[],
): Promise<WriteOutcome[][] | undefined> {
  if (some.some(({ fields }) => fields === undefined)) return undefined;
  const fields = new Set(some.flatMap((one) => [...(one.fields ?? [])]));
  const all = some.flatMap(({ ids, change }) => ids.map((id, index) => ({ id, index, change })));
  const ids = all.map(({ id }) => id);
  const outcomes = await shortcuts.columnUpdates.try(transaction, table, fields, ids, (document, at) => {
    const one = all[at];
    return one === undefined ? document : one.change(document, one.index);
  });
  return outcomes && some.map((one) => outcomes.splice(0, one.ids.length));
}

/** Moves the visible documents with these ids to the trash; returns their number. */
async function trashExisting(
  { catalog, locks, transaction }: WritesContext,
  table: Table,
  ids: readonly string[],
  { trash, record, storeRecords }: Keep & { storeRecords: StoreRecords },
): Promise<number> {
  if (ids.length === 0) return 0;
  const isFirst = !catalog.withDeleted.has(table.id);
  const run = () =>
    transaction(async (sql) => {
      const { deleted, kept } = await keepDocuments(sql, table, ids, trash);
      if (deleted === 0) return 0;
      if (isFirst) await createView(sql, catalog, table, true);
      await storeRecords(sql, [record(kept)]);
      return deleted;
    });
  if (!isFirst) return run();
  return locks.hold([METADATA_LOCK], async () => {
    const deleted = await run();
    if (deleted > 0) catalog.withDeleted.add(table.id);
    return deleted;
  });
}

/**
 * Restores documents that are still in their table. Undefined means that they are not, at the latest after this, and
 * that nothing is restored.
 */
function restoreInPlace(
  { catalog, transaction, shortcuts: { knownIds } }: WritesContext,
  table: Table,
  trash: string,
  { after, storeRecords }: { after: Parameters<Engine['restoreDocuments']>[2]; storeRecords: StoreRecords },
): Promise<Restored | undefined> {
  return transaction(async (sql) => {
    const kept = await keptIn(sql, trash);
    if (kept === undefined) return undefined;
    if (kept.table !== table.id) {
      await storeKeptAsText(sql, catalog.trashed.get(kept.table) ?? requireTable(catalog, kept.table), trash);
      return undefined;
    }
    const { deletion } = kept;
    const { ids, ...rest } = await restoreRows(sql, table, trash, { deletion, leftIdsMax: LEFT_IDS_MAX });
    knownIds.add(table.id, ids);
    await storeRecords(sql, after(rest.left));
    return { docCount: ids.length, ...rest };
  });
}
