import { isObject, type JsonObject, type JsonValue } from '../../../contract/json/json.ts';
import { STRAYS_COLUMN } from '../../../contract/strays.ts';
import type { NewDocument } from '../../engine.ts';
import { EXTRA_COLUMN, foldName, ID_COLUMN, quoteName, TIME_COLUMN } from '../sql/names.ts';
import { opaqueText } from '../sql/opaque-text.ts';
import { fieldsFromJson, type Intake, isFieldName, type Shape, shapeToJson, widen } from '../values/shape.ts';
import { computedTimeIn } from '../values/time-text.ts';
import { typeOf } from '../values/types.ts';

/** The columns of a collection's table. */
export interface TableShape {
  /** By field name, in the order the fields were first seen. */
  readonly columns: ReadonlyMap<string, Shape>;
  /** Whether there is an `_extra` column for fields that cannot have a column of their own. */
  readonly extra: boolean;
  /** Whether text that is a time by ISO 8601 makes a column of times. */
  readonly times: boolean;
  /** The columns that have, or had, values that do not fit: these are in the `_strays` column, which is there with the first. */
  readonly strays: ReadonlySet<string>;
  /** Keys in `_extra` that differ from a column only in case: the first that came, some hundred at most. */
  readonly spellings?: ReadonlySet<string>;
}

/** Fields past this many share the `_extra` column. */
const COLUMNS_MAX = 500;
const SPELLINGS_MAX = 100;

/**
 * A column of the table, never of its view: a hash of the id (`hashOf`), because searching the ids themselves unpacks
 * them all. In a row that is in the trash it holds the number of the deletion instead, which is below every hash, so
 * whoever looks for an id does not find it. No version has ever allowed a field to have a column of this name.
 */
export const HASH_COLUMN = '_meta';
const RESERVED: ReadonlySet<string> = new Set([ID_COLUMN, TIME_COLUMN, EXTRA_COLUMN, STRAYS_COLUMN, HASH_COLUMN]);

export const NO_COLUMNS: TableShape = {
  columns: new Map(),
  extra: false,
  times: false,
  strays: new Set(),
};
const NO_KEYS: readonly string[] = [];
export const FITS: Fitting = { extraKeys: NO_KEYS, hasStrays: false };

const HASHES_FROM = '9223372036854775808::UBIGINT';

/**
 * SQL for the hash of an id, a UBIGINT of 2^63 or more. It is stored, and MD5 never changes, unlike the engine's own
 * `hash`. The shifted value equals `md5_number_lower`, a macro that goes through 128-bit text and takes four times as
 * long.
 */
export function hashOf(id: string): string {
  return `((md5_number(${id}) >> 64)::UBIGINT | ${HASHES_FROM})`;
}

/**
 * SQL condition for the rows with this id, given as SQL: a text without U+0000 (`opaque-text.ts`). By the hash it is found in
 * a collection of any order; where ids grow with time, as those that are made do, blocks and files are left out by the id.
 */
export function hasId(id: string): string {
  return `${quoteName(HASH_COLUMN)} = ${hashOf(id)} AND ${quoteName(ID_COLUMN)} = ${id}`;
}

/** A row's id, to be compared with: as SQL. */
export const COMPARED_ID = opaqueText(quoteName(ID_COLUMN));

/** SQL condition for a row that is not in the trash. */
export const IS_LIVE = `${quoteName(HASH_COLUMN)} >= ${HASHES_FROM}`;

/** Column names as SQL sees them, in order. */
export function columnNames(table: TableShape): string[] {
  return [ID_COLUMN, TIME_COLUMN, ...table.columns.keys(), ...lastColumns(table)];
}

/** The columns of a table, as SQL that creates it. */
export function columnDefinitions(table: TableShape): string {
  return [
    `${quoteName(ID_COLUMN)} VARCHAR NOT NULL`,
    `${quoteName(TIME_COLUMN)} TIMESTAMP WITH TIME ZONE NOT NULL`,
    `${quoteName(HASH_COLUMN)} UBIGINT NOT NULL`,
    ...[...table.columns].map(([name, shape]) => `${quoteName(name)} ${typeOf(shape)}`),
    ...lastColumns(table).map((name) => `${quoteName(name)} JSON`),
  ].join(', ');
}

