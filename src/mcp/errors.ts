import { ApiError, type ErrorCode, IN_CORRECTED, TEXT_SUCH_AS } from '../contract/errors.ts';
import { nearest } from '../contract/nearest.ts';
import type { Row } from '../contract/row.ts';
import { visibleText } from '../contract/visible.ts';
import type { Client } from '../http/client.ts';
import type { Fenced } from './fence.ts';
import type { Deleted } from './in-trash.ts';
import { cutText } from './room.ts';
import { type Arguments, listerOf, nameOf, pathArguments, pathParameters } from './tools/relations.ts';

/** What to do about an error whose message does not say it. */
const NEXT: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'The service does not accept the API key: a human has to set it and restart this server.',
  forbidden: 'The role of the API key does not allow this; a human with an admin key can do it or give the role.',
  query_timeout: 'Filter earlier, aggregate, or read fewer columns, and run it again.',
  query_stopped: 'Tell the human, and do not run it again unless they say so.',
  already_exists: 'Use the one that exists, or choose another name.',
  dependent_resources: 'What depends on it has to go first; ask the human before removing any of it.',
  content_too_large: 'Send less per call: fewer documents or values, or shorter texts.',
  unsupported_media_type: 'This is a fault of the connection, not of the arguments; tell the human.',
  storage_full:
    'The disk is full: nothing of this call was stored, and trying again changes nothing. Ask the human to free some space there.',
  internal: 'Try once more; if it fails again, tell the human, with the trace id.',
  not_ready: 'The service is starting or stopping: try again in a few seconds.',
  connection_failed:
    'The service cannot be reached: try once more, then tell the human; the local service logs to service.log in its data folder.',
  request_timeout: 'The service took too long: ask for less at once, or try again.',
  aborted: 'The call was cancelled; nothing more is done.',
  response_too_large: 'Ask for fewer rows or columns.',
  contract_mismatch: 'The address may belong to another service or version: tell the human.',
};

const CAST_JSON =
  "A column is JSON: cast it first. A number: TRY_CAST(x->>'$' AS DOUBLE); a text: (x->>'$'); a field: (x->>'$.field'); a list: from_json(x, '[\"VARCHAR\"]').";

/** What to do about an SQL error, by patterns of its first line; the first match counts. */
const SQL_NEXT: readonly (readonly [RegExp, string])[] = [
  [
    /" (?:does not exist or )?is not available/,
    'Use another function; files, settings and other systems cannot be reached from SQL.',
  ],
  [/^Malformed JSON|\bnot JSON$|cast value to numerical/, CAST_JSON],
  [/^No function matches [^\n]*\bJSON\b/, CAST_JSON],
  [/at or near "-"/, 'Names with "-" or dots need quotes: "my-ws"."my-coll"; otherwise correct the SQL.'],
  [
    /^Could not convert string '\d{4}-\d\d-\d\d[^']*' to (?:U?INT|HUGEINT|DOUBLE|DECIMAL)/,
    "A time stands beside a number, which has to be one: strptime(CAST(x AS VARCHAR), '%Y%m%d') of a day such as 20240105, to_timestamp(x) of seconds since 1970.",
  ],
  [
    /^Could not convert string/,
    'A text stands where a number is needed: give a parameter as a JSON number or with its type, e.g. "int"; a column of mixed texts by TRY_CAST(x AS DOUBLE), which is NULL for those that are none: count these.',
  ],
];

/** A message that has the function to call. */
const SAYS_ITSELF = /^Function .* (?:Write|Did you mean) /;

/** Messages repeat names and SQL, which can be of any length. */
const MESSAGE_CHARS_MAX = 4_000;
const NAME_CHARS_MAX = 200;

/** The error as an `ApiError`; anything else is this server's own fault, whose details stay in its log. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal', 'The call failed inside the MCP server; its log on stderr has the details.', {
    cause: error,
  });
}

/** What is known beside an error. */
export interface ErrorContext {
  /** Names similar to one that was not found. */
  suggestions?: readonly string[];
  /** The collection that was not found, if it is in the trash. */
  deleted?: Deleted | undefined;
  /** The tool's own advice; a similar name, if there is one, is better advice. */
  next?: string | undefined;
  /** The arguments of the call, which may have the SQL that an error points into. */
  input?: Arguments;
}

/**
 * An error as a result that a model can act on: what failed and why inside the fence, with the place in the SQL, what to
 * do next outside it.
 */
