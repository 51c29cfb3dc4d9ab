import { ApiError } from '../../../contract/errors.ts';
import { between } from '../../../contract/text.ts';
import { isDamage, isDiskFull, readEngineError } from '../connections/engine-error.ts';
import { TO_INT } from '../sql/compat/casts.ts';
import { TIME_OF } from '../sql/compat/times.ts';
import { isCompared } from '../sql/corrections/names.ts';
import { isDuration, noTimeIn, timeWays } from '../sql/corrections/times.ts';
import { TYPES_INSTEAD } from '../sql/dialects.ts';
import { EXTRA_COLUMN, foldName, jsonPath, type NamedTable, OWN_COLUMNS, quoteText } from '../sql/names.ts';
import type { Statement } from '../sql/statement.ts';
import { COLON_INSTEAD, isReserved } from '../sql/syntax-hints.ts';
import { endOfName, shortenCandidates } from '../sql/text-arguments.ts';
import { type Token, tokens } from '../sql/tokens.ts';
import { listAdvice, noListIn } from './list-errors.ts';
import { missingColumn, missingInTable, sayFields } from './missing-fields.ts';
import { noZoneIn } from './zone-errors.ts';

/** What is known of a failed statement. */
export interface Failure {
  statement: Statement;
  tables: readonly NamedTable[];
  /** Maps a byte offset in the text that the engine was given to one in the statement's own text. */
  originOf(offset: number): number | undefined;
  /** The text that was sent, if it calls macros. */
  withMacros?: string;
}

