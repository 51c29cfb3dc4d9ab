import { ID_COLUMN, TIME_COLUMN } from '../sql/names.ts';
import type { TableShape } from '../tables/columns.ts';
import { type DeclaredShape, isDeclaredShape } from '../values/declared.ts';
import { ITEMS, inside, type Step, VALUES } from '../values/paths.ts';
import { isListShape, isMapShape, isObjectShape, type MapShape, type Shape } from '../values/shape.ts';
import { isTimeShape, type TimeShape, templateOf } from '../values/time-text.ts';

export const Kind = {
  Null: 0,
  Boolean: 1,
  Integer: 2,
  Double: 3,
  String: 4,
  Json: 5,
  List: 6,
  Object: 7,
  Id: 8,
  /** It needs a closer look. */
  Other: 9,
  Time: 10,
  EventTime: 11,
  Map: 12,
  /** An integer of up to 64 bits, or more. */
  Long: 13,
  Declared: 14,
  /** Text in a place that has none yet: one that may be a time needs a closer look. */
  FirstText: 15,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/** A shape, prepared for comparison with text. */
export interface Pattern {
  readonly kind: Kind;
  /** For an object: the fields, their keys as written between quotes, and the position of each; for a map only that. */
  readonly fields: readonly Pattern[];
  readonly keys: readonly (Uint8Array | undefined)[];
  readonly index: ReadonlyMap<string, number>;
  /** For an object: by field, the last object that had it; for a map by key. */
  readonly seen: number[];
  /** Whether the value is the document's id, or its event time, beside being a field. */
  is: 'id' | 'time' | null;
  /** Of a list's items, or of a map's values. */
  readonly element: Pattern | null;
  readonly time: TimePattern | null;
  readonly declared: DeclaredShape | null;
}

/** How a column's times are spelled; `template`: its bytes. */
export interface TimePattern {
  readonly shape: TimeShape;
  readonly template: Uint8Array;
}

const SCALARS = {
  null: Kind.Null,
  boolean: Kind.Boolean,
  int53: Kind.Integer,
  int64: Kind.Long,
  hugeint: Kind.Long,
  double: Kind.Double,
  string: Kind.String,
  json: Kind.Json,
} as const;

/** Fields of documents that are something else, too: as in `DocumentsText`. */
export interface FieldUses {
  idField?: string | undefined;
  timeField?: string | undefined;
}

/** By shape: that of one small document takes longer to make than to use. What was seen in one object is no other's. */
const patterns = new WeakMap<TableShape, Pattern>();

/** The pattern of a table's documents; `before`: what it was before the documents that it is compared with. */
export function patternOf(table: TableShape, uses: FieldUses = {}, before: TableShape = table): Pattern {
  const isUsual = uses.idField === undefined && uses.timeField === undefined && before === table;
  const known = isUsual ? patterns.get(table) : undefined;
  if (known !== undefined) return known;
  const made = makePattern(table, uses, before);
  if (isUsual) patterns.set(table, made);
  return made;
}

function makePattern(table: TableShape, { idField, timeField }: FieldUses, before: TableShape): Pattern {
  const isBoth = (key: string) => key === idField && key === timeField;
  const fields = [...table.columns].map(([key, shape]): [string, Pattern] => [
    key,
    isBoth(key)
      ? pattern(Kind.Other)
      : patternOfColumn(shape, table.times ? (before.columns.get(key) ?? 'null') : shape),
  ]);
  for (const [key, field] of fields) {
    if (key === idField) field.is = 'id';
    else if (key === timeField) field.is = 'time';
  }
  const own = idField === undefined ? [[ID_COLUMN, pattern(Kind.Id)] as const] : [];
  return objectPattern([...own, ...fields, [TIME_COLUMN, pattern(Kind.EventTime)]]);
}

/** Only of a column itself the engine is given what `storedSql` makes its value of. */
function patternOfColumn(shape: Shape, before: Shape): Pattern {
  return isDeclaredShape(shape) ? { ...pattern(Kind.Declared), declared: shape } : patternOfShape(shape, before);
}

function patternOfShape(shape: Shape, before: Shape): Pattern {
  const partBefore = (step: Step) => inside(before, step) ?? 'null';
  if (isListShape(shape)) return pattern(Kind.List, patternOfShape(shape.element, partBefore(ITEMS)));
  if (isObjectShape(shape))
    return objectPattern([...shape.fields].map(([key, one]) => [key, patternOfShape(one, partBefore(key))]));
  if (isMapShape(shape)) return mapPattern(shape, partBefore(VALUES));
  if (isDeclaredShape(shape)) return pattern(Kind.Other);
  if (isTimeShape(shape)) return pattern(Kind.Time, null, { shape, template: Buffer.from(templateOf(shape)) });
  return pattern(shape === 'string' && before === 'null' ? Kind.FirstText : SCALARS[shape]);
}

function pattern(kind: Kind, element: Pattern | null = null, time: TimePattern | null = null): Pattern {
  return { kind, fields: [], keys: [], index: new Map(), seen: [], is: null, element, time, declared: null };
}

/** A key that is new to the map is to be noted; if there are too many to list, all are fine. */
function mapPattern({ values, keys }: MapShape, before: Shape): Pattern {
  const known = [...(keys ?? [])];
  return {
    ...pattern(Kind.Map, patternOfShape(values, before)),
    index: new Map(known.map((key, at) => [key, at])),
    seen: known.map(() => 0),
    keys: keys === undefined ? [] : [undefined],
  };
}

function objectPattern(entries: readonly (readonly [string, Pattern])[]): Pattern {
  return {
    kind: Kind.Object,
    fields: entries.map(([, field]) => field),
    keys: entries.map(([key]) => (isPlain(key) ? Buffer.from(key) : undefined)),
    index: new Map(entries.flatMap(([key], at): [string, number][] => (isPlain(key) ? [[key, at]] : []))),
    seen: entries.map(() => 0),
    is: null,
    element: null,
    time: null,
    declared: null,
  };
}

/** Whether a key is written in JSON text unchanged: keys with escapes are not compared here. */
function isPlain(key: string): boolean {
  return JSON.stringify(key) === `"${key}"`;
}