export function presentError(
  tool: string,
  error: ApiError,
  { suggestions = [], deleted, next, input = {} }: ErrorContext = {},
): Fenced {
  const { line, column, correctedSql, traceId, retryAfterMs } = error.details;
  const message = cutText(error.message, MESSAGE_CHARS_MAX);
  const [first = '', ...more] = message.split('\n');
  // What was meant says all that the rest does.
  const said = correctedSql === undefined ? first : (first.split('. ', 1)[0] ?? '');
  const ofCorrected = more.filter((line) => line.startsWith(IN_CORRECTED));
  const names = suggestions.map((name) => cutText(name, NAME_CHARS_MAX));
  const place = line === undefined ? undefined : sqlPlace(input, line, column ?? 1);
  const at = line === undefined || place !== undefined ? '' : ` at line ${line}, column ${column ?? 1}`;
  const text = [`${tool} failed (${error.code})${at}: ${said}`];
  if (place !== undefined) text.push(place);
  if (correctedSql === undefined) text.push(...more);
  else text.push(`${CORRECTED}: ${correctedSql}`, ...ofCorrected);
  if (deleted !== undefined) text.push(deletedLine(deleted));
  if (names.length > 0) text.push(`Did you mean: ${names.join(', ')}`);
  if (traceId !== undefined && TRACED.has(error.code)) text.push(`Trace id: ${traceId}`);
  return {
    text: text.join('\n'),
    data: {
      error: {
        tool,
        code: error.code,
        message: correctedSql === undefined ? message : [said, ...ofCorrected].join('\n'),
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
        ...(correctedSql === undefined ? {} : { corrected_sql: correctedSql }),
        ...(deleted === undefined ? {} : { deleted_at: deleted.entry.deleted_at, trash_id: deleted.entry.id }),
        ...(names.length === 0 ? {} : { did_you_mean: names }),
        ...(traceId === undefined ? {} : { trace_id: traceId }),
      },
    },
    next: deleted === undefined ? nextStep(error, suggestions, next, retryAfterMs) : restoreStep(deleted),
    isError: true,
  };
}

/** What stands before SQL that was not run. */
const CORRECTED = 'Corrected, valid, not run';

/** Errors of the service itself, which a human looks for in its log. */
const TRACED: ReadonlySet<ErrorCode> = new Set(['internal', 'query_stopped', 'contract_mismatch'] as const);

/** So much of a line is shown on either side of the place. */
const PLACE_CHARS = 60;

/** The line of SQL that an error is in, with a caret below its place; undefined if the call has no such SQL. */
function sqlPlace(input: Arguments, line: number, column: number): string | undefined {
  const sql = sqlIn(input);
  const whole = sql?.split(/\r?\n/)[line - 1];
  if (whole === undefined || column < 1 || column > whole.length + 1) return undefined;
  const from = Math.max(0, column - 1 - PLACE_CHARS);
  const before = visibleText(whole.slice(from, column - 1));
  return `  ${before}${visibleText(whole.slice(column - 1, column - 1 + PLACE_CHARS))}\n  ${' '.repeat(before.length)}^`;
}

/** The SQL among the arguments of a call: its only text with that name, at any depth. */
function sqlIn(input: Arguments): string | undefined {
  const found: string[] = [];
  const visit = (value: unknown, depth: number) => {
    if (typeof value !== 'object' || value === null || depth > 4) return;
    for (const [key, one] of Object.entries(value)) {
      if (/^(query|sql)$/.test(key) && typeof one === 'string') found.push(one);
      else visit(one, depth + 1);
    }
  };
  visit(input, 0);
  return found.length === 1 ? found[0] : undefined;
}

/** Ids of entries are the service's own, so they may stand outside the fence. */
function restoreStep({ entry: { id }, lacksWorkspace }: Deleted): string {
  const first = lacksWorkspace ? 'create_workspace with that name, then ' : '';
  return `If it is wanted again: ${first}restore_from_trash ${JSON.stringify({ id })}.`;
}

function deletedLine({ entry: { name, deleted_at: at }, lacksWorkspace }: Deleted): string {
  return lacksWorkspace
    ? `Its collection ${JSON.stringify(name)} is in the trash since ${at}.`
    : `It was deleted at ${at}.`;
}

function nextStep(
  error: ApiError,
  suggestions: readonly string[],
  own: string | undefined,
  retryAfterMs: number | undefined,
): string | undefined {
  if (error.code === 'not_found' && suggestions.length > 0) return 'Call again with one of the names in did_you_mean.';
  if (error.code === 'not_found' && error.details.isHinted === true) return 'Call again with the right name.';
  if (own !== undefined) return own;
  if (error.code === 'not_found') return 'List what exists (list_workspaces, list_collections) and use those names.';
  if (error.code === 'query_error') {
    if (error.details.correctedSql !== undefined) return undefined;
    const [said = ''] = error.message.split('\n', 1);
    if (SAYS_ITSELF.test(said) || error.message.includes(TEXT_SUCH_AS)) return undefined;
    return SQL_NEXT.find(([pattern]) => pattern.test(said))?.[1];
  }
  if (error.code !== 'resource_exceeded') return NEXT[error.code];
  if (retryAfterMs === undefined) return 'A limit is reached: ask for less, or free what the message names.';
  return `Too much at once: try again after ${Math.ceil(retryAfterMs / 1_000)} seconds.`;
}

/**
 * Names similar to the one that was not found. That is the first of the path's parameters whose value is not in the
 * list of existing names. Empty if the message contains a hint already, or nothing is similar.
 */
export async function nearestNames(
  client: Client,
  row: Row,
  args: Arguments,
  error: ApiError,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  if (error.code !== 'not_found' || error.details.isHinted === true) return [];
  for (const parameter of pathParameters(row.path)) {
    const value = args[parameter];
    const lister = listerOf(row.path, parameter);
    if (lister === undefined || typeof value !== 'string') continue;
    try {
      const list = client[lister] as (
        input: Arguments,
        options: { signal?: AbortSignal | undefined },
      ) => Promise<unknown>;
      const items = await list(pathArguments(lister, args), { signal });
      const names = Array.isArray(items) ? items.flatMap((item) => nameOf(item, parameter) ?? []) : [];
      if (!names.includes(value)) return nearest(value, names);
    } catch {
      // The hint is optional: its own failure must not hide the original error.
      return [];
    }
  }
  return [];
}