const INTERNAL_NAMES: [RegExp, string][] = [
  [/(?:"_colloquy"|_colloquy)\./g, ''],
  [/(?:"_(?:data|meta)"|_(?:data|meta))\.(?:"[^"]*"|\w+)/g, 'collection'],
  [/_colloquy\b/g, 'the database'],
  // As the scan of a lake has it.
  [/c_[0-9a-f]{16}(?!\w)/g, 'collection'],
];

/** The rest of a collection's name that is broken across two lines of a drawn box. */
const BROKEN_NAME = /\.?\bc_[0-9a-f]{16}\b/g;

/** Whether no longer name ends at `at`. The n of a literal \n, as in the text of a graph, belongs to none. */
function beginsName(text: string, at: number): boolean {
  return text[at] === '"' || !/\w/.test(text[at - 1] ?? '') || text.startsWith('\\n', at - 2);
}

/** The engine's text without our internal names; drawn boxes (of plans) keep their width. */
export function withoutInternalNames(text: string): string {
  const isDrawn = text.includes('│');
  const hidden = (name: string, by: string) => (isDrawn ? by.padEnd(name.length) : by);
  const cleaned = INTERNAL_NAMES.reduce((left, [pattern, by]) => {
    return left.replace(pattern, (name, at: number) => (beginsName(left, at) ? hidden(name, by) : name));
  }, text);
  if (!isDrawn) return cleaned;
  return cleaned
    .split('│')
    .map((cell) => (cell.trim() === '_data' ? cell.replace('_data', hidden('_data', '')) : cell))
    .join('│')
    .replace(BROKEN_NAME, (name) => hidden(name, 'collection'));
}

const DATE_PART = /^(?:year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?$/i;

const isMark = (token: Token | undefined, marks: string) => token?.kind === 'punctuation' && marks.includes(token.text);

/** What a name that is not a column was probably meant to be, judging by how it is written. */
function writtenFor(message: string, { body }: Statement, tables: readonly NamedTable[]): string {
  const name = missingColumn(message) ?? between(message, 'Referenced table "', '" not found');
  if (name === undefined) return '';
  const columns = new Set(tables.flatMap((table) => table.columns().map(foldName)));
  const list = [...tokens(body)];
  const isBehindColon = (token: Token, index: number) =>
    token.text === name && isMark(list[index - 1], ':') && columns.has(foldName(list[index - 2]?.text ?? ''));
  if (list.some(isBehindColon)) return `\n${COLON_INSTEAD}`;
  const quoted = list.findIndex(({ text }) => text === `"${name}"`);
  if (quoted !== -1 && isCompared(list, quoted)) {
    return `\nDouble quotes name a field. A text stands in single ones: ${quoteText(name)}.`;
  }
  if (/^rownum$/i.test(name)) {
    return '\nThere is no ROWNUM: end the query with LIMIT 10; row_number() OVER (ORDER BY x) numbers rows.';
  }
  if (!DATE_PART.test(name)) return '';
  return `\nA part of a time comes first, as text: date_trunc('${name.toLowerCase()}', t), date_diff('day', t1, t2).`;
}

const TIME_TYPE = '(DATE|TIME|TIMESTAMP(?: WITH TIME ZONE)?)';
const TEXT_LEFT = new RegExp(`^Cannot (?:compare|mix) values of type VARCHAR and(?: type)? ${TIME_TYPE} `);
const TEXT_RIGHT = new RegExp(`^Cannot (?:compare|mix) values of type ${TIME_TYPE} and(?: type)? VARCHAR `);

/** Text that is compared with a time: a name in a statement's body, from `start` to `end`. */
export interface ComparedText {
  name: string;
  start: number;
  end: number;
  /** The type that it has to be cast to. */
  type: string;
}

/** Thrown where a cast would do. */
export class ComparedTextError extends ApiError {
  readonly compared: ComparedText;
  constructor(compared: ComparedText, ...rest: ConstructorParameters<typeof ApiError>) {
    super(...rest);
    this.compared = compared;
  }
}

/** The text that an error says is compared with a time, as far as it is a name; `at` is the offset of the operator. */
function comparedText(message: string, { body }: Statement, at: number | undefined): Partial<ComparedText> | undefined {
  const left = TEXT_LEFT.exec(message)?.[1];
  const other = left ?? TEXT_RIGHT.exec(message)?.[1];
  if (other === undefined) return undefined;
  // A date is its midnight, and no text loses its hour.
  const type = other === 'TIME' ? other : 'TIMESTAMPTZ';
  const list = [...tokens(body)];
  const from = at === undefined ? -1 : Buffer.from(body).subarray(0, at).toString().length;
  const found = list.findIndex(({ start, end }) => start <= from && from < end);
  // The engine turns NOT a < b around, and says where NOT is.
  const isNot = list[found]?.text.toLowerCase() === 'not';
  const operator = isNot ? list.findIndex((token, index) => index > found && isMark(token, '=<>!')) : found;
  const [start, end] = (operator < 0 ? undefined : nameBeside(list, operator, left === undefined ? 1 : -1)) ?? [];
  return start === undefined || end === undefined ? { type } : { name: body.slice(start, end), start, end, type };
}

function castForTime({ name, type }: Partial<ComparedText>): string {
  const cast = `CAST(${name ?? 'x'} AS ${type})`;
  return `\n${name ?? 'One side'} is text: write ${cast}, or TRY_${cast} if some values are no times.`;
}

/** Where the name, with those before its dots, stands on one side of a token. */
function nameBeside(list: readonly Token[], operator: number, step: 1 | -1): [start: number, end: number] | undefined {
  const isName = (token: Token | undefined) =>
    token?.kind === 'quoted' || (token?.kind === 'word' && !isReserved(token));
  // An operator of two characters is two tokens.
  let at = operator + step;
  while (isMark(list[at], '=<>!')) at += step;
  const last = endOfName(list, at, step, isName);
  if (last === -1) return undefined;
  // An item of a list, or a call.
  if (isMark(list[Math.max(at, last) + 1], '[(')) return undefined;
  return [list[Math.min(at, last)]?.start ?? 0, list[Math.max(at, last)]?.end ?? 0];
}

function noTime(message: string, { timeCasts: [name = 'x'] }: Statement): string {
  const text = noTimeIn(message);
  if (text === undefined) return '';
  if (isDuration(text)) return `\n${quoteText(text)} is a length of time: CAST(${name} AS INTERVAL) reads it.`;
  const [format, other] = timeWays([text]).flatMap(({ formats }) => formats);
  if (format !== undefined) {
    const or = other === undefined ? '' : `, or ${quoteText(other)} if the month is first`;
    const read = `\nRead such texts with strptime(${name}, ${quoteText(format)})${or}`;
    if (format.includes('%y')) return `${read}.`;
    return `${read}, and others beside them too: coalesce(TRY_CAST(${name} AS TIMESTAMPTZ), strptime(…)).`;
  }
  return `\nNot every value${name === 'x' ? '' : ` of ${name}`} is a time: TRY_CAST(${name} AS TIMESTAMPTZ) is NULL for those that are none.`;
}

/** Where a field without a column may be: in any table with `_extra`. */
function extraFields(message: string, tables: readonly NamedTable[]): string {
  const name = missingColumn(message) ?? missingInTable(message);
  if (name === undefined || !tables.some((table) => table.columns().includes(EXTRA_COLUMN))) return '';
  return `\nFields without a column of their own are in ${EXTRA_COLUMN}: ${EXTRA_COLUMN}->>${quoteText(jsonPath(name))}`;
}

type Says = (message: string) => boolean;

const isAboutJson: Says = (message) =>
  /^Malformed JSON|\bnot JSON$|cast value to (?:numerical|decimal)/.test(message) ||
  (message.startsWith('No function matches') && /\bJSON\b/.test(message.split('\n', 1)[0] ?? ''));

const isListWanted: Says = (message) =>
  (between(message, 'Unimplemented type for cast (', ')')?.endsWith('[]') ?? false) ||
  /^destination type \S+\[\]/.test(
    message.slice(message.indexOf("can't be cast to the ") + "can't be cast to the ".length),
  );

/** A call of a function of times, in the message that there is none for its arguments. */
const TIME_OF_NUMBER =
  /'(?:year|month|day|hour|minute|week|quarter|dayofweek|date_part|date_trunc|strftime|monthname|dayname)\((?:STRING_LITERAL, )?(?:BIGINT|DOUBLE)[,)]/;

/** A number where a time is needed, or beside one. */
const isNumberAsTime: Says = (message) => {
  const [said = ''] = message.split('\n', 1);
  if (said.startsWith('No function matches')) return TIME_OF_NUMBER.test(said);
  if (/^Could not convert string '\d{4}-\d\d-\d\d[^']*' to (?:INT|DOUBLE)\w*$/.test(said)) return true;
  const isOfTypes =
    said.startsWith('Cannot compare values of type ') || said.startsWith('Unimplemented type for cast (');
  return isOfTypes && /BIGINT|INTEGER|DOUBLE|DECIMAL/.test(said) && /DATE|TIMESTAMP/.test(said);
};

/** Days that are added to a time as a number, and functions of other dialects for that. */
const TIMES_COMPUTED =
  /^No function matches the given name and argument types '(?:(?:date|timestamp|datetime)_?(?:sub|add|trunc|diff)\(|[+-]\(TIMESTAMP(?: WITH TIME ZONE)?, INTEGER_LITERAL\))/;

const NAME_OF_TIME =
  /^Could not convert string '(?:January|February|March|April|May|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)' to INT/i;

/** Advice for messages that do not say what to do. */
const ADVICE: [Says, string][] = [
  [
    (message) => /^Could not parse string .* according to format specifier "[^"%]*"$/.test(message),
    "\nThe codes of a format have a %: strptime(x, '%d.%m.%Y %H:%M:%S').",
  ],
  [
    (message) => message.startsWith('Could not parse string '),
    '\ntry_strptime(x, …) is NULL for texts of another form: count these.',
  ],
  [isAboutJson, "\nA column is JSON: cast it first. A number: TRY_CAST(x->>'$' AS DOUBLE); a text: (x->>'$')."],
  [
    (message) => /^Referenced column "undefined" (?:was )?not found/i.test(message),
    '\nNull and missing are the same: write NULL instead of UNDEFINED.',
  ],
  [
    isNumberAsTime,
    "\nA number is made a time by what it counts since 1970: to_timestamp(n) if seconds, TIMESTAMP_MILLIS(n) if milliseconds, TIMESTAMP_MICROS(n) if microseconds; one such as 20240105 by strptime(CAST(n AS VARCHAR), '%Y%m%d').",
  ],
  [
    (message) => message.startsWith('Parameter not supported in ORDER BY'),
    "\nA parameter stands for a value, not for a field: name the field, or choose one by CASE :col WHEN 'a' THEN a WHEN 'b' THEN b END.",
  ],
  [
    (message) => message.startsWith('Unimplemented type for cast (TIMESTAMP WITH TIME ZONE -> TIME)'),
    '\nThe time of day in UTC is x::TIMESTAMP::TIME.',
  ],
  [
    (message) => TIMES_COMPUTED.test(message),
    "\nWrite t + INTERVAL 1 DAY, t - INTERVAL 1 DAY, date_trunc('day', t) and date_diff('day', t1, t2).",
  ],
  [
    (message) => message.includes('"strftime(VARCHAR, STRING_LITERAL)"'),
    "\nThe time is text: strftime(x::TIMESTAMP, '%Y-%m-%d').",
  ],
  [
    (message) => message.startsWith('UNNEST not supported here'),
    '\nPut it into FROM, and write what it is called there: FROM t, UNNEST(t.list) AS u(item). Instead of x IN UNNEST(list) write x = ANY(list).',
  ],
  [
    (message) => /^No function matches the given name and argument types 'to_timestamp\([^\n]*, /.test(message),
    "\nto_timestamp(n) takes seconds since 1970. Text is read by strptime(x, '%d.%m.%Y'); as text a time is strftime(to_timestamp(n), '%Y-%m').",
  ],
  [
    (message) => /^No function matches the given name and argument types 'decode\((?!BLOB)/.test(message),
    "\nWrite CASE x WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 0 END.",
  ],
  [
    (message) => /^UNNEST(?:\(\) can only be applied to lists| requires a single list)/.test(message),
    '\nAn object has its fields as o.a; for its keys and values write FROM t, UNNEST(map_entries(o)) AS u(e), with e.key and e.value. JSON is cast: UNNEST(TRY_CAST(x AS JSON[])) AS u(item).',
  ],
  [
    (message) => /^Could not convert string '-?\d[\d.]*,[\d.,]+' to/.test(message),
    "\nIt has a comma. If that is the decimal point of all values: CAST(replace(replace(x, '.', ''), ',', '.') AS DOUBLE); if it parts thousands: CAST(replace(x, ',', '') AS DOUBLE).",
  ],
  [
    (message) => message.startsWith('Could not convert string ') && message.includes("' to BOOL"),
    "\nA condition is true or false, and this is text: compare it, x = 'yes', with the values that it has.",
  ],
  [
    (message) => /^Could not convert string '[^']*' to INT32 when casting from/.test(message),
    "\nText beside a number is read as one. To compare it as text, write the number so: x = '7', x IN ('7', '8').",
  ],
  [
    (message) => NAME_OF_TIME.test(message),
    "\nThe parts of a time are numbers: month(t) = 6. Their names are monthname(t) = 'June' and dayname(t) = 'Monday'.",
  ],
  [
    (message) => message.startsWith('struct_extract with an integer key'),
    "\nA key of an object is a text, 'k1' and not 1: a parameter for it has the type string.",
  ],
  [
    (message) => message.startsWith('Cannot unpivot columns of types '),
    `\nName columns of one type, ON a, b, or cast them: ON CAST(COLUMNS(* EXCLUDE (${OWN_COLUMNS.join(', ')})) AS VARCHAR).`,
  ],
  [
    (message) => message.startsWith('Key name for struct_extract needs'),
    '\nFor a key that is not constant, go through JSON: to_json(object)->>key.',
  ],
  [
    (message) => message.includes('json_group_object'),
    '\nMAP_AGG and OBJECT_AGG (json_group_object) take no DISTINCT, FILTER or ORDER BY, and no key that is null: filter and order in a subquery.',
  ],
];

