import { parseJson } from '../../contract/json/json.ts';
import { separatorCounts } from '../../contract/separators.ts';
import type { FileFormat } from '../../mcp/tools/file.ts';

/* What a file is whose name does not say so, if its first bytes leave no doubt. */

const MARK = '\ufeff';
const XML = /^<(?:\?xml\s|[a-z][\w.:-]{0,99}[\s/>])/i;
const HTML = /^<html[\s>]/i;
const JSON_BEGIN = /^(?:\{\s*["}]|\[\s*[[{\]"])/;
/** Names of two columns. */
const TWO_NAMES = /^"?\p{L}[\p{L}\d_ ]{0,99}"?,"?\p{L}[\p{L}\d_ ]{0,99}"?$/u;
const RECORDS_MIN = 3;
/** Text that is divided into lines to tell whether it is CSV. */
const CHARS_MAX = 16 * 1024;

/** The format of a file by its beginning; `isWhole`: that is all there is. Undefined: nobody can tell. */
export function formatByContent(head: Buffer, isWhole: boolean): FileFormat | undefined {
  // Bytes that are no text are refused with what they are.
  if (head.includes(0)) return undefined;
  const text = head.toString().replace(MARK, '').trimStart();
  if (XML.test(text)) return HTML.test(text) ? undefined : 'xml';
  if (JSON_BEGIN.test(text)) return isJsonLines(text) ? 'jsonl' : 'json';
  return isCsv(text.slice(0, CHARS_MAX), isWhole && text.length <= CHARS_MAX) ? 'csv' : undefined;
}

/** Whether the first line is an object, and another one begins with the next. */
function isJsonLines(text: string): boolean {
  const end = text.indexOf('\n');
  if (end < 0 || !text.startsWith('{') || !text.slice(end).trimStart().startsWith('{')) return false;
  try {
    parseJson(text.slice(0, end));
    return true;
  } catch {
    return false;
  }
}

/** Whether the first records have one separator equally often, and in prose or a log it would not be so often. */
function isCsv(text: string, isWhole: boolean): boolean {
  const { records, rest } = separatorCounts(text);
  const all = rest !== undefined && isWhole ? [...records, rest.counts] : records;
  const [first = [], ...others] = all;
  if (all.length < RECORDS_MIN) return false;
  const [line = ''] = text.split(/[\r\n]/, 1);
  return first.some((times, place) => {
    const isComma = place === 0;
    const isEnough = times > (isComma ? 1 : 0) || (isComma && TWO_NAMES.test(line));
    return times > 0 && isEnough && others.every((other) => other[place] === times);
  });
}
