import { isObject, type JsonObject, type JsonValue, parseJson } from '../../contract/json/json.ts';
import { createPace } from '../../contract/turns/turns.ts';
import { isFormKey, meaningOf, meaningOfText } from '../sources/extended-json.ts';
import { isSpace, itemsOf, type JsonPart, linesIn } from './json-parts.ts';

/** MongoDB's extended JSON in files: what mongoexport and the like write. */

const [LF, QUOTE, COLON, OPEN, CLOSE] = [0x0a, 0x22, 0x3a, 0x7b, 0x7d];
const [OPEN_LIST, BACKSLASH] = [0x5b, 0x5c];
/** How the forms begin, and nearly nothing else does. */
const MARK = Buffer.from('"$');
const ID = Buffer.from('"_id"');
/** The longest key of a form, with its quotes and more. */
const KEY_BYTES = 24;
/** How many places are looked at before others get their turn. */
const MARKS_AT_ONCE = 64;
const UTF8_BYTES_MAX = 3;
/** How deep forms are looked for to tell what a file is. */
const LOOKED_DEPTH = 20;
const FIRST_ITEMS = 100;
const ITEM_BYTES = 64 * 1024;
/** A form holds one object at most, and no list. */
const FORM_DEPTH = 2;

/** Reads parts of JSON; if the first tells that the file is extended JSON (an `_id` is a form, or a field has nothing else), as the values that it stands for. */
export class ExtendedParts {
  #isExtended: boolean | undefined;
  #isFound = false;

  async *read(parts: AsyncIterable<JsonPart>): AsyncGenerator<JsonPart> {
    for await (const part of parts) {
      this.#isExtended ??= part.bytes.indexOf(MARK) >= 0 && isExtended(firstItems(part));
      const read = this.#isExtended ? await withoutForms(part) : undefined;
      this.#isFound ||= read !== undefined;
      yield read ?? part;
    }
  }

  warnings(): string[] {
    return this.#isFound
      ? [
          'The file is MongoDB extended JSON: {"$oid": …}, {"$date": …}, {"$numberLong": …} and the like are read as the values that they stand for.',
        ]
      : [];
  }
}

