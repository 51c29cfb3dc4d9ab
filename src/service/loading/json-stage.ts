import { isObject, type JsonObject, parseJson } from '../../contract/json/json.ts';
import { itemsOf, type JsonPart } from './json-parts.ts';

/** What files have in common that are written for another program. */

/** How the parts of such a file are read, in order. */
export interface JsonStage {
  read(part: JsonPart): JsonPart | Promise<JsonPart>;
  /** What is told of it, once it was read. */
  warnings(): string[];
}

const FIRST_ITEMS = 100;
const ITEM_BYTES = 64 * 1024;

/** The first documents of a part, but for those that are large or broken. */
export function firstItems(part: JsonPart): JsonObject[] {
  const documents: JsonObject[] = [];
  let seen = 0;
  for (const { start, end } of itemsOf(part)) {
    seen += 1;
    if (seen > FIRST_ITEMS) break;
    if (end - start > ITEM_BYTES) continue;
    try {
      const value = parseJson(part.bytes.toString('utf8', start, end));
      if (isObject(value)) documents.push(value as JsonObject);
    } catch {
      // Why it is none is told when it is added.
    }
  }
  return documents;
}
