import { createHash, randomUUID } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { OWN_QUERY } from '../../contract/own-query.ts';
import { type DeletedSelection, SELECTED_MAX, type Selection } from '../../contract/selections.ts';
import { cut, quotedPath } from '../../contract/text.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { Parameter, QueryOutcome } from '../../engine/engine.ts';
import { requireCollection } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { deletionBy, documentsDeletion } from '../trash/trash-entries.ts';
import { write } from './documents.ts';
import type { New, Selected, SelectedList } from './selections.ts';

interface Target {
  workspace: string;
  collection: string;
}

/** Documents deleted in one durable step; other writes have their turn in between. */
const STEP = 10_000;
const EXAMPLES_MAX = 3;
const EXAMPLE_CHARS_MAX = 300;

/** What selects: a condition, or the `_id` of documents. */
interface Selector {
  where: string;
  parameters: readonly Parameter[];
  /** Tells selectors apart. */
  by: string;
  isNamed: boolean;
}

/**
 * Selects the documents for which a condition holds now, or those of the named ones that are there. Throws `query_error`
 * for anything but a condition over the fields, and `content_too_large` for too many. Only what a human was `shown` is returned as it was then, if it is still
 * kept: whoever is asked for the first time sees what is there now.
 */
export async function selectDocuments(
  ctx: CallContext,
  input: Target & {
    where?: string | undefined;
    ids?: readonly string[] | undefined;
    shown?: string | null | undefined;
  },
): Promise<Selection> {
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const selector = selectorOf(input);
  const { shown } = input;
  const owner = ctx.caller.keyHash;
  if (shown != null) {
    const id = ctx.approvals.extentOf(owner, shown)?.['documents']?.which ?? shown;
    const selected = ctx.selections.find(owner, collection.table, selector.by, id);
    if (selected !== undefined) return toSelection(selected);
  }
  return toSelection(await select(ctx, collection, selector));
}

function selectorOf({ where, ids }: { where?: string | undefined; ids?: readonly string[] | undefined }): Selector {
  if ((where === undefined) === (ids === undefined)) {
    throw new ApiError('invalid_input', 'Cannot select documents: give either "where" or "ids".');
  }
  if (where !== undefined) return { where, parameters: [], by: `where ${where}`, isNamed: false };
  const value = [...new Set(ids)];
  const digest = createHash('sha256').update(JSON.stringify(value)).digest('base64url');
  const parameters = [{ name: 'ids', type: 'array' as const, value }];
  return { where: '_id IN (SELECT unnest(:ids))', parameters, by: `ids ${digest}`, isNamed: true };
}

async function select(ctx: CallContext, collection: CollectionRecord, selector: Selector): Promise<New | Selected> {
  if (selector.isNamed) return await selectNamed(ctx, collection, selector);
  const { where } = selector;
  const { lists, examples, warnings } = await inCondition(async () => {
    await ctx.engine.checkCondition(where, ctx.signal);
    // Its count is only to refuse too many before all are read: what is told is the number of those selected.
    const count = await query(ctx, `SELECT count(*) ${fromOf(collection, where)}`);
    refuseTooMany(Number(count.rows[0]?.[0]), collection);
    const lists = await listsOf(ctx, collection, selector);
    return { lists, examples: await examplesOf(ctx, collection, lists), warnings: count.warnings };
  });
  const found = await foundOf(ctx, collection, selector, lists);
  refuseTooMany(found.documents, collection);
  return added(ctx, { ...found, examples, warnings });
}

/** Whoever names documents knows them: there are no examples, and nothing to warn of. */
async function selectNamed(ctx: CallContext, collection: CollectionRecord, selector: Selector) {
  return added(ctx, await foundOf(ctx, collection, selector, await listsOf(ctx, collection, selector)));
}

async function foundOf(
  ctx: CallContext,
  { table }: CollectionRecord,
  { by, isNamed }: Selector,
  lists: readonly SelectedList[],
): Promise<New> {
  const documents = lists.reduce((sum, { marks }) => sum + marks.length, 0);
  const { docCount } = await ctx.engine.stats(table);
  const owner = ctx.caller.keyHash;
  return { owner, table, by, isNamed, documents, collectionDocuments: docCount, lists, examples: [], warnings: [] };
}

const added = (ctx: CallContext, found: New) => (found.documents === 0 ? found : ctx.selections.add(found));

/**
 * Deletes what was selected and is still as it was then, in steps, into one entry of the trash. A selection is used up by
 * that, also where it stops before the end, which the answer then says.
 */
export async function deleteSelected(
  ctx: CallContext,
  input: Target & { selection: string },
): Promise<DeletedSelection> {
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const selected = ctx.selections.take(ctx.caller.keyHash, collection.table, input.selection);
  let ids: readonly string[] = [];
  const keep = documentsDeletion(collection, deletionBy(ctx, collection.workspace), () => ids);
  const step = async (list: SelectedList) => {
    ids = idsIn(list);
    return await write(ctx, collection, () => ctx.engine.deleteDocuments(collection.table, ids, keep, list.marks));
  };
  // Nobody restores or removes the entry while it grows.
  const result = await ctx.trash.holding(keep === undefined ? [] : [keep.trash], () =>
    deleteInSteps(ctx, selected, step),
  );
  if (result.deleted > 0) ctx.usage.wrote(collection, { inserted: 0, overwritten: 0 });
  return result;
}

