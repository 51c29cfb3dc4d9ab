import { quoteName, quoteText } from '../sql/names.ts';
import type { Ask } from './relation.ts';

/**
 * Lengths of time in Parquet: the format has no type for them, so Arrow writes whole numbers, and their unit into its own
 * schema beside them, a FlatBuffer as base64.
 */

const KEY = 'ARROW:schema';
const SCHEMA_BYTES_MAX = 4 * 1024 * 1024;
const FIELDS_MAX = 10_000;
const NAME_BYTES_MAX = 1_000;
/** The place of what is read in its table: of a message, a schema, a field, and a length of time. */
const [HEADER, FIELDS, NAME, TYPE_KIND, TYPE, UNIT] = [2, 1, 0, 2, 3, 0];
const DURATION = 18;
/** By their number, with how many an hour has. */
const UNITS: readonly (readonly [unit: string, hour: string])[] = [
  ['seconds', '3600'],
  ['milliseconds', '3600000'],
  ['microseconds', '3600000000'],
  ['nanoseconds', '3600000000000'],
];
const MILLISECONDS = 1;
const SHOWN = 10;

/** What to tell of the columns of a file that are lengths of time. */
export async function durationNotes(ask: Ask, path: string): Promise<string[]> {
  const [found] = await ask(
    `SELECT decode(value) FROM parquet_kv_metadata(${quoteText(path)}) WHERE key = encode(${quoteText(KEY)}) AND octet_length(value) < ${SCHEMA_BYTES_MAX} LIMIT 1`,
  );
  const units = durationsIn(Buffer.from(String(found?.[0] ?? ''), 'base64'));
  const notes = [...units].map(([name, at]) => {
    const [unit, hour] = UNITS[at] ?? [];
    return `${quoteName(name)} has lengths of time in ${unit}: ${quoteName(name)} / ${hour} is hours.`;
  });
  return notes.slice(0, SHOWN);
}

/** The units of the columns of an Arrow schema that are lengths of time; those before what is no schema. */
export function durationsIn(bytes: Buffer): Map<string, number> {
  const units = new Map<string, number>();
  try {
    // A message may begin with a mark, and with its length.
    const start = bytes.readUInt32LE(0) === 0xffff_ffff ? 8 : 4;
    const message = start + bytes.readUInt32LE(start);
    const schema = follow(bytes, placeIn(bytes, message, HEADER));
    const fields = follow(bytes, placeIn(bytes, schema, FIELDS));
    const count = Math.min(bytes.readUInt32LE(fields), FIELDS_MAX);
    for (let index = 0; index < count; index++) {
      const field = follow(bytes, fields + 4 + 4 * index);
      const kind = placeIn(bytes, field, TYPE_KIND);
      if (kind === 0 || bytes[kind] !== DURATION) continue;
      const name = follow(bytes, placeIn(bytes, field, NAME));
      const unit = placeIn(bytes, follow(bytes, placeIn(bytes, field, TYPE)), UNIT);
      const length = bytes.readUInt32LE(name);
      // Many fields may have one and the same name, however long it is.
      if (length > NAME_BYTES_MAX) continue;
      const text = bytes.toString('utf8', name + 4, name + 4 + length);
      units.set(text, unit === 0 ? MILLISECONDS : bytes.readUInt16LE(unit));
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return units;
}

/** The place of a field of a table; 0: it has none, and its default counts. */
function placeIn(bytes: Buffer, table: number, field: number): number {
  const offsets = table - bytes.readInt32LE(table);
  const at = 4 + 2 * field;
  const offset = at < bytes.readUInt16LE(offsets) ? bytes.readUInt16LE(offsets + at) : 0;
  return offset === 0 ? 0 : table + offset;
}

/** The place that one leads to. */
function follow(bytes: Buffer, place: number): number {
  return place + bytes.readUInt32LE(place);
}
