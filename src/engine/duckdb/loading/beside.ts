import { isObject, type JsonObject, type JsonValue, parseJson, setField } from '../../../contract/json/json.ts';
import { STRAYS_COLUMN, stepsOf } from '../../../contract/strays.ts';
import { EXTRA_COLUMN } from '../sql/names.ts';
import { merge, type Strays } from '../values/strays.ts';

/*
 * An export to Parquet has what fits no column beside these: as JSON, in two columns that documents cannot have. Loaded
 * again, it goes back to where it was.
 */

export const BESIDE: readonly string[] = [STRAYS_COLUMN, EXTRA_COLUMN];

/** Puts texts of the columns `BESIDE` into the document of their row; returns why that cannot be done. */
export function mergeBeside(document: JsonObject, texts: readonly unknown[]): string | undefined {
  for (const [at, name] of BESIDE.entries()) {
    const text = texts[at];
    if (typeof text !== 'string') continue;
    const found = objectIn(text);
    if (found === undefined) return `has a text in ${JSON.stringify(name)} that is no JSON object`;
    if (name === EXTRA_COLUMN) for (const [key, value] of Object.entries(found)) setField(document, key, value);
    else {
      const strays: Strays = new Map(Object.entries(found));
      for (const [place, value] of strays) {
        if (!isPlaceIn(document, stepsOf(place)))
          return `has a value in ${JSON.stringify(name)} for ${JSON.stringify(place.slice(0, 100))}, which is no place in it`;
        merge(document, new Map([[place, value]]));
      }
    }
  }
  return undefined;
}

/** CSV has nested values as text, too, so that its documents are others anyway. */
export function besideNotes(names: readonly string[]): string[] {
  return names
    .filter((name) => BESIDE.includes(name))
    .map(
      (name) =>
        `The column "${name}" of the file is a field of that name, as text. If it is from an export, the JSON lines of that have its values in their place.`,
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
