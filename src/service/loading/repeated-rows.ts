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
  { added, withoutId, replaced }: Pick<LoadOutcome, 'added' | 'withoutId' | 'replaced'>,
): Promise<string | undefined> {
  if (added < 2 || added > ROWS_MAX || withoutId < added || replaced > 0) return undefined;
  const path = quotedPath(workspace, name);
  const { docCount } = await ctx.engine.stats(table);
  const columns = docCount === added ? await columnsOf(ctx, path) : [];
  if (columns.length === 0 || columns.length * added > CELLS_MAX) return undefined;
  // Values that do not fit their column are alike in it. Without such there is no column of them.
  const [strays = 0] = await counts(ctx, `SELECT count(_strays) FROM ${path}`);
  if (strays > 0) return undefined;
  const [distinct = added] = await counts(ctx, `SELECT count(DISTINCT hash(${columns.join(', ')})) FROM ${path}`);
  if (distinct >= added) return undefined;
  const values = await counts(ctx, `SELECT ${columns.map((one) => `count(DISTINCT ${one})`).join(', ')} FROM ${path}`);
  const most = Math.max(0, ...values);
  if (2 * most < distinct) return undefined;
  const key = most === distinct ? columns[values.indexOf(most)] : undefined;
  const byId =
    key === undefined || key.length > CHARS_MAX
      ? ''
      : `, and "id_field": ${key.replaceAll('""', '\\"')} keeps one of each at a load into a new collection`;
  return `${added - distinct} of ${counted(added, 'rows')} repeat another, every cell alike: if they are not meant to count again, FROM (SELECT DISTINCT * EXCLUDE (_id, _event_time) FROM ${cut(path, CHARS_MAX)}) leaves them out${byId}.`;
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
