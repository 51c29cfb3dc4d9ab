import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { parseJson, parseJsonInTurns } from '../../contract/json/json.ts';

/** Enough for a write of 10 MiB with all its quotes escaped. */
export const MESSAGE_BYTES_MAX = 24 * 1024 * 1024;

const LONG_NUMBER = /\d{16}/;

/**
 * Parses a message, keeping the integers in a tool's arguments exact: `bigint` beyond 2^53, so that no document loses
 * digits on its way in. Throws `SyntaxError`, or the SDK's error if it is not a message.
 */
export function parseMessage(text: string): JSONRPCMessage {
  const message = parseJSONRPCMessage(JSON.parse(text));
  return LONG_NUMBER.test(text) ? withExactArguments(message, parseJson(text)) : message;
}

/**
 * Parses JSON text that should be a message or a batch, unchecked, with exact integers as well, while others get their
 * turn. Throws `SyntaxError`.
 */
export async function parseMessages(text: string): Promise<unknown> {
  const exact = await parseJsonInTurns(text);
  if (!LONG_NUMBER.test(text)) return exact;
  return Array.isArray(exact) ? exact.map(withExactArgumentsOnly) : withExactArgumentsOnly(exact);
}

/** A message with numbers as the SDK would read them, except in a tool's arguments. */
function withExactArgumentsOnly(exact: unknown): unknown {
  const { method, params } = (exact ?? {}) as { method?: unknown; params?: { arguments?: unknown } | null };
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return withDoubles(exact);
  const { arguments: args, ...others } = params;
  const frame = withDoubles({ ...(exact as object), params: null }) as object;
  return {
    ...frame,
    params: { ...(withDoubles(others) as object), ...(args === undefined ? {} : { arguments: args }) },
  };
}

function withDoubles(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(withDoubles);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withDoubles(member)]));
}

/** Only in the arguments: such a number in an id or a token is returned as the SDK would. */
function withExactArguments<T>(message: T, exact: unknown): T {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown };
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return message;
  const { arguments: args } = (exact as { params: { arguments?: unknown } }).params;
  return { ...message, params: { ...params, arguments: args } };
}
