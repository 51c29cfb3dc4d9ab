import { STRAYS_COLUMN } from '../../contract/strays.ts';
import { EXTRA_COLUMN } from './field-lines.ts';
import { ANY_FIELD, ANY_KEY, isUnder, LEVELS_MAX } from './infer.ts';

/** What the fields of a collection are that have to be addressed in SQL. */
export interface Found {
  table: string;
  paths: readonly string[];
  /** The fields of type JSON. `type`: of the values in them, as `inferFields` says it; default: any. */
  jsons: readonly { path: string; type?: string }[];
  hasExtra: boolean;
  hasTwins: boolean;
  hasNumberTexts: boolean;
  /** `read`: SQL for them. */
  strays: readonly { read?: string }[];
  leftAtTop: number;
  leftBelow: number;
  isDeeper: boolean;
}

/** How to address the fields in SQL. Stands outside the fence, so it names no field of a document. */
export function addressing({ table, paths, jsons, leftAtTop, leftBelow, ...found }: Found): string {
  // A name that this service would not allow is not repeated outside the fence.
  const from = /^(?:"[\w.-]+"|\w+)\.(?:"[\w-]+"|\w+)$/.test(table) ? table : 'the collection';
  const hints = [`run_query with FROM ${from}`];
  if (paths.some((path) => path.includes('.'))) hints.push('nested fields as a.b');
  if (paths.some((path) => path.includes(`.${ANY_KEY}`)))
    hints.push(
      `${ANY_KEY} is any key of a map, spelled as in the documents: m.key or m['odd key']; all with unnest(map_entries(m))`,
    );
  if (paths.some((path) => path.includes(`.${ANY_FIELD}`)))
    hints.push(`${ANY_FIELD} is any field of an object: o.field or o."odd field"; all with unnest(map_entries(o))`);
  const lists = paths.filter((path) => path.endsWith('[]'));
  const isInJson = (list: string) =>
    [EXTRA_COLUMN, ...jsons.map(({ path }) => path)].some((path) => isUnder(list, path));
  if (!lists.every(isInJson)) hints.push('x[] by unnest(x)');
  if (jsons.some(({ type = 'text' }) => /text|integer|number|boolean/.test(type)))
    hints.push(
      "x of type JSON by a cast (TRY_CAST(x->>'$' AS DOUBLE), text by (x->>'$')): bare it sorts and compares as text. GROUP BY json_type(x) counts what all documents have there",
    );
  if (jsons.some(({ type = 'array' }) => type.includes('array')))
    hints.push('arrays in JSON by unnest(TRY_CAST(x AS JSON[])), and (x->>0) is the first item');
  if (found.hasExtra)
    hints.push(
      `further fields are in the column ${EXTRA_COLUMN}, by their key (${EXTRA_COLUMN}->>'$.key', '$."odd key"')`,
    );
  if (found.hasNumberTexts)
    hints.push('numbers_as_text: text that sorts and compares as text; TRY_CAST(x AS DOUBLE) is the number');
  if (found.hasTwins)
    hints.push(
      `in_other_case: keys that differ from a column only in case, where that is NULL; coalesce reads both (coalesce(x, ${EXTRA_COLUMN}->>'X'))`,
    );
  if (found.strays.length > 0)
    hints.push(
      `strays: values that do not fit the type of their field, counted in all documents; SELECT of the field shows them, what is computed sees NULL (their text in a field of text); ${found.strays.some(({ read }) => read !== undefined) ? '"read" is the SQL for them, ' : ''}SELECT _id, ${STRAYS_COLUMN} FROM ${from} WHERE ${STRAYS_COLUMN} IS NOT NULL has all`,
    );
  if (leftAtTop > 0)
    hints.push(`${leftAtTop} of the fields left out are at the top: run_query with SHOW ${from} lists all columns`);
  if (leftBelow > 0)
    hints.push(`${leftBelow} of the fields left out are nested: SELECT their parent for a few documents to see them`);
  if (found.isDeeper)
    hints.push(`what is deeper than ${LEVELS_MAX} levels is left out: SELECT its parent for a few documents to see it`);
  return `${hints.join('; ')}.`;
}
