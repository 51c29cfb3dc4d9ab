import { counted } from '../../contract/in-words.ts';
import type { SqlBody } from '../../contract/queries.ts';
import { quotedPath } from '../../contract/text.ts';
import type { QueryOutcome, QueryRequest } from '../../engine/engine.ts';
import { collectionKey } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { aliasesNaming } from '../collections/dependents.ts';
import type { CallContext } from '../context.ts';
import { REPEATS_NAMES } from '../ingest/header-rows.ts';

/* Rows that a load saw to sum up others are in every sum of a later query, whose author never read what was told then. */

/** Without any of these a statement lists rows, each of which is seen as what it is. */
const COMPUTES = /\b(?:order|group)\s+by\b|\w\(/i;
/** What is random has another answer in any case. */
const RANDOM = /\b(?:random|uuid|sample)/i;
const GROUPS = /\bgroup\s+by\b/i;
const TEXT = /'((?:[^']|'')*)'/g;
const NAME = /"((?:[^"]|"")+)"/g;

/**
 * Says which rows of a collection sum up others, where a statement has another answer without them and names not each of them.
 * Looked for only in collections of which a load has told that, within two seconds in all.
 */
export async function asideWarnings(
  ctx: CallContext,
  sql: SqlBody,
  outcome: QueryOutcome,
  tookMs: number,
): Promise<string[]> {
  const warnings: string[] = [];
  if (!COMPUTES.test(sql.query) || RANDOM.test(sql.query) || outcome.cut !== null || outcome.rows.length > ROWS_MAX)
    return warnings;
  // It would not be done in time a second time.
  if (tookMs > LOOK_MS) return warnings;
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(LOOK_MS)]);
  const look: Look = { ctx: { ...ctx, signal }, sql, all: outcome.rows };
  const bare = new Map<string, number>();
  const names = [...outcome.collections, ...outcome.aliases];
  for (const one of names) bare.set(bareName(one), (bare.get(bareName(one)) ?? 0) + 1);
  for (const name of outcome.collections) {
    const collection = ctx.catalog.all('collection').get(name);
    // Two of one name cannot be told apart in what is asked.
    if (collection === undefined || bare.get(bareName(name)) !== 1) continue;
    for (const { at, text, where, count: most } of ctx.usage.of(collection).notes) {
      const count = where === undefined ? 0 : await amongUsed(look, collection, outcome.aliases, { where, most });
      if (count === 0) continue;
      const [seem, repeat, them] = count === 1 ? ['seems', 'repeats', 'it'] : ['seem', 'repeat', 'them'];
      const what = text.includes(REPEATS_NAMES) ? `${repeat} ${REPEATS_NAMES}` : `${seem} to sum up others`;
      warnings.push(
        `${counted(count, 'rows')} of ${name} ${what}, as was told at a load (${at.slice(0, 10)}), and the statement does not leave ${them} out: WHERE ${where}.`,
      );
    }
  }
  return warnings;
}

interface Look {
  ctx: CallContext;
  sql: SqlBody;
  /** The answer that the statement has. */
  all: QueryOutcome['rows'];
}

const bareName = (name: string) => foldText(name.slice(name.lastIndexOf('.') + 1));

/** How many rows there are of which a condition is not true, if a statement has another answer without them, and does not ask for them. */
async function amongUsed(
  { ctx, sql: { query, parameters = [] }, all }: Look,
  collection: CollectionRecord,
  aliases: readonly string[],
  { where, most = Number.POSITIVE_INFINITY }: { where: string; most: number | undefined },
): Promise<number> {
  const path = quotedPath(collection.workspace, collection.name);
  const aside = await rowsOf(ctx, { sql: `SELECT * FROM ${path} WHERE NOT (${where}) LIMIT ${ASIDE_MAX}` });
  // Documents that came otherwise and are like them may be ordinary ones.
  if (aside === undefined || aside.length === 0 || aside.length > most) return 0;
  if (await areNamed(ctx, { query, parameters }, `${path} WHERE ${where}`, aside)) return 0;
  const own = aliasesNaming(ctx.catalog, collectionKey(collection.workspace, collection.name));
  const used = own.filter(
    (one) => one.collections.length === 1 && aliases.includes(collectionKey(one.workspace, one.name)),
  );
  const names = [collection, ...used].map(({ workspace, name }) => [workspace, name] as const);
  const answer = (of: string) => rowsOf(ctx, { sql: query, parameters, only: { names, where: of } });
  const others = await answer(where);
  if (others === undefined || !differs(query, where, all, others)) return 0;
  // Without an order the same statement may have another answer.
  const again = await answer('true');
  if (again === undefined || newRows(again, all) > 0) return 0;
  const count = aside.length < ASIDE_MAX ? aside.length : await countAside(ctx, collection, where);
  return count > most ? 0 : count;
}

