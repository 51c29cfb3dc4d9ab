import { ApiError } from '../../../contract/errors.ts';
import { nearest } from '../../../contract/nearest.ts';
import { foldName, jsonPath, type NamedTable, quoteName, quoteText } from '../sql/names.ts';
import type { Statement } from '../sql/statement.ts';
import { COLON_INSTEAD } from '../sql/syntax-hints.ts';
import { shortenCandidates } from '../sql/text-arguments.ts';
import { readEngineError } from '../storage/engine-error.ts';
import { isDamage } from '../storage/storage-errors.ts';
import { EXTRA_COLUMN } from '../tables/columns.ts';

/** What is known of a failed statement. */
export interface Failure {
  statement: Statement;
  tables: readonly NamedTable[];
  /** Maps a byte offset in the text that the engine was given to one in the statement's own text. */
  originOf(offset: number): number | undefined;
}

const MISSING_COLUMN = /^Referenced column "(.*?)" (?:was )?not found/;
const MISSING_TABLE = /^Referenced table "(.*?)" not found/;
const MISSING_IN_TABLE = /^(?:Table|Values list) ".*?" does not have a column named "(.*?)"(?:\n|$)/;

const INTERNAL_NAMES: [RegExp, string][] = [
  // There is no word boundary after a literal \n, as in the text of a graph.
  [/"_colloquy"\.|(?:\b|(?<=\\n))_colloquy\./g, ''],
  [/(?:"_(?:data|meta)"|(?:\b|(?<=\\n))_(?:data|meta))\.(?:"[^"]*"|\w+)/g, 'collection'],
  [/\b_colloquy\b/g, 'the database'],
];

/** Parts of a name that is broken across two lines of a drawn box. */
const BROKEN_NAMES: [RegExp, string][] = [
  [/(?<=│\s*)_data(?=\s*│)/g, ''],
  [/\.?\bc_[0-9a-f]{16}\b/g, 'collection'],
];

/** The engine's text without our internal names; drawn boxes (of plans) keep their width. */
export function withoutInternalNames(text: string): string {
  const isDrawn = text.includes('│');
  return [...INTERNAL_NAMES, ...(isDrawn ? BROKEN_NAMES : [])].reduce(
    (cleaned, [pattern, by]) => cleaned.replace(pattern, (name) => (isDrawn ? by.padEnd(name.length) : by)),
    text,
  );
}

function nearestColumns(message: string, tables: readonly NamedTable[]): string {
  const name = MISSING_COLUMN.exec(message)?.[1];
  if (name === undefined) return '';
  const columns = tables.flatMap((table) => [...table.columns()]);
  const near = nearest(name, columns).filter((column) => !message.includes(`"${column}"`));
  return near.length === 0 ? '' : `\nDid you mean ${near.map((column) => `"${column}"`).join(' or ')}?`;
}

const FIELDS_MAX = 20;
const DATE_PART = /^(?:year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?$/i;

/** Matches the end of what precedes a text in a comparison. */
const COMPARED = /(?:[=<>]|\blike|\bin\s*\([^()]*)\s*$/i;

/** What a name that is not a column was probably meant to be, judging by how it is written. */
function writtenFor(message: string, { body }: Statement, tables: readonly NamedTable[]): string {
  const name = (MISSING_COLUMN.exec(message) ?? MISSING_TABLE.exec(message))?.[1];
  if (name === undefined) return '';
  const columns = new Set(tables.flatMap((table) => table.columns().map(foldName)));
  const paths = [...body.matchAll(/(\w+)\s*:\s*(\w+)/g)];
  if (paths.some(([, object = '', field]) => field === name && columns.has(foldName(object))))
    return `\n${COLON_INSTEAD}`;
  const [before, ...after] = body.split(`"${name}"`);
  if (after.length > 0 && COMPARED.test(before ?? '')) {
    return `\nDouble quotes name a field. A text stands in single ones: ${quoteText(name)}.`;
  }
  if (!DATE_PART.test(name)) return '';
  return `\nA part of a time comes first, as text: date_trunc('${name.toLowerCase()}', t), date_diff('day', t1, t2).`;
}

/** The fields of the object in which a field was not found, if it is clear which object that is. */
function fieldsBeside(message: string, tables: readonly NamedTable[]): string {
  const [, name] = /^Could not find key "(.*?)" in struct/.exec(message) ?? [];
  if (name === undefined) return '';
  const [, ...told] = [...message.matchAll(/"(.*?)"/g)].map(([, one = '']) => one);
  const objects = tables.flatMap((table) => table.objects?.() ?? []);
  const alike = objects.filter((fields) => !fields.includes(name) && told.every((one) => fields.includes(one)));
  // The engine names those that are close to the one sought, which may be all.
  if (alike.every((fields) => fields.length === told.length)) return '';
  const lists = new Set(alike.map((fields) => fields.slice(0, FIELDS_MAX).map(quoteName).join(', ')));
  const [fields = ''] = lists;
  return lists.size === 1
    ? `\nThe object has ${fields}${(alike[0]?.length ?? 0) > FIELDS_MAX ? ' and more' : ''}.`
    : '';
}

/** Where a field without a column may be: in any table with `_extra`. */
function extraFields(message: string, tables: readonly NamedTable[]): string {
  const name = (MISSING_COLUMN.exec(message) ?? MISSING_IN_TABLE.exec(message))?.[1];
  if (name === undefined || !tables.some((table) => table.columns().includes(EXTRA_COLUMN))) return '';
  return `\nFields without a column of their own are in ${EXTRA_COLUMN}: ${EXTRA_COLUMN}->>${quoteText(jsonPath(name))}`;
}

/** Advice for messages that do not say what to do. */
const ADVICE: [RegExp, string][] = [
  [
    /^Malformed JSON|\bnot JSON$|cast value to (?:numerical|decimal)|No function matches .*\bJSON\b/,
    "\nA column is JSON: cast it first. A number: TRY_CAST(x->>'$' AS DOUBLE); a text: (x->>'$').",
  ],
  [
    /can't be cast to the destination type \S+\[\]|^Unimplemented type for cast \(\S+ -> \S+\[\]\)/,
    '\nIN takes values one by one; with a list in a parameter write x = ANY(:list).',
  ],
  [
    /matches the given name and argument types '(?:date|timestamp|datetime)_?(?:sub|add|trunc|diff)\(/,
    "\nWrite t + INTERVAL 1 DAY, t - INTERVAL 1 DAY, date_trunc('day', t) and date_diff('day', t1, t2).",
  ],
  [/"strftime\(VARCHAR, STRING_LITERAL\)"/, "\nThe time is text: strftime(x::TIMESTAMP, '%Y-%m-%d')."],
  [
    /^Cannot extract field '.*?' from expression ".*?" because it is not a struct/s,
    '\nOf a list x of objects: FROM t, UNNEST(t.x) AS u(item) and item.field, or list_transform(x, lambda one: one.field).',
  ],
  [/^Key name for struct_extract needs/, '\nFor a key that is not constant, go through JSON: to_json(object)->>key.'],
  [
    /json_group_object/,
    '\nMAP_AGG and OBJECT_AGG (json_group_object) take no DISTINCT, FILTER or ORDER BY, and no key that is null: filter and order in a subquery.',
  ],
];

const MESSAGES: [RegExp, string][] = [
  [/^Max expression depth limit.*/s, 'The SQL is nested too deeply. Simplify it, or split it with WITH.'],
  [/ Use "SET [^"]*"[^.]*\.?/g, ''],
  [/(?:^|\n)\* SET [^\n]*/g, ''],
  [/\nPossible solutions:.*/s, ''],
  // Back to the spelling in SQL.
  [/\bo_vals\b/g, 'values'],
];

function cleanMessage(message: string): string {
  return withoutInternalNames(MESSAGES.reduce((text, [pattern, by]) => text.replace(pattern, by), message)).trim();
}

const MEMORY = /^Out of Memory:|bad_alloc|failed to allocate|max_temp_directory_size|Cannot create a string longer/i;

/** The database is of no use until it is opened again. */
const BROKEN = /^FATAL$/i;
/** A check within the engine failed: it cannot run this statement, and runs others as before. */
const FLAWED = /^INTERNAL$/i;

/** The `ApiError` for an engine error: its message with a hint, and its position in the caller's text. */
export function toQueryError(error: unknown, failure: Failure): ApiError {
  if (error instanceof ApiError) return error;
  const { kind, message: text, offset } = readEngineError(error);
  if (MEMORY.test(`${kind}: ${text}`)) {
    return new ApiError(
      'resource_exceeded',
      'The query needs more memory than the engine may use. Filter or aggregate earlier, or select fewer columns.',
      { cause: error },
    );
  }
  // Whoever runs the query names the file.
  if (isDamage(error)) return new ApiError('internal', `A part of the database is damaged: ${text}`, { cause: error });
  if (BROKEN.test(kind)) {
    return new ApiError('internal', 'The SQL engine failed. Try the query in another form.', { cause: error });
  }
  if (FLAWED.test(kind)) {
    const message =
      'The SQL engine fails at this statement because of a flaw of its own. Write it in another form; a parameter may ' +
      'need its type: CAST(:p AS VARCHAR[]).';
    return new ApiError('query_error', message, { cause: error });
  }
  const origin = offset === undefined ? undefined : failure.originOf(offset);
  const position = origin === undefined ? {} : failure.statement.locate(origin);
  const message = cleanMessage(text);
  const advice = ADVICE.find(([pattern]) => pattern.test(message))?.[1] ?? '';
  const written = writtenFor(message, failure.statement, failure.tables);
  const hints = `${advice}${written}${nearestColumns(message, failure.tables)}${extraFields(message, failure.tables)}${fieldsBeside(message, failure.tables)}`;
  const short = shortenCandidates(message, failure.statement.body);
  return new ApiError('query_error', `${short}${hints}`, { ...position, cause: error });
}

/** The `ApiError` for a parser error of the engine; its position is a byte offset in the statement's own text. */
export function toParseError(message: string, offset: number, statement: Statement): ApiError {
  const position = Number.isSafeInteger(offset) ? statement.locate(offset) : {};
  return new ApiError('query_error', cleanMessage(message), position);
}
