import { nearest } from '../../../../contract/nearest.ts';
import { placeOf, STRAYS_COLUMN } from '../../../../contract/strays.ts';
import type { Origin } from '../../gate/field-origins.ts';
import type { NotIn } from '../../gate/nulls.ts';
import { ID_COLUMN, quoteText } from '../../sql/names.ts';
import { fieldName } from '../../sql/syntax-hints.ts';
import { isEmpty } from './alike.ts';
import type { Look } from './look.ts';
import { type Data, isAny } from './samples.ts';

/*
 * Answers that are empty for a NULL in what NOT IN (SELECT …) selects, or for fields that have nothing else.
 */

export const nulls: Look = ({ notIns }, { rows, data }) =>
  isEmpty(rows)
    ? notIns.map((one) => ({
        kind: 'null',
        samples: [],
        said: async () => ((await mayBeNull(one, data)) ? notInSaid(one) : undefined),
      }))
    : [];

async function mayBeNull({ sources: { fields, isComputed } }: NotIn, data: Data): Promise<boolean> {
  for (const field of fields) if (await isAny(field, 'v IS NULL', data)) return true;
  return isComputed;
}

function notInSaid({ written: x, sources }: NotIn): string {
  const where = sources.isComputed ? ': leave those out' : `, as in some documents: add WHERE ${x} IS NOT NULL to it`;
  return `NOT IN (SELECT …) holds for nothing if ${sources.isComputed ? 'a value' : x} is NULL in a row of that SELECT${where}, or use NOT EXISTS.`;
}

const SOUGHT_MAX = 3;
const NEAR_MAX = 3;

/** Fields that no document has any more, where an answer is empty that needs their values. */
export const valueless: Look = ({ sought }, { rows, data }) =>
  isEmpty(rows)
    ? sought
        .slice(0, SOUGHT_MAX)
        .map((field) => ({ kind: 'null', samples: [], said: () => valuelessSaid(field, data) }))
    : [];

async function valuelessSaid({ written, table, path }: Origin, data: Data): Promise<string | undefined> {
  const isThere = (at: readonly string[]) => isAny({ table, path: at }, 'v IS NOT NULL', data);
  // Keys of maps have a warning of their own, and values beside a field, too.
  const isOfMap = path.some((_, at) => table.typeAt?.(path.slice(0, at))?.startsWith('MAP(') === true);
  if (isOfMap || (await isThere(path)) || !(await isThere([ID_COLUMN]))) return undefined;
  const place = quoteText(placeOf(path.slice(0, 1)));
  const isBeside = `len(list_filter(json_keys(v), lambda p: p = ${place} OR starts_with(p, ${place} || '/'))) > 0`;
  if (table.columns().includes(STRAYS_COLUMN) && (await isAny({ table, path: [STRAYS_COLUMN] }, isBeside, data)))
    return undefined;
  const near: string[] = [];
  const others =
    path.length === 1
      ? nearest(
          path[0] ?? '',
          table.columns().filter((name) => name !== path[0]),
        )
      : [];
  for (const name of others.slice(0, NEAR_MAX)) if (await isThere([name])) near.push(fieldName(name));
  const instead = near.length === 0 ? '' : `; ${near.join(', ')} ${near.length === 1 ? 'has' : 'have'} values`;
  return `${written} is null in every document looked at${instead}.`;
}
