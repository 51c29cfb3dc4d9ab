import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { parseJson } from '../../contract/json.ts';

/** A write of 10 MiB with all its quotes escaped still fits; what is longer is no message of ours. */
export const MESSAGE_BYTES_MAX = 24 * 1024 * 1024;

const LONG_NUMBER = /\d{16}/;

/**
 * A message from its JSON text, with the integers of a tool's arguments exact: `bigint` beyond 2^53, so that no document
 * loses digits on its way in. Throws `SyntaxError`, or the SDK's error where it is no message.
 */
export function parseMessage(text: string): JSONRPCMessage {
  const message = parseJSONRPCMessage(JSON.parse(text));
  return LONG_NUMBER.test(text) ? withExactArguments(message, parseJson(text)) : message;
}

/** JSON text that should hold a message or a batch of them, unchecked, with the same integers exact. Throws `SyntaxError`. */
export function parseMessages(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!LONG_NUMBER.test(text)) return plain;
  const exact: unknown = parseJson(text);
  if (!Array.isArray(plain)) return withExactArguments(plain, exact);
  return plain.map((message, index) => withExactArguments(message, (exact as unknown[])[index]));
}

/** Only the arguments: an id or a token with such a number is given back as the SDK would. */
function withExactArguments<T>(message: T, exact: unknown): T {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown };
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) return message;
  const { arguments: args } = (exact as { params: { arguments?: unknown } }).params;
  return { ...message, params: { ...params, arguments: args } };
}