/** Whether an answer is another one without some rows, and not only without what is seen as a group of theirs. */
function differs(query: string, where: string, all: QueryOutcome['rows'], others: QueryOutcome['rows']): boolean {
  const words = new Set(foldText(query).split(/[^\p{L}\p{N}_]+/u));
  const fields = Array.from(where.matchAll(NAME), ([quoted, name = '']) => [quoted, name].map(foldText));
  const isField = fields.some(([quoted = '', name = '']) => words.has(name) || foldText(query).includes(quoted));
  if (newRows(others, all) === 0) return GROUPS.test(query) && !isField && others.length < all.length;
  return !isField || others.flat().some((value) => value !== null && Number(value) !== 0);
}

/** Whether a statement has a text for each of some rows that no other row has: whoever writes it knows of them. */
async function areNamed(
  ctx: CallContext,
  { query, parameters = [] }: SqlBody,
  others: string,
  aside: readonly unknown[][],
) {
  const given = parameters.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  const all = [...Array.from(query.matchAll(TEXT), ([, text = '']) => text), ...given].map(foldText);
  const has = (row: readonly unknown[], text: string) => row.some((cell) => isNamedBy(cell, text));
  const texts = [...new Set(all)].slice(0, TEXTS_MAX).filter((text) => aside.some((row) => has(row, text)));
  if (!aside.every((row) => texts.some((text) => has(row, text)))) return false;
  const some = await rowsOf(ctx, { sql: `SELECT * FROM ${others} LIMIT ${OTHERS_MAX}` });
  const own = texts.filter((text) => some?.every((row) => !has(row, text)));
  return aside.every((row) => own.some((text) => has(row, text)));
}

const foldText = (text: string) => text.toLowerCase();

/** Whether a text is that of a cell, or a pattern for it. */
function isNamedBy(cell: unknown, text: string): boolean {
  const bare = text.replaceAll('%', '');
  if (typeof cell !== 'string' || bare === '') return false;
  return text === bare ? foldText(cell) === text : foldText(cell).includes(bare);
}

/** How many rows are not among others; of numbers the last digits depend on the order in which they are summed. */
function newRows(rows: readonly unknown[], others: readonly unknown[]): number {
  const keyOf = (row: unknown) =>
    JSON.stringify(row, (_, value) => (typeof value === 'number' ? value.toPrecision(DIGITS) : value));
  const left = new Map<string, number>();
  for (const key of others.map(keyOf)) left.set(key, (left.get(key) ?? 0) + 1);
  return rows.map(keyOf).filter((key) => {
    const count = left.get(key) ?? 0;
    left.set(key, count - 1);
    return count <= 0;
  }).length;
}

const DIGITS = 12;
/** For all that is asked of one statement. */
const LOOK_MS = 2_000;
/** Longer answers are not compared. */
const ROWS_MAX = 10_000;
/** How many rows, and texts of a statement, are compared each with each. */
const ASIDE_MAX = 100;
const OTHERS_MAX = 500;
const TEXTS_MAX = 50;

/** The documents of which a condition is not true. Zero, too, if they cannot be counted in time: the field may be gone. */
export async function countAside(
  ctx: CallContext,
  { workspace, name }: CollectionRecord,
  where: string,
): Promise<number> {
  const sql = `SELECT count(*) FROM ${quotedPath(workspace, name)} WHERE NOT (${where})`;
  return Number((await rowsOf(ctx, { sql }))?.[0]?.[0] ?? 0);
}

/** The rows of an answer; undefined: they are too many, or do not come in time, or the SQL fails. */
async function rowsOf(
  { engine, caller, signal }: CallContext,
  request: QueryRequest,
): Promise<QueryOutcome['rows'] | undefined> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const own = { ...request, defaultRowLimit: ROWS_MAX, caller: caller.keyHash, signal: either };
  const answer = await engine.query(own).catch(() => undefined);
  return answer?.cut === null ? answer.rows : undefined;
}