/** The first documents of a part, but for those that are large or broken. */
function firstItems(part: JsonPart): JsonObject[] {
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

function isExtended(documents: readonly JsonObject[]): boolean {
  const counts = new Map<string, { forms: number; others: number }>();
  const walk = (value: JsonValue, path: string, depth = 0): void => {
    if (value === null || depth > LOOKED_DEPTH) return;
    const count = counts.get(path) ?? { forms: 0, others: 0 };
    counts.set(path, count);
    const isForm = isObject(value) && meaningOf(value as JsonObject) !== undefined;
    if (isForm) count.forms += 1;
    else count.others += 1;
    if (Array.isArray(value)) for (const item of value) walk(item, `${path}[]`, depth + 1);
    else if (isObject(value) && !isForm) {
      for (const [key, member] of Object.entries(value as JsonObject)) {
        walk(member, `${path}.${JSON.stringify(key)}`, depth + 1);
      }
    }
  };
  for (const document of documents) {
    const id = Object.hasOwn(document, '_id') ? document['_id'] : undefined;
    if (isObject(id) && meaningOf(id as JsonObject) !== undefined) return true;
    walk(document, '');
  }
  return [...counts.values()].some(({ forms, others }) => forms > 0 && others === 0);
}

/** A part with the values in place of the forms; undefined: it has none. Only what may be a form is looked at. */
async function withoutForms(part: JsonPart): Promise<JsonPart | undefined> {
  const { bytes } = part;
  let written = Buffer.alloc(0);
  let [to, copied, marks] = [0, 0, 0];
  const pace = createPace();
  const write = (from: number, until: number, text: string) => {
    const most = until - from + UTF8_BYTES_MAX * text.length;
    // Nearly all forms are longer than what they mean.
    if (to + most > written.length) {
      const wider = Buffer.allocUnsafe(to + most + bytes.length - copied + (bytes.length >> 3));
      written.copy(wider, 0, 0, to);
      written = wider;
    }
    to += bytes.copy(written, to, from, until);
    to += written.write(text, to);
  };
  for (let mark = bytes.indexOf(MARK); mark >= 0; mark = bytes.indexOf(MARK, mark + 1)) {
    marks += 1;
    const turn = marks % MARKS_AT_ONCE === 0 ? pace() : undefined;
    if (turn !== undefined) await turn;
    const form = formWith(bytes, mark);
    // One within another was read with it.
    if (form === undefined || form.start < copied) continue;
    write(copied, form.start, form.text);
    copied = form.end;
  }
  if (to === 0) return undefined;
  write(copied, bytes.length, '');
  return { ...part, bytes: written.subarray(0, to) };
}

interface Form {
  start: number;
  end: number;
  /** What stands in its place, in as many lines. */
  text: string;
}

/** The form whose first key begins at a place. */
function formWith(bytes: Buffer, mark: number): Form | undefined {
  const start = lastBefore(bytes, mark);
  if (bytes[start] !== OPEN) return undefined;
  const keyEnd = endOfPlainText(bytes, mark);
  const key = keyEnd < 0 || keyEnd - mark > KEY_BYTES ? '' : bytes.toString('latin1', mark + 1, keyEnd);
  if (!isFormKey(key)) return undefined;
  const simple = simpleForm(bytes, key, keyEnd);
  const end = simple?.end ?? endOfForm(bytes, start);
  if (end < 0) return undefined;
  const meaning = simple === undefined ? meaningOfSource(bytes.toString('utf8', start, end)) : simple.meaning;
  if (meaning === undefined) return undefined;
  const text = isNumber(meaning) && isOfTopId(bytes, start) ? `"${meaning}"` : meaning;
  return { start, end, text: simple === undefined ? text + '\n'.repeat(linesIn(bytes, start, end)) : text };
}

/** What bytes that are not UTF-8 would mean is not known. */
function meaningOfSource(source: string): string | undefined {
  return source.includes('\ufffd') ? undefined : meaningOfText(source);
}

/** Most forms: the key and a text, both plain, with no space between. */
function simpleForm(
  bytes: Buffer,
  key: string,
  keyEnd: number,
): { end: number; meaning: string | undefined } | undefined {
  const from = bytes[keyEnd + 2] === QUOTE ? keyEnd + 2 : keyEnd + 3;
  if (bytes[keyEnd + 1] !== COLON || bytes[from] !== QUOTE || (from > keyEnd + 2 && !isSpace(bytes[from - 1])))
    return undefined;
  const to = endOfPlainText(bytes, from);
  if (to < 0 || bytes[to + 1] !== CLOSE || bytes[from - 1] === LF) return undefined;
  return { end: to + 2, meaning: meaningOf({ [key]: bytes.toString('latin1', from + 1, to) }) };
}

/** Where the text ends that begins at a place, if it has only ASCII and no escapes; -1: it has others. */
function endOfPlainText(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return -1;
  }
  return -1;
}

const isNumber = (text: string) => /^-?\d/.test(text);

/** The place of the last byte before a place that is no white space, or -1. */
function lastBefore(bytes: Buffer, at: number): number {
  let before = at - 1;
  while (before >= 0 && isSpace(bytes[before])) before -= 1;
  return before;
}

/** Whether the value that begins at a place is the `_id` of a document, as its first field. */
function isOfTopId(bytes: Buffer, at: number): boolean {
  const colon = lastBefore(bytes, at);
  const keyEnd = lastBefore(bytes, colon) + 1;
  if (bytes[colon] !== COLON || !bytes.subarray(Math.max(0, keyEnd - ID.length), keyEnd).equals(ID)) return false;
  const open = lastBefore(bytes, keyEnd - ID.length);
  const before = lastBefore(bytes, open);
  // Documents stand beside each other without a comma, which all other objects have.
  return bytes[open] === OPEN && (before < 0 || bytes[before] === CLOSE);
}

/** Where an object ends that is no deeper than forms are; -1: it is, or does not end. */
function endOfForm(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === OPEN_LIST) return -1;
    if (byte === OPEN) {
      depth += 1;
      if (depth > FORM_DEPTH) return -1;
    } else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (byte === QUOTE) {
      at += 1;
      while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== LF) at += bytes[at] === BACKSLASH ? 2 : 1;
    }
  }
  return -1;
}