async function deleteInSteps(
  { signal, log }: CallContext,
  { lists }: Selected,
  step: (list: SelectedList) => Promise<number>,
) {
  const result = { deleted: 0, left: 0, stopped: null as string | null };
  for (const list of lists) {
    try {
      signal.throwIfAborted();
      const deleted = await step(list);
      result.deleted += deleted;
      result.left += list.marks.length - deleted;
    } catch (error) {
      if (result.deleted === 0) throw error;
      log.warn({ err: error }, 'a deletion by a condition stopped before its end');
      result.stopped = error instanceof ApiError ? error.message : 'The caller is gone, or the service closes.';
      break;
    }
  }
  return result;
}

/** The condition is in lines of its own, so that a comment at its end ends there; it begins in the second line. */
function fromOf({ workspace, name }: CollectionRecord, where: string): string {
  return `FROM ${quotedPath(workspace, name)} WHERE (\n${where}\n)`;
}

async function listsOf(
  ctx: CallContext,
  collection: CollectionRecord,
  { where, parameters }: Selector,
): Promise<SelectedList[]> {
  const mark = ctx.engine.markSql(collection.table);
  const numbered = `SELECT _id, ${mark} AS mark, (row_number() OVER () - 1) // ${STEP} AS step ${fromOf(collection, where)}`;
  const found = await query(ctx, `SELECT list(_id), list(mark) FROM (${numbered}) GROUP BY step`, parameters);
  if (found.cut !== null) throw tooMany('their _id take more memory than a result may');
  const pace = createPace();
  const lists: SelectedList[] = [];
  for (const [ids, marks] of found.rows) {
    if (!Array.isArray(ids) || !Array.isArray(marks)) continue;
    lists.push({ ids: Buffer.from(JSON.stringify(ids.map(String))), marks: Float64Array.from(marks, Number) });
    await pace();
  }
  return lists;
}

/** Each is looked up as it was selected: what has changed within this moment is no example. */
async function examplesOf(
  ctx: CallContext,
  collection: CollectionRecord,
  [first]: readonly SelectedList[],
): Promise<string[]> {
  const isSame = `_id = :id AND ${ctx.engine.markSql(collection.table)} = :mark`;
  const examples: string[] = [];
  const ids = first === undefined ? [] : idsIn(first).slice(0, EXAMPLES_MAX);
  for (const [index, id] of ids.entries()) {
    const found = await query(ctx, `SELECT * ${fromOf(collection, isSame)}`, [
      { name: 'id', type: 'string', value: id },
      { name: 'mark', type: 'int', value: first?.marks[index] ?? null },
    ]);
    examples.push(...found.rows.map((row) => exampleOf(found, row)));
  }
  return examples;
}

function refuseTooMany(documents: number, { name }: CollectionRecord): void {
  if (documents > SELECTED_MAX) {
    const most = SELECTED_MAX.toLocaleString('en-US');
    throw tooMany(
      `of collection "${name}" it is true for ${counted(documents, 'documents')}, and at most ${most} go at once`,
    );
  }
}

function tooMany(why: string): ApiError {
  return new ApiError('content_too_large', `Cannot select documents by this condition: ${why}. Narrow it down.`);
}

function query(ctx: CallContext, statement: string, parameters: readonly Parameter[] = []): Promise<QueryOutcome> {
  const { keyHash, user, keyName } = ctx.caller;
  const sql = `${OWN_QUERY} ${statement}`;
  const caller = { email: user.email, keyName };
  return ctx.queryLog.watch({ id: randomUUID(), sql, caller }, ctx.signal, (signal) =>
    ctx.engine.query({ sql, parameters, caller: keyHash, signal }),
  );
}

/** Runs `work`, giving positions of errors in the condition, which begins in the second line of each statement. */
async function inCondition<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
    const { line, correctedSql = '', ...details } = error.details;
    const message = error.message.startsWith('where ') ? error.message : `In where: ${error.message}`;
    const place = line === undefined ? {} : { ...details, line: Math.max(1, line - 1) };
    const where = conditionOf(correctedSql);
    const meant = where === undefined ? {} : { correctedSql: where };
    throw new ApiError(error.code, message, { ...place, ...meant, cause: error });
  }
}

/** The condition in a statement that was corrected, which has it in lines of its own (`fromOf`). */
function conditionOf(sql: string): string | undefined {
  const [first = '', ...lines] = sql.split('\n');
  return first.startsWith(OWN_QUERY) && lines.pop()?.startsWith(')') ? lines.join('\n') : undefined;
}

function exampleOf({ columns }: QueryOutcome, row: QueryOutcome['rows'][number]): string {
  const fields = columns.flatMap(({ name }, index) => (row[index] == null ? [] : [[name, row[index]] as const]));
  return cut(stringifyJson(Object.fromEntries(fields)), EXAMPLE_CHARS_MAX);
}

function idsIn({ ids }: SelectedList): string[] {
  return JSON.parse(ids.toString()) as string[];
}

function toSelection(selected: New | Selected): Selection {
  const kept = 'id' in selected ? selected : undefined;
  return {
    selection: kept?.id ?? null,
    documents: selected.documents,
    collection_documents: selected.collectionDocuments,
    examples: [...selected.examples],
    selected_at: new Date(kept?.selectedAt ?? Date.now()).toISOString(),
    expires_at: kept === undefined ? null : new Date(kept.expiresAt).toISOString(),
    warnings: [...selected.warnings],
    ids: selected.isNamed ? selected.lists.flatMap(idsIn) : null,
  };
}
