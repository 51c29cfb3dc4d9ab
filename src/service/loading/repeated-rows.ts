import { counted } from '../../contract/in-words.ts';
import { cut, inQuotes, quotedPath } from '../../contract/text.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import type { LoadOutcome } from './loading.ts';

/* Rows that a file has several times, with every cell alike: each counts in sums, and only their generated ids differ. */

/** Counting the distinct ones of so many takes some hundredths of a second. */
const ROWS_MAX = 300_000;
const CELLS_MAX = 6_000_000;
const COUNT_MS = 1_000;
const CHARS_MAX = 100;

type Context = Pick<CallContext, 'engine' | 'caller' | 'signal'>;

/**
 * What to tell of rows of a load that are alike, if its collection has no others; undefined: there are none, or it was not
 * looked for. Of a table whose columns have few values each, rows that are alike say nothing.
 */
export async function repeatedNote(
  ctx: Context,
  { workspace, name, table }: Pick<CollectionRecord, 'workspace' | 'name' | 'table'>,
  { added, withoutId, replaced, lasting }: Pick<LoadOutcome, 'added' | 'withoutId' | 'replaced' | 'lasting'>,
): Promise<string | undefined> {
  if (added < 2 || added > ROWS_MAX || withoutId < added || replaced > 0) return undefined;
  const path = quotedPath(workspace, name);
  const { docCount } = await ctx.engine.stats(table);
  const columns = docCount === added ? await columnsOf(ctx, path) : [];
  if (columns.length === 0 || columns.length * added > CELLS_MAX) return undefined;
  // Values that do not fit their column are alike in it. Without such there is no column of them.
  const [strays = 0] = await counts(ctx, `SELECT count(_strays) FROM ${path}`);
  if (strays > 0) return undefined;
  // Rows of which it was told what leaves them out repeat nothing.
  const sure = lasting.flatMap(({ where }) => (where === undefined ? [] : [where]));
  const from = `FROM ${path}${sure.length === 0 ? '' : ` WHERE ${sure.join(' AND ')}`}`;
  const [rows = 0, distinct = 0] = await counts(
    ctx,
    `SELECT count(*), count(DISTINCT hash(${columns.join(', ')})) ${from}`,
  );
  if (distinct >= rows) return undefined;
  const values = await counts(ctx, `SELECT ${columns.map((one) => `count(DISTINCT ${one})`).join(', ')} ${from}`);
  if (2 * Math.max(0, ...values) < distinct) return undefined;
  return `${rows - distinct} of ${counted(rows, 'rows')} repeat another, every cell alike: if they are not meant to count again, FROM (SELECT DISTINCT * EXCLUDE (_id, _event_time) FROM ${cut(path, CHARS_MAX)}) leaves them out.`;
}

/** The columns with the fields, quoted. */
async function columnsOf(ctx: Context, path: string): Promise<string[]> {
  const { columns } = await run(ctx, `SELECT * EXCLUDE (_id, _event_time) FROM ${path} LIMIT 0`);
  return columns.map(({ name }) => inQuotes(name, '"'));
}

/** Nothing if it takes too long. */
async function counts(ctx: Context, sql: string): Promise<number[]> {
  const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(COUNT_MS)]);
  const answer = await run({ ...ctx, signal }, sql).catch(() => undefined);
  return (answer?.rows[0] ?? []).map(Number);
}

const run = ({ engine, caller, signal }: Context, sql: string) => engine.query({ sql, caller: caller.keyHash, signal });
