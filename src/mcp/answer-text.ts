import { withoutTrailing } from '../contract/text.ts';

/**
 * The text of an answer, for a model to read: a table has its columns named once and no needless quotes, which takes a
 * fifth to a half fewer tokens than a JSON array for each row. JSON without its outer braces is the rest: for records no
 * other form measured was shorter.
 */

/** Fields of an answer with rows or a list that its text says otherwise. */
const TOLD_OTHERWISE = new Set(['columns', 'types', 'rows', 'returned', 'total', 'at_least', 'truncated', 'offset']);
/** The type of a column whose values are nested is cut to its first word: the values show what is in them. */
const TYPE_CHARS_MAX = 24;
/** Records become a table if so many of its cells are filled. */
const FILLED_MIN = 0.6;

type Data = Readonly<Record<string, unknown>>;

/** The data of an answer as text. It contains line breaks only between its parts: within values they are escaped. */
export function answerText(data: Data): string {
  if (isTable(data)) return rowsText(data);
  const items: unknown = data['items'];
  if (!isListOf(items, isAny)) return fieldsOf(data).join('\n');
  const list = isTabular(items) ? recordsText(items) : items.map((item) => JSON.stringify(item));
  const { items: _, ...others } = data;
  return [...list, countText(items, data), ...fieldsOf(others)].join('\n');
}

function fieldsOf(data: Data): string[] {
  const isList = Object.hasOwn(data, 'returned');
  return Object.entries(data).flatMap(([key, value]) =>
    isList && TOLD_OTHERWISE.has(key) ? [] : [fieldText(key, value)],
  );
}

interface Table extends Data {
  columns: unknown[];
  rows: unknown[][];
}

function isTable(data: Data): data is Table {
  return Array.isArray(data['columns']) && isListOf(data['rows'], Array.isArray);
}

function rowsText(data: Table): string {
  const types = Array.isArray(data['types']) ? data['types'].map(String) : [];
  const head = data.columns.map((name, index) =>
    [nameText(String(name)), shortType(types[index] ?? '')].join(' ').trim(),
  );
  const table = [head.join(','), ...data.rows.map((row) => rowText(row, types)), countText(data.rows, data)];
  const fields = Object.entries(data);
  const at = fields.findIndex(([key]) => key === 'columns');
  const told = (some: [string, unknown][]) =>
    some.filter(([key]) => !TOLD_OTHERWISE.has(key)).map(([key, value]) => fieldText(key, value));
  return [...told(fields.slice(0, at)), ...table, ...told(fields.slice(at))].join('\n');
}

/** How many rows or records there are, and which of them these are. */
function countText(shown: readonly unknown[], { total, at_least: atLeast, offset = 0 }: Data): string {
  const all = total ?? atLeast ?? shown.length;
  if (Number(offset) > 0 && shown.length === 0)
    return `(0 from ${offset}: ${atLeast === undefined ? 'the result ends' : 'what is kept ends'} at ${all})`;
  const from = Number(offset) > 0 ? `${offset} to ${Number(offset) + shown.length - 1}` : `${shown.length}`;
  if (Number(offset) === 0 && atLeast === undefined && all === shown.length) return `(${all})`;
  return `(${from} of ${atLeast === undefined ? '' : 'at least '}${all})`;
}

/** Values separated by commas: text of other columns than those of text is quoted where it could be a value of another type. */
function rowText(row: readonly unknown[], types: readonly string[]): string {
  return row
    .map((value, index) => {
      const type = types[index] ?? '';
      return cellText(type.startsWith('TIMESTAMP') ? shortTime(value) : value, type === '' || type === 'VARCHAR');
    })
    .join(',');
}

const FRACTION = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{1,9})(Z?)$/;

/** A time without the zeros at the end of its fraction. */
function shortTime(value: unknown): unknown {
  const [, time, fraction = '', zone = ''] = typeof value === 'string' ? (FRACTION.exec(value) ?? []) : [];
  if (time === undefined) return value;
  const digits = withoutTrailing(fraction, '0');
  return digits === '' ? `${time}${zone}` : `${time}.${digits}${zone}`;
}

const AMBIGUOUS = /^(null|true|false|[+-]?(\d[\d.]*|\.\d+)(e[+-]?\d+)?)$/i;

function cellText(value: unknown, isText: boolean): string {
  if (typeof value !== 'string') return JSON.stringify(value ?? null);
  const isPlain = value !== '' && !/^[\s[{(]|[",\n\r]|\s$/.test(value);
  return isPlain && value !== 'null' && (isText || !AMBIGUOUS.test(value)) ? value : JSON.stringify(value);
}

/** The name of a column, which its type follows. */
const nameText = (name: string): string => (/[\s()]/.test(name) ? JSON.stringify(name) : cellText(name, true));

function shortType(type: string): string {
  const nested = /^(STRUCT|MAP)\(.*\)((?:\[\d*\])*)$/s.exec(type);
  return oneLine(nested !== null && type.length > TYPE_CHARS_MAX ? `${nested[1]}${nested[2]}` : type);
}

/** A text that holds names of fields: what breaks lines in these is escaped, so that none looks like a line of ours. */
export function oneLine(text: string): string {
  return text.replace(/[\n\r\t]/g, (character) => JSON.stringify(character).slice(1, -1));
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}

const isAny = (_: unknown): _ is unknown => true;
const isRecord = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function keysOf(records: readonly Data[]): string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))];
}

function isTabular(value: unknown): value is readonly Data[] {
  if (!isListOf(value, isRecord) || value.length < 2) return false;
  const filled = value.reduce((sum, record) => sum + Object.keys(record).length, 0);
  return filled >= value.length * keysOf(value).length * FILLED_MIN;
}

/** Records as a table; a field that one does not have is empty. */
function recordsText(records: readonly Data[]): string[] {
  const keys = keysOf(records);
  const cell = (record: Data, key: string) => (Object.hasOwn(record, key) ? cellText(record[key], false) : '');
  return [
    keys.map((key) => cellText(key, true)).join(','),
    ...records.map((one) => keys.map((key) => cell(one, key)).join(',')),
  ];
}

/** One field: a list of rows or records has a line for each of them. */
function fieldText(key: string, value: unknown): string {
  // What a delete has done is a sentence, and quotes in it would have to be escaped.
  if (key === 'done' && typeof value === 'string') return oneLine(value);
  const name = `${JSON.stringify(key)}:`;
  if (isListOf(value, isRecord) && value.length > 0) {
    return [name, ...value.map((item) => JSON.stringify(item))].join('\n');
  }
  if (isListOf(value, Array.isArray) && value.length > 0) {
    return [name, ...value.map((row) => rowText(row, []))].join('\n');
  }
  return `${name}${JSON.stringify(value)}`;
}