/** Those that stay behind all fields that come later. */
export function lastColumns({ extra, strays }: TableShape): string[] {
  return [...(extra ? [EXTRA_COLUMN] : []), ...(strays.size > 0 ? [STRAYS_COLUMN] : [])];
}

/** A table's shape, and the columns that do not hold all of their values in it. */
export interface Retyped {
  shape: TableShape;
  retyped: readonly string[];
}

/** What storing a document takes beside its columns. */
export interface Fitting {
  /** Keys whose values go to `_extra`. */
  readonly extraKeys: readonly string[];
  /** Whether some of its values do not fit their columns. */
  readonly hasStrays: boolean;
}

/** Widens a table's columns, document by document. */
export interface TableWidening {
  /** Makes room for a document, whose computed times get the zone that its columns have; `declared` as in `NewDocument`. */
  add(fields: JsonObject, declared?: NewDocument['declared']): Fitting;
  /** The table; the very one given at the start if nothing changed. */
  result(): TableShape;
  /** How often a document changed something. */
  readonly changes: number;
}

export function widenTable(table: TableShape): TableWidening {
  const columns = new Map(table.columns);
  const folded = new Set([...columns.keys()].map(foldName));
  const spellings = new Set(table.spellings);
  const intake: Intake = { misfits: 0, times: table.times };
  const strays = new Set(table.strays);
  const { times } = table;
  let { extra } = table;
  let changes = 0;

  const canAdd = (key: string) =>
    columns.size < COLUMNS_MAX && isFieldName(key) && !RESERVED.has(foldName(key)) && !folded.has(foldName(key));

  return {
    add(fields, declared) {
      let extraKeys: string[] | undefined;
      const count = intake.misfits;
      for (const key of Object.keys(fields)) {
        const before = columns.get(key);
        if (before === undefined && !canAdd(key)) {
          extraKeys ??= [];
          extraKeys.push(key);
          if (spellings.size < SPELLINGS_MAX && !spellings.has(key) && folded.has(foldName(key))) {
            spellings.add(key);
            changes += 1;
          }
          continue;
        }
        const already = intake.misfits;
        const type = declared?.get(key);
        if (type === 'datetime') fields[key] = computedTimeIn(fields[key] ?? null, before);
        intake.declared = type;
        const after = widen(before ?? 'null', fields[key], intake);
        if (intake.misfits > already && !strays.has(key)) {
          strays.add(key);
          changes += 1;
        }
        if (after === before) continue;
        if (before === undefined) folded.add(foldName(key));
        columns.set(key, after);
        changes += 1;
      }
      if (extraKeys !== undefined && !extra) {
        extra = true;
        changes += 1;
      }
      const hasStrays = intake.misfits > count;
      return hasStrays || extraKeys !== undefined ? { extraKeys: extraKeys ?? NO_KEYS, hasStrays } : FITS;
    },
    result: () => (changes > 0 ? { columns, extra, times, strays, spellings } : table),
    get changes() {
      return changes;
    },
  };
}

/** Of the rules by which documents became the columns of a stored shape, for versions that have others. */
const FORM = 2;

/** A table's shape as JSON, to be stored. */
export function tableShapeToJson(table: TableShape): JsonObject {
  const columns = [...table.columns].map(([key, shape]): JsonValue => [key, shapeToJson(shape)]);
  const [spellings, strays] = [[...(table.spellings ?? [])], [...table.strays]];
  return {
    form: FORM,
    columns,
    extra: table.extra,
    ...(table.times ? { times: true } : {}),
    ...(strays.length > 0 ? { strays } : {}),
    ...(spellings.length > 0 ? { spellings } : {}),
  };
}

/** Reads what `tableShapeToJson` wrote. Throws `TypeError` on anything else. */
export function tableShapeFromJson(json: JsonValue): TableShape {
  if (!isObject(json) || !Array.isArray(json['columns'])) throw new TypeError('a stored shape is malformed');
  const { columns, extra, times, strays, spellings } = json;
  return {
    columns: fieldsFromJson(columns),
    extra: extra === true,
    times: times === true,
    strays: textsOf(strays),
    spellings: textsOf(spellings),
  };
}

function textsOf(json: JsonValue | undefined): Set<string> {
  return new Set(Array.isArray(json) ? json.filter((one) => typeof one === 'string') : []);
}
