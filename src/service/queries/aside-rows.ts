import { counted } from '../../contract/in-words.ts';
import type { SqlBody } from '../../contract/queries.ts';
import { quotedPath } from '../../contract/text.ts';
import type { QueryOutcome } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { REPEATS_NAMES } from '../ingest/header-rows.ts';

/* Rows that a load saw to sum up others are in every sum of a later query, whose author never read what was told then. */

const AGGREGATE = /\b(?:sum|avg|mean|median|count|max|stddev|fsum|favg|kahan_sum)\s*\(/i;
const TEXT = /'(?:[^']|'')*'/g;
const NAME = /"((?:[^"]|"")+)"/g;

/**
 * Says which rows of a collection sum up others, where a statement computes over them and names none of the fields that
 * leave them out, or some of their texts alone. Looked for only in collections of which a load has told that.
 */
export async function asideWarnings(
  ctx: CallContext,
  { query, parameters }: SqlBody,
  { collections, readRows }: Pick<QueryOutcome, 'collections' | 'readRows'>,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const name of collections) {
    const collection = ctx.catalog.all('collection').get(name);
    if (collection === undefined) continue;
    for (const { at, text, where, count: most } of ctx.usage.of(collection).notes) {
      if (where === undefined || !AGGREGATE.test(query) || namesFieldOf(where, query)) continue;
      const count = await countAside(ctx, collection, where);
      // Documents that came otherwise and are like them may be ordinary ones.
      if (count === 0 || count > most) continue;
      const own = readRows && `${readRows.from} WHERE (${readRows.where})`;
      if (own !== undefined && (await countedIn(ctx, `FROM ${own} AND NOT (${where})`, parameters)) === 0) continue;
      const [seem, repeat, them] = count === 1 ? ['seems', 'repeats', 'it'] : ['seem', 'repeat', 'them'];
      const what = text.includes(REPEATS_NAMES) ? `${repeat} ${REPEATS_NAMES}` : `${seem} to sum up others`;
      warnings.push(
        `${counted(count, 'rows')} of ${name} ${what}, as was told at a load (${at.slice(0, 10)}), and the statement does not leave ${them} out: WHERE ${where}.`,
      );
    }
  }
  return warnings;
}

/** Whether a query names a field of the condition, and not some of its texts only: then it leaves out some of the rows. */
function namesFieldOf(where: string, query: string): boolean {
  const text = query.toLowerCase();
  const texts = where.match(TEXT)?.filter((one) => one !== "''") ?? [];
  const named = texts.filter((one) => text.includes(one.toLowerCase()));
  if (named.length > 0 && named.length < texts.length) return false;
  const words = new Set(text.split(/[^\p{L}\p{N}_]+/u));
  const names = Array.from(where.matchAll(NAME), ([quoted, name = '']) => [quoted.toLowerCase(), name.toLowerCase()]);
  return names.some(([quoted = '', name = '']) => words.has(name) || text.includes(quoted));
}

const COUNT_MS = 1_000;

/** The documents of which a condition is not true. Zero, too, if they cannot be counted in time: the field may be gone. */
export async function countAside(
  ctx: CallContext,
  { workspace, name }: CollectionRecord,
  where: string,
): Promise<number> {
  return (await countedIn(ctx, `FROM ${quotedPath(workspace, name)} WHERE NOT (${where})`)) ?? 0;
}

/** How many rows there are; undefined: they cannot be counted in time, or the SQL fails. */
async function countedIn(
  { engine, caller, signal }: CallContext,
  from: string,
  parameters: SqlBody['parameters'] = [],
): Promise<number | undefined> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(COUNT_MS)]);
  const request = { sql: `SELECT count(*) ${from}`, parameters, caller: caller.keyHash, signal: either };
  const answer = await engine.query(request).catch(() => undefined);
  return answer && Number(answer.rows[0]?.[0] ?? 0);
}
