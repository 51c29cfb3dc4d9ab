import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { parseJson } from '../../contract/json.ts';

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
 * Parses JSON text that should be a message or a batch, unchecked, with exact integers as well. Throws `SyntaxError`.
 */
export function parseMessages(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!LONG_NUMBER.test(text)) return plain;
  const exact: unknown = parseJson(text);
  if (!Array.isArray(plain)) return withExactArguments(plain, exact);
  return plain.map((message, index) => withExactArguments(message, (exact as unknown[])[index]));
}

/** Only in the arguments: such a number in an id or a token is returned as the SDK would. */
function withExactArguments<T>(message: T, exact: unknown): T {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown };
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return message;
  const { arguments: args } = (exact as { params: { arguments?: unknown } }).params;
  return { ...message, params: { ...params, arguments: args } };
}
