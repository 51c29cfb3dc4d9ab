import { isObject, type JsonObject, type JsonValue, parseJson, setField } from '../../../contract/json/json.ts';
import { STRAYS_COLUMN, stepsOf } from '../../../contract/strays.ts';
import { EXTRA_COLUMN, ID_COLUMN, quoteText, TIME_COLUMN } from '../sql/names.ts';
import { merge } from '../values/strays.ts';

/*
 * An export to Parquet has what fits no column beside these: as JSON, in two columns that documents cannot have. Loaded
 * again, it goes back to where it was. Files of others may have columns of these names, which are fields then.
 */

export const BESIDE: readonly string[] = [STRAYS_COLUMN, EXTRA_COLUMN];

/** What the metadata of a Parquet file says of an export of a collection. */
const MARK = { key: 'colloquy', value: 'collection' };

/** The option of COPY that marks a file as an export of a collection. */
export const AS_COLLECTION = `KV_METADATA {${MARK.key}: ${quoteText(MARK.value)}}`;

/** SQL for one row if a Parquet file is an export of a collection. */
export function isCollectionSql(path: string): string {
  return `SELECT 1 FROM parquet_kv_metadata(${quoteText(path)}) WHERE key = encode(${quoteText(MARK.key)}) AND value = encode(${quoteText(MARK.value)}) LIMIT 1`;
}

/** Fields that are told in columns of their own, or are no fields at all. */
const OWN = [ID_COLUMN, TIME_COLUMN, '_meta'];

/**
 * Puts texts of the columns `BESIDE` into the document of their row; returns why that cannot be done. Nothing that has a
 * column is replaced by `_extra`.
 */
export function mergeBeside(
  document: JsonObject,
  texts: readonly unknown[],
  columns: ReadonlySet<string>,
): string | undefined {
  for (const [at, name] of BESIDE.entries()) {
    const text = texts[at];
    if (typeof text !== 'string') continue;
    const found = objectIn(text);
    if (found === undefined) return `has a text in ${JSON.stringify(name)} that is no JSON object`;
    for (const [key, value] of Object.entries(found)) {
      const told = `has a value in ${JSON.stringify(name)} for ${JSON.stringify(key.slice(0, 100))}, which`;
      if (name === EXTRA_COLUMN) {
        if (columns.has(key) || OWN.includes(key)) return `${told} is a column`;
        setField(document, key, value);
        continue;
      }
      const steps = stepsOf(key);
      if (OWN.includes(steps[0] ?? '') || !isPlaceIn(document, steps)) return `${told} is no place in it`;
      merge(document, new Map([[key, value]]));
    }
  }
  return undefined;
}

/** What to know of such columns where they are fields, as in CSV, whose documents are others anyway. */
export function besideNotes(names: readonly string[]): string[] {
  return names
    .filter((name) => BESIDE.includes(name))
    .map(
      (name) =>
        `The column "${name}" of the file is a field of that name, as text. If it is from an export, load the collection's JSON lines instead: they have its values in their place.`,
    );
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether there is an object for the last step of a place, or an item of a list. */
function isPlaceIn(document: JsonObject, steps: readonly string[]): boolean {
  let holder: JsonValue = document;
  for (const [index, step] of steps.entries()) {
    if (Array.isArray(holder)) {
      if (!/^\d{1,9}$/.test(step) || Number(step) >= holder.length) return false;
      holder = holder[Number(step)] ?? null;
    } else if (isObject(holder)) holder = (Object.hasOwn(holder, step) ? holder[step] : null) ?? null;
    else return false;
    if (index === steps.length - 1) return true;
  }
  return false;
}
