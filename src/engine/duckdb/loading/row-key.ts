import type { JsonObject } from '../../../contract/json/json.ts';
import { ID_COLUMN } from '../sql/names.ts';
import type { RowAsDocument, RowKey } from './relation.ts';

/** The most bytes that an id of the engine's callers has; longer ones are refused by whoever reads the row. */
export const ID_BYTES_MAX = 1_024;

const TIME =
  '[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-][01][0-9]:[0-5][0-9])?)?';
const MICROS = '-?[0-9]{1,18}';
/** The years 1 to 9999, a day off either end. */
const MICROS_MIN = '-62135510400000000';
const MICROS_MAX = '253402214400000000';

/** SQL for the event times of rows, and the condition for those that only a document can tell. */
export interface TimeSource {
  time: string;
  isOdd: string;
}

/** The event times that texts are: ISO 8601 as it is usually written, or a number of microseconds. */
export function textTime(sql: string): TimeSource {
  const isText = `(regexp_full_match(${sql}, '${TIME}') AND TRY_CAST(left(${sql}, 10) AS DATE) BETWEEN DATE '0001-01-02' AND DATE '9999-12-30')`;
  const micros = integerTime(`TRY_CAST(${sql} AS BIGINT)`);
  const isMicros = `regexp_full_match(${sql}, '${MICROS}')`;
  return {
    time: `CASE WHEN ${isMicros} THEN ${micros.time} ELSE TRY_CAST(${sql} AS TIMESTAMP WITH TIME ZONE) END`,
    isOdd: `(${sql} IS NOT NULL AND NOT coalesce(CASE WHEN ${isMicros} THEN NOT ${micros.isOdd} ELSE ${isText} END, false))`,
  };
}

export function integerTime(sql: string): TimeSource {
  return {
    time: `make_timestamptz(${sql})`,
    isOdd: `(${sql} IS NOT NULL AND ${sql} NOT BETWEEN ${MICROS_MIN} AND ${MICROS_MAX})`,
  };
}

export function instantTime(sql: string): TimeSource {
  const time = `CAST(${sql} AS TIMESTAMP WITH TIME ZONE)`;
  const isInside = `${time} BETWEEN make_timestamptz(${MICROS_MIN}) AND make_timestamptz(${MICROS_MAX})`;
  return {
    time: `CASE WHEN isfinite(${sql}) THEN ${time} END`,
    isOdd: `(${sql} IS NOT NULL AND NOT (isfinite(${sql}) AND ${isInside}))`,
  };
}

/** `own`, `idField`: SQL for the text of `_id`, and of the field that is the id; undefined: there is none. */
export function keyOf({
  own,
  idField,
  time,
  faults,
}: {
  own: string | undefined;
  idField: string | undefined;
  time: TimeSource | undefined;
  faults: readonly string[];
}): RowKey {
  const all = [...faults];
  const id = idField ?? own;
  if (id !== undefined) all.push(`(${id} = '' OR strlen(${id}) > ${ID_BYTES_MAX})`);
  if (idField !== undefined) all.push(`${idField} IS NULL`);
  if (idField !== undefined && own !== undefined) all.push(`(${own} <> ${idField})`);
  if (time !== undefined) all.push(time.isOdd);
  return {
    id,
    time: time?.time,
    isUnsure: all.length === 0 ? undefined : `(${all.map((one) => `coalesce(${one}, false)`).join(' OR ')})`,
  };
}

/** A row's document with the id that the field gives it; `idText`: the field's text, undefined without such a field. */
export function withId(
  { at, document, why }: { at: number; document: JsonObject; why: string | undefined },
  idField: string | undefined,
  idText: string | null | undefined,
): RowAsDocument {
  const own = document[ID_COLUMN];
  const ownId = typeof own === 'string' ? own : null;
  if (why !== undefined || idField === undefined) return { at, id: ownId, why, document };
  const name = JSON.stringify(idField);
  if (idText === null || idText === undefined || idText === '') {
    return { at, id: ownId, why: `has no text or number in the field ${name}, which is to be its _id`, document };
  }
  if (ownId !== null && ownId !== idText) {
    return { at, id: ownId, why: `has an _id already, which is not its ${name}`, document };
  }
  return { at, id: idText, why: undefined, document: { ...document, [ID_COLUMN]: idText } };
}