const MESSAGES: [RegExp, string][] = [
  // The place in the text, drawn.
  [/(according to format specifier "[^"\n]*")\n.*/s, '$1'],
  [/^Max expression depth limit.*/s, 'The SQL is nested too deeply. Simplify it, or split it with WITH.'],
  [/ Use "SET [^"]*"[^.]*\.?/g, ''],
  [/(?:^|\n)\* SET [^\n]*/g, ''],
  [/\nPossible solutions:.*/s, ''],
  [/ You might need to add explicit type casts\./, ''],
  [
    /\nEither add it to the GROUP BY.*/s,
    '\nGROUP BY ALL groups by all that are no aggregates; any_value(x) takes one of several, and arg_max(x, y) that of the greatest y.',
  ],
  // Back to the spelling in SQL.
  [/\bo_vals\b/g, 'values'],
];

const EXPECTED_FORMAT = ', expected format is (';

/** A message without the only format that a cast to a time reads. */
function withoutFormat(message: string): string {
  const start = message.indexOf(EXPECTED_FORMAT);
  const end = start === -1 ? -1 : message.indexOf(')', start);
  return end === -1 ? message : message.slice(0, start) + message.slice(end + 1);
}

function cleanMessage(text: string): string {
  const type = between(text, 'Type with name ', ' does not exist!');
  const instead = TYPES_INSTEAD.get(type?.toLowerCase() ?? '');
  if (instead !== undefined) return `There is no type ${type}: write ${instead}.`;
  const message = withoutFormat(text);
  return withoutInternalNames(MESSAGES.reduce((left, [pattern, by]) => left.replace(pattern, by), message)).trim();
}

const MEMORY =
  /^Out of Memory:|"exception_type\\{0,8}":\\{0,8}"Out of Memory|bad_alloc|failed to allocate|max_temp_directory_size|Cannot create a string longer/i;

/** The database is of no use until it is opened again. */
const BROKEN = /^FATAL$/i;
/** A check within the engine failed: it cannot run this statement, and runs others as before. */
const FLAWED = /^INTERNAL$/i;

const CAST_MACRO = new RegExp(`(?:${TO_INT}|${TIME_OF})\\(`);

/**
 * Where the cast of a failed conversion stands. The engine counts in the text of a macro if the cast is in one: then it is
 * that of the only cast to INT or TIME, or not known.
 */
function castAt(offset: number, withMacros: string | undefined): number | undefined {
  if (withMacros === undefined) return offset;
  const there = Buffer.from(withMacros).toString('utf8', offset, offset + 'TRY_CAST'.length);
  if (/^(?:::|cast|try_cast)/i.test(there)) return offset;
  const [before = '', ...calls] = withMacros.split(CAST_MACRO);
  return calls.length === 1 ? Buffer.byteLength(before) : undefined;
}

/** The `ApiError` for an engine error: its message with a hint, and its position in the caller's text. */
export function toQueryError(error: unknown, failure: Failure): ApiError {
  if (error instanceof ApiError) return error;
  const { kind, message: text, offset: found } = readEngineError(error);
  if (MEMORY.test(`${kind}: ${text}`)) {
    return new ApiError(
      'resource_exceeded',
      'The query needs more memory than the engine may use. Filter or aggregate earlier, or select fewer columns; or an operator allows more with --memory-mb.',
      { cause: error },
    );
  }
  if (isDiskFull(error)) {
    return new ApiError(
      'storage_full',
      'The query needs space on the disk for what does not fit into memory, and the disk is full. Free some space there, filter or aggregate earlier, or select fewer columns.',
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
  const offset = found === undefined || kind !== 'Conversion' ? found : castAt(found, failure.withMacros);
  const known = offset === undefined ? undefined : failure.originOf(offset);
  const cleaned = cleanMessage(text);
  const said = noListIn(cleaned, failure.statement) ?? noZoneIn(cleaned, failure.statement) ?? cleaned;
  const { message, hint, at } = sayFields(said, failure.statement, failure.tables);
  const origin = known ?? (at === undefined ? undefined : failure.statement.offsetOf(at));
  const position = origin === undefined ? {} : failure.statement.locate(origin);
  const advice = isListWanted(message)
    ? listAdvice(failure.statement)
    : (ADVICE.find(([says]) => says(message))?.[1] ?? '');
  const written = writtenFor(message, failure.statement, failure.tables);
  const compared = comparedText(message, failure.statement, origin);
  const ofTimes = compared === undefined ? noTime(message, failure.statement) : castForTime(compared);
  const hints = `${advice}${ofTimes}${written === '' ? hint : written}${extraFields(message, failure.tables)}`;
  const short = shortenCandidates(message, failure.statement, origin);
  const told = ['query_error', `${short}${hints}`, { ...position, cause: error }] as const;
  return compared?.name === undefined
    ? new ApiError(...told)
    : new ComparedTextError(compared as ComparedText, ...told);
}

/** The `ApiError` for a parser error of the engine; its position is a byte offset in the statement's own text. */
export function toParseError(message: string, offset: number, statement: Statement): ApiError {
  const position = Number.isSafeInteger(offset) ? statement.locate(offset) : {};
  return new ApiError('query_error', cleanMessage(message), position);
}
