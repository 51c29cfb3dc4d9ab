import { counted } from '../../contract/in-words.ts';
import type { SqlBody } from '../../contract/queries.ts';
import { quotedPath } from '../../contract/text.ts';
import type { QueryOutcome, QueryRequest } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { REPEATS_NAMES } from '../ingest/header-rows.ts';

/* Rows that a load saw to sum up others are in every sum of a later query, whose author never read what was told then. */

/** Without any of these a statement lists rows, each of which is seen as what it is. */
const COMPUTES = /\b(?:order|group)\s+by\b|\w\(/i;
const GROUPS = /\bgroup\s+by\b/i;
const TEXT = /'((?:[^']|'')*)'/g;
const NAME = /"((?:[^"]|"")+)"/g;

/**
 * Says which rows of a collection sum up others, where a statement has another answer without them and names not each of them.
 * Looked for only in collections of which a load has told that.
 */
export async function asideWarnings(
  ctx: CallContext,
  sql: SqlBody,
  collections: QueryOutcome['collections'],
): Promise<string[]> {
  const warnings: string[] = [];
  for (const name of collections) {
    const collection = ctx.catalog.all('collection').get(name);
    if (collection === undefined) continue;
    for (const { at, text, where, count: most } of ctx.usage.of(collection).notes) {
      if (where === undefined || !COMPUTES.test(sql.query)) continue;
      const count = await countAside(ctx, collection, where);
      // Documents that came otherwise and are like them may be ordinary ones.
      if (count === 0 || count > most || !(await areAmongUsed(ctx, sql, collection, where))) continue;
      const [seem, repeat, them] = count === 1 ? ['seems', 'repeats', 'it'] : ['seem', 'repeat', 'them'];
      const what = text.includes(REPEATS_NAMES) ? `${repeat} ${REPEATS_NAMES}` : `${seem} to sum up others`;
      warnings.push(
        `${counted(count, 'rows')} of ${name} ${what}, as was told at a load (${at.slice(0, 10)}), and the statement does not leave ${them} out: WHERE ${where}.`,
      );
    }
  }
  return warnings;
}

/** Whether a statement has another answer without the rows of which a condition is not true, and does not ask for them. */
async function areAmongUsed(
  ctx: CallContext,
  { query, parameters = [] }: SqlBody,
  { workspace, name }: CollectionRecord,
  where: string,
): Promise<boolean> {
  if (await areNamed(ctx, { query, parameters }, quotedPath(workspace, name), where)) return false;
  const answer = (of: string) =>
    rowsOf(ctx, { sql: query, parameters, only: { collection: [workspace, name], where: of } });
  const [all, others] = [await answer('true'), await answer(where)];
  if (all === undefined || others === undefined) return false;
  const isField = Array.from(where.matchAll(NAME), ([, one = '']) => foldText(one)).some((one) =>
    foldText(query).includes(one),
  );
  // A group of its own is seen as what it is where the field that says so is shown.
  if (newRows(others, all) === 0) return GROUPS.test(query) && !isField && others.length < all.length;
  if (isField && others.flat().every((value) => value === null || Number(value) === 0)) return false;
  // What is random has another answer in any case.
  return newRows((await answer('true')) ?? others, all) === 0;
}

/** Whether a statement has a text for each of these rows that no other row has: whoever writes it knows of them. */
async function areNamed(ctx: CallContext, { query, parameters = [] }: SqlBody, path: string, where: string) {
  const [aside = [], others] = [
    await rowsOf(ctx, { sql: `SELECT * FROM ${path} WHERE NOT (${where})` }),
    await rowsOf(ctx, { sql: `SELECT * FROM ${path} WHERE ${where} LIMIT ${OTHERS_MAX}` }),
  ];
  const given = parameters.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  const all = [...Array.from(query.matchAll(TEXT), ([, text = '']) => text), ...given].map(foldText);
  const texts = [...new Set(all)].slice(0, TEXTS_MAX);
  const has = (row: readonly unknown[], text: string) => row.some((cell) => isNamedBy(cell, text));
  const own = texts.filter((text) => others?.every((row) => !has(row, text)));
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
const COUNT_MS = 1_000;
/** Longer answers are not compared. */
const ROWS_MAX = 10_000;
/** How many of the other rows, and of a statement's texts, are looked at: each is compared with each. */
const OTHERS_MAX = 1_000;
const TEXTS_MAX = 20;

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
  const either = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
  const own = { ...request, defaultRowLimit: ROWS_MAX, caller: caller.keyHash, signal: either };
  const answer = await engine.query(own).catch(() => undefined);
  return answer?.cut === null ? answer.rows : undefined;
}
