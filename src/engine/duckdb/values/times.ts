import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { TimeFormat } from '../../engine.ts';
import { quoteText } from '../sql/names.ts';

/** A pattern that takes the zone, or the offset, from the text. */
const HAS_ZONE = /%[zZ]/;

/** Parses texts as times, in microseconds since the epoch; null for a text that does not match the pattern. */
export async function readTimes(
  connection: DuckDBConnection,
  texts: readonly string[],
  { pattern, timeZone }: TimeFormat,
): Promise<(bigint | null)[]> {
  if (pattern.includes('\0') || timeZone.includes('\0')) throw notATimeFormat('it holds a NUL character');
  const time = `try_strptime(t, ${quoteText(pattern)})`;
  const instant = HAS_ZONE.test(pattern.replaceAll('%%', '')) ? time : `timezone(${quoteText(timeZone)}, ${time})`;
  try {
    const result = await connection.runAndReadAll(
      `SELECT epoch_us(${instant}) FROM (SELECT unnest(from_json($1, '["VARCHAR"]')) AS t)`,
      [JSON.stringify(texts)],
    );
    return result.getRows().map(([micros]) => (typeof micros === 'bigint' ? micros : null));
  } catch (error) {
    const message = error instanceof Error ? error.message.replaceAll('\\"', '"') : String(error);
    if (/format specifier/i.test(message)) throw notATimeFormat(`the pattern ${JSON.stringify(pattern)} is not one`);
    if (/Unknown TimeZone/i.test(message)) throw notATimeFormat(`the zone ${JSON.stringify(timeZone)} is not known`);
    throw error;
  }
}

function notATimeFormat(why: string): ApiError {
  return new ApiError('invalid_input', `Cannot read times: ${why}.`);
}
