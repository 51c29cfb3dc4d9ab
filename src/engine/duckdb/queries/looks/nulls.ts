import type { NotIn } from '../../gate/nulls.ts';
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
