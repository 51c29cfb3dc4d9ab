/** The keys of every error body. */
export const ERROR_KEYS = [
  'column',
  'error_id',
  'internal_errors',
  'line',
  'message',
  'message_key',
  'query_id',
  'trace_id',
  'type',
];

export function keysOf(value: unknown): string[] {
  return Object.keys(value as object).sort();
}
