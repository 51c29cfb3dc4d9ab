import { STATUS_CODES } from 'node:http';
import * as z from 'zod';
import { ApiError, errorCodeOf } from '../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue, parseJson, parseJsonInTurns } from '../contract/json/json.ts';
import type { Row } from '../contract/row.ts';
import { cut } from '../contract/text.ts';
import { mapInTurns } from '../contract/turns/turns.ts';
import { issuesText } from './request.ts';
import { parseRetryAfter } from './retry.ts';
import type { RawResponse } from './transport.ts';

/** The exchange that an answer belongs to: everything that error messages need. */
export interface Exchange {
  operation: string;
  row: Row;
  /** The address for humans. */
  label: string;
  /** Must never be shown, even if the other side sends it back. */
  apiKey: string;
}

const MESSAGE_CHARS_MAX = 2_000;
const HINTED = /did you mean/i;

function isHtml(text: string): boolean {
  return /^\s*(<!doctype|<html|<head|<body|<\?xml)/i.test(text);
}

/** A message fit for humans and models: no secret, no control characters, no markup, limited in length. */
function safeText(text: string, apiKey: string): string {
  // SQL contains "<" and ">" too, so text counts as markup only if it closes its tags.
  const tags = /<\/[a-z]|<!|\/>/i.test(text) ? /<\/?[a-z!][^<>]*>/gi : /$^/;
  const clean = text
    .replaceAll(apiKey, '[API key]')
    .replace(tags, ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ')
    .trim();
  return cut(clean, MESSAGE_CHARS_MAX);
}

/** The first text that looks like a message, in the places where services and proxies put messages. */
function messageIn(body: JsonValue | undefined): string | undefined {
  if (typeof body === 'string') return body === '' ? undefined : body;
  if (Array.isArray(body)) return messageIn(body[0]);
  if (!isObject(body)) return undefined;
  for (const key of ['message', 'error', 'detail', 'error_description', 'title', 'errors', 'data']) {
    const found = messageIn(body[key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** A long answer must not hold up what else its reader does. */
async function parsedInTurns(text: string): Promise<JsonValue | undefined> {
  try {
    return await parseJsonInTurns(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const WHOLE_CHARS_MAX = 10_000;

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 200) : undefined;
}

/** What is run: a part of it would be another statement. */
function wholeTextIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= WHOLE_CHARS_MAX ? value : undefined;
}

function positionIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}

/** The error for an answer with a status of 400 or more, whatever its body looks like. */
export function readFailure(exchange: Exchange, response: RawResponse, nowMs = Date.now()): ApiError {
  const { status, headers, text } = response;
  const body = isHtml(text) ? undefined : parsed(text);
  const fields: JsonObject = isObject(body) ? body : {};
  const own = messageIn(body) ?? (body === undefined && !isHtml(text) ? text : '');
  const said = safeText(own, exchange.apiKey);
  const name = STATUS_CODES[status] ?? 'an unknown status';
  const message =
    said === ''
      ? `${exchange.operation} failed: ${exchange.label} answered ${status} (${name}) and gave no reason${isHtml(text) ? ', only a web page; a proxy may stand in front of the service' : ''}.`
      : said;
  const code = errorCodeOf(status, fields['type']);
  return new ApiError(code, message, {
    status,
    messageKey: textIn(fields['message_key']),
    line: positionIn(fields['line']),
    column: positionIn(fields['column']),
    correctedSql: wholeTextIn(fields['corrected_sql']),
    traceId: textIn(fields['trace_id']) ?? textIn(headers['x-trace-id']),
    errorId: textIn(fields['error_id']),
    queryId: textIn(fields['query_id']),
    // The only place that reads it from the text: services send nothing else that says so.
    isHinted: HINTED.test(message),
    retryAfterMs: parseRetryAfter(headers['retry-after'], nowMs),
    allow: textIn(headers['allow'])
      ?.split(',')
      .map((method) => method.trim()),
  });
}

function mismatch(exchange: Exchange, response: RawResponse, why: string): ApiError {
  const { operation, label, row } = exchange;
  const done = row.effect === 'read' ? '' : ' The change itself was probably made: look before repeating it.';
  return new ApiError(
    'contract_mismatch',
    `The answer of ${operation} is not what the contract says: ${why}. ${label} may run another version, or be another service.${done}`,
    { status: response.status, traceId: textIn(response.headers['x-trace-id']) },
  );
}

function redirected(exchange: Exchange, response: RawResponse): ApiError {
  let to = 'elsewhere';
  try {
    // Only the origin: the rest of the address may contain a token.
    to = `to ${new URL(String(response.headers.location)).origin}`;
  } catch {}
  return new ApiError(
    'contract_mismatch',
    `Cannot call ${exchange.operation}: ${exchange.label} redirects ${to} (${response.status}), which is not followed because the API key would go with it. Use the final address as the service's URL.`,
    { status: response.status },
  );
}

type Checked = { data: unknown; issues?: never } | { issues: z.core.$ZodIssue[] };

/** Some services send null instead of an empty list. A long list must not hold up what else its reader does. */
async function check(schema: z.ZodType, value: JsonValue): Promise<Checked> {
  if (!(schema instanceof z.ZodArray) || (value !== null && !Array.isArray(value))) return checkItem(schema, value);
  const items = await mapInTurns(value ?? [], (item) => checkItem(schema.element as z.ZodType, item));
  const issues = items.flatMap((item, index) =>
    (item.issues ?? []).map((issue) => ({ ...issue, path: [index, ...issue.path] })),
  );
  return issues.length > 0 ? { issues } : { data: items.map((item) => ('data' in item ? item.data : null)) };
}

function checkItem(schema: z.ZodType, value: JsonValue): Checked {
  const { data, error } = schema.safeParse(value);
  return error === undefined ? { data } : { issues: error.issues };
}

/**
 * The content of a successful answer, without its envelope, checked against the row; unknown keys are kept. The
 * envelope may be present or not, whatever the row says. Throws `contract_mismatch`.
 */
export async function readResult(exchange: Exchange, response: RawResponse): Promise<unknown> {
  const { row } = exchange;
  if (response.status >= 300) throw redirected(exchange, response);
  if (response.text === '') throw mismatch(exchange, response, 'it is empty');
  const body = await parsedInTurns(response.text);
  if (body === undefined) {
    throw mismatch(exchange, response, isHtml(response.text) ? 'it is a web page' : 'it is not JSON');
  }
  const ownsData = row.result instanceof z.ZodObject && Object.hasOwn(row.result.shape, 'data');
  const wrapped = isObject(body) && Object.hasOwn(body, 'data') ? (body['data'] ?? null) : undefined;
  if (wrapped === undefined || ownsData) {
    const bare = await check(row.result, body);
    if (bare.issues === undefined) return bare.data;
    const inner = wrapped === undefined ? bare : await check(row.result, wrapped);
    if (inner.issues === undefined) return inner.data;
    throw mismatch(exchange, response, issuesText(bare.issues));
  }
  const inner = await check(row.result, wrapped);
  if (inner.issues === undefined) return inner.data;
  throw mismatch(exchange, response, issuesText(inner.issues));
}
