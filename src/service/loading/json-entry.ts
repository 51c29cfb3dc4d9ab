import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject, parseJsonInTurns, setField } from '../../contract/json/json.ts';
import { endOfItem, ITEM_BYTES_MAX } from '../../contract/json/json-scan.ts';
import { problemOfIdField, withIdField } from '../ingest/id-field.ts';
import type { JsonItem } from './json-parts.ts';
import type { LoadOptions } from './loading.ts';

const OPEN = 0x7b;
const LIST_PROBLEM =
  'is no JSON object, but a list: each row needs the names of its fields, as pandas writes with orient="records"';
/** A longer text that does not end is not parsed to say why. */
const CHECKED_BYTES_MAX = 64 * 1024;

/** A document of a part, or why it is none. */
export type Entry = { line: number } & ({ document: JsonObject } | { problem: string });

/** Reads a document, within the limits of one. */
export async function entryOf(
  bytes: Buffer,
  { start, end, line }: JsonItem,
  { idField, fileField }: Pick<LoadOptions, 'idField' | 'fileField'>,
): Promise<Entry> {
  const own = bytes.subarray(start, end);
  // First, since of one that is too long only the beginning is here.
  if (own.length > ITEM_BYTES_MAX)
    return { line, problem: `has more than ${ITEM_BYTES_MAX} bytes (10 MiB), the most that one document may have` };
  if (!isUtf8(own)) return { line, problem: 'is not text in UTF-8' };
  // An object's limits first, so that neither parsing it nor walking over it takes long.
  const isWhole = own[0] !== OPEN || endOfItem(own, 0) > 0;
  if (!isWhole && own.length > CHECKED_BYTES_MAX)
    return { line, problem: 'does not end, or is nested too deeply, or holds too many values' };
  try {
    const value = await parseJsonInTurns(own.toString());
    if (!isWhole) return { line, problem: 'is nested too deeply, or holds too many values' };
    if (Array.isArray(value)) return { line, problem: LIST_PROBLEM };
    if (!isObject(value)) return { line, problem: 'is no JSON object' };
    const problem = problemOfIdField(value, idField);
    if (problem !== undefined) return { line, problem };
    const document = withIdField(value, idField) as JsonObject;
    if (fileField !== undefined) {
      const { name, text } = fileField;
      if (Object.hasOwn(document, name))
        return { line, problem: `has a field ${JSON.stringify(name)}, into which the name of the file was to be put` };
      setField(document, name, text);
    }
    return { line, document };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError)
      return { line, problem: `is no JSON: ${error.message}` };
    throw error;
  }
}
