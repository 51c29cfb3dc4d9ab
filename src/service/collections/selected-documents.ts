import { randomUUID } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { OWN_QUERY } from '../../contract/own-query.ts';
import { type DeletedSelection, SELECTED_MAX, type Selection } from '../../contract/selections.ts';
import { cut } from '../../contract/text.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { QueryOutcome, RecordChange } from '../../engine/engine.ts';
import { requireCollection } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { deletionBy, documentsDeletion } from '../trash/trash-entries.ts';
import { write } from './documents.ts';
import type { Selected } from './selections.ts';

interface Target {
  workspace: string;
  collection: string;
}

/** Documents deleted in one durable step; other writes have their turn in between. */
const STEP = 10_000;
/** Others wait to write while a step looks at the condition again. */
const STEP_TIMEOUT_MS = 30_000;
const EXAMPLES_MAX = 3;
const EXAMPLE_CHARS_MAX = 300;

/**
 * Selects the documents for which a condition holds now. Throws `query_error` for anything but a condition over the
 * fields, and `content_too_large` for too many. What the key has selected so and not used yet is returned as it was:
 * between the question to a human and the deletion nothing is added to it.
 */
export async function selectDocuments(ctx: CallContext, input: Target & { where: string }): Promise<Selection> {
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const { where } = input;
  const owner = ctx.caller.keyHash;
  const earlier = ctx.selections.find(owner, collection.table, where);
  return toSelection(earlier ?? (await select(ctx, collection, where)));
}

async function select(ctx: CallContext, collection: CollectionRecord, where: string): Promise<Selected> {
  const { ids, examples, warnings } = await inCondition(async () => {
    await ctx.engine.checkCondition(where, ctx.signal);
    const from = fromOf(collection, where);
    const count = await query(ctx, `SELECT count(*) ${from}`);
    refuseTooMany(Number(count.rows[0]?.[0]), collection);
    const found = await query(ctx, `SELECT * ${from} LIMIT ${EXAMPLES_MAX}`);
    const examples = found.rows.map((row) => exampleOf(found, row));
    return { examples, warnings: count.warnings, ids: await idsOf(ctx, collection, where) };
  });
  const { docCount } = await ctx.engine.stats(collection.table);
  const { table } = collection;
  const owner = ctx.caller.keyHash;
  return ctx.selections.add({
    owner,
    table,
    where,
    documents: ids.count,
    collectionDocuments: docCount,
    ids: ids.lists,
    examples,
    warnings,
  });
}

/**
 * Deletes what was selected and still meets the condition, in steps, into one entry of the trash. A selection is used up
 * by that, also where it stops before the end, which the answer then says.
 */
export async function deleteSelected(
  ctx: CallContext,
  input: Target & { selection: string },
): Promise<DeletedSelection> {
  const collection = requireCollection(ctx.catalog, input.workspace, input.collection);
  const selected = ctx.selections.take(ctx.caller.keyHash, collection.table, input.selection);
  // Nobody restores or removes the entry while it grows.
  return ctx.trash.exclusive(() => deleteInSteps(ctx, collection, selected));
}

async function deleteInSteps(
  ctx: CallContext,
  collection: CollectionRecord,
  { ids: lists, where }: Selected,
): Promise<DeletedSelection> {
  const { signal } = ctx;
  let stored: RecordChange | undefined;
  const keep = documentsDeletion(collection, deletionBy(ctx, collection.workspace), (change) => {
    stored = change;
  });
  const still = (ids: readonly string[]) => stillMeeting(ctx, collection, where, ids);
  const result = { deleted: 0, left: 0, stopped: null as string | null };
  for (const list of lists) {
    const ids = JSON.parse(list.toString()) as string[];
    try {
      signal.throwIfAborted();
      const deleted = await write(ctx, collection, () =>
        ctx.engine.deleteDocuments(collection.table, ids, keep, still),
      );
      if (stored !== undefined) ctx.catalog.stored(stored);
      stored = undefined;
      result.deleted += deleted;
      result.left += ids.length - deleted;
    } catch (error) {
      if (result.deleted === 0) throw error;
      ctx.log.warn({ err: error }, 'a deletion by a condition stopped before its end');
      result.stopped = error instanceof ApiError ? error.message : 'The caller is gone, or the service closes.';
      break;
    }
  }
  if (result.deleted > 0) ctx.usage.wrote(collection, { inserted: 0, overwritten: 0 });
  return result;
}

/** The condition is in lines of its own, so that a comment at its end ends there; it begins in the second line. */
function fromOf({ workspace, name }: CollectionRecord, where: string): string {
  return `FROM ${quoted(workspace)}.${quoted(name)} WHERE (\n${where}\n)`;
}

async function stillMeeting(
  ctx: CallContext,
  collection: CollectionRecord,
  where: string,
  ids: readonly string[],
): Promise<string[]> {
  const sql = `SELECT list(_id) ${fromOf(collection, where)} AND _id IN (SELECT unnest(:ids))`;
  const parameters = [{ name: 'ids', type: 'array', value: [...ids] }];
  const { signal, caller } = ctx;
  const { rows } = await ctx.engine.query({
    sql,
    parameters,
    caller: caller.keyHash,
    signal,
    timeoutMs: STEP_TIMEOUT_MS,
  });
  const wanted = new Set(ids);
  // Whatever the condition might let through: nothing that was not selected.
  return textsOf(rows[0]?.[0]).filter((id) => wanted.has(id));
}

async function idsOf(ctx: CallContext, collection: CollectionRecord, where: string) {
  const numbered = `SELECT _id, (row_number() OVER () - 1) // ${STEP} AS step ${fromOf(collection, where)}`;
  const { rows, cut: isCut } = await query(ctx, `SELECT list(_id) FROM (${numbered}) GROUP BY step`);
  if (isCut !== null) throw tooMany('their _id take more memory than a result may');
  const pace = createPace();
  const lists: Buffer[] = [];
  let count = 0;
  for (const [list] of rows) {
    const ids = textsOf(list);
    count += ids.length;
    lists.push(Buffer.from(JSON.stringify(ids)));
    await pace();
  }
  return { lists, count };
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

function query(ctx: CallContext, statement: string): Promise<QueryOutcome> {
  const { keyHash, user, keyName } = ctx.caller;
  const sql = `${OWN_QUERY} ${statement}`;
  const caller = { email: user.email, keyName };
  return ctx.queryLog.watch({ id: randomUUID(), sql, caller }, ctx.signal, (signal) =>
    ctx.engine.query({ sql, caller: keyHash, signal }),
  );
}

/** Runs `work`, giving positions of errors in the condition, which begins in the second line of each statement. */
async function inCondition<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
    const { line, ...details } = error.details;
    const message = error.message.startsWith('where ') ? error.message : `In where: ${error.message}`;
    const place = line === undefined ? {} : { ...details, line: Math.max(1, line - 1) };
    throw new ApiError(error.code, message, { ...place, cause: error });
  }
}

function exampleOf({ columns }: QueryOutcome, row: QueryOutcome['rows'][number]): string {
  const fields = columns.flatMap(({ name }, index) => (row[index] == null ? [] : [[name, row[index]] as const]));
  return cut(stringifyJson(Object.fromEntries(fields)), EXAMPLE_CHARS_MAX);
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function toSelection(selected: Selected): Selection {
  return {
    selection: selected.id,
    documents: selected.documents,
    collection_documents: selected.collectionDocuments,
    examples: [...selected.examples],
    selected_at: new Date(selected.selectedAt).toISOString(),
    expires_at: new Date(selected.expiresAt).toISOString(),
    warnings: [...selected.warnings],
  };
}
