import type { Column } from './result.ts';
import { kindOfValues, numberOf, timeOf } from './values.ts';

/** Something that can be drawn: a column, or a value inside a nested one. */
export interface Field {
  label: string;
  column: number;
  /** The path to it inside the column's value. */
  path: readonly string[];
  kind: 'number' | 'time' | 'text' | 'point';
  /** If a number counts time since 1970, its unit in milliseconds. Absent: not a time, or a time as text. */
  unitMs?: number;
  /** Number of distinct values among the examined rows. */
  distinct: number;
}

export interface Point {
  longitude: number;
  latitude: number;
}

const DEPTH_MAX = 3;
const FIELDS_MAX = 80;
const LONGITUDE = /^(lon|lng|long|longitude)$/i;
const LATITUDE = /^(lat|latitude)$/i;
const POINT_NAME = /coord|geom|location|point|position|lnglat|lonlat/i;
const TIME_NAME = /time|date|updated|created|_at$|At$|^ts$/i;
/** The range from 1973 to 2286, in seconds and in milliseconds. */
const EPOCHS = [
  { unitMs: 1_000, from: 1e8, to: 1e10 },
  { unitMs: 1, from: 1e11, to: 1e13 },
] as const;

/** What can be drawn of the columns, judging by these rows. */
export function fieldsOf(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Field[] {
  const fields = columns.flatMap(({ name, kind }, column) => {
    const values = rows.map((row) => row[column]);
    if (kind === 'nested') return inside({ label: name, column, path: [] }, values, 0);
    return fieldOf({ label: name, column, path: [] }, values);
  });
  return fields.slice(0, FIELDS_MAX);
}

type Place = Pick<Field, 'label' | 'column' | 'path'>;

function fieldOf(place: Place, values: readonly unknown[]): Field[] {
  const kind = kindOfValues(values.map((value) => numberOf(value) ?? value));
  if (kind === undefined || kind === 'nested') return [];
  const distinct = new Set(values).size;
  const epoch = kind === 'number' && TIME_NAME.test(place.label) ? epochOf(values) : undefined;
  if (epoch !== undefined) return [{ ...place, kind: 'time', unitMs: epoch, distinct }];
  return [{ ...place, kind: kind === 'boolean' ? 'text' : kind, distinct }];
}

function epochOf(values: readonly unknown[]): number | undefined {
  const numbers = values.flatMap((value) => numberOf(value) ?? []);
  return EPOCHS.find(({ from, to }) => numbers.every((number) => number >= from && number < to))?.unitMs;
}

/** The fields of nested values; a point on Earth is one field, whose parts are not examined. */
function inside(place: Place, values: readonly unknown[], depth: number): Field[] {
  const there = values.filter((value) => value !== null && value !== undefined);
  if (there.length === 0) return [];
  if (there.every((value) => pointIn(value, place.label) !== undefined)) {
    return [{ ...place, kind: 'point', distinct: there.length }];
  }
  const objects = there.filter(isPlain);
  if (objects.length === 0) return fieldOf(place, values);
  if (depth >= DEPTH_MAX) return [];
  const keys = new Set(objects.flatMap((value) => Object.keys(value)));
  return [...keys].flatMap((key) => {
    const inner = { label: `${place.label}.${key}`, column: place.column, path: [...place.path, key] };
    return inside(
      inner,
      values.map((value) => (isPlain(value) ? value[key] : undefined)),
      depth + 1,
    );
  });
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A GeoJSON point, `[longitude, latitude]` under a name that suggests it, or an object with both. */
function pointIn(value: unknown, name: string): Point | undefined {
  if (Array.isArray(value)) return POINT_NAME.test(name) ? onEarth(value[0], value[1]) : undefined;
  if (!isPlain(value)) return undefined;
  if (value['type'] === 'Point' && Array.isArray(value['coordinates'])) return pointIn(value['coordinates'], 'point');
  const keys = Object.keys(value);
  const [longitude, latitude] = [LONGITUDE, LATITUDE].map((named) => keys.find((key) => named.test(key)));
  if (longitude === undefined || latitude === undefined) return undefined;
  return onEarth(value[longitude], value[latitude]);
}

function onEarth(east: unknown, north: unknown): Point | undefined {
  const [longitude, latitude] = [numberOf(east), numberOf(north)];
  if (longitude === undefined || latitude === undefined) return undefined;
  return Math.abs(longitude) <= 180 && Math.abs(latitude) <= 90 ? { longitude, latitude } : undefined;
}

/** The value of a field in a row, unchanged. */
export function valueAt({ column, path }: Field, row: readonly unknown[]): unknown {
  let value = row[column];
  for (const key of path) value = isPlain(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

/** The number to draw; for a time, milliseconds since 1970. */
export function numberAt(field: Field, row: readonly unknown[]): number | undefined {
  const value = valueAt(field, row);
  if (field.kind !== 'time') return numberOf(value);
  if (field.unitMs === undefined) return timeOf(value);
  const number = numberOf(value);
  return number === undefined ? undefined : number * field.unitMs;
}

/** Two fields whose names say that they are a place on Earth, or one field that contains it. */
export function placeFields(
  fields: readonly Field[],
): { longitude: Field; latitude: Field } | { point: Field } | undefined {
  const point = fields.find(({ kind }) => kind === 'point');
  if (point !== undefined) return { point };
  const last = ({ label }: Field) => label.slice(label.lastIndexOf('.') + 1);
  const numbers = fields.filter(({ kind }) => kind === 'number');
  const longitude = numbers.find((field) => LONGITUDE.test(last(field)));
  const latitude = numbers.find((field) => LATITUDE.test(last(field)));
  return longitude === undefined || latitude === undefined ? undefined : { longitude, latitude };
}

/** The position of a row on Earth; undefined if it has none. */
export function pointAt(
  place: NonNullable<ReturnType<typeof placeFields>>,
  row: readonly unknown[],
): Point | undefined {
  if ('point' in place) return pointIn(valueAt(place.point, row), place.point.label);
  return onEarth(valueAt(place.longitude, row), valueAt(place.latitude, row));
}
