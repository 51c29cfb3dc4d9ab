import type { JsonValue } from '../../../contract/json/json.ts';

/*
 * Times in documents are text. A column of times keeps how its first one was spelled, as a template: `time ` and the text
 * with every digit but those of the zone as 0. A text that its template does not give back is a stray, which disagrees
 * with nothing: the column has its time.
 */

/** The shape of a column of times. */
export type TimeShape = `time ${string}`;

const PREFIX = 'time ';
const DATE = '0000-00-00';
const SECONDS = '00:00:00';

/** Text that may be a time: date alone, or with hours and minutes at least, with a zone or without. */
const PARTS = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$/;
const LENGTH_MAX = 35;
/** Digits of a second that the engine keeps. */
const FRACTION_MAX = 6;
const HOURS_OFF_MAX = 18;

interface Parts {
  date: string;
  separator: string;
  /** `HH:MM:SS`. */
  clock: string;
  fraction: string;
  /** As `±HH:MM` or `Z`; empty without one. */
  zone: string;
}

export function isTimeShape(shape: unknown): shape is TimeShape {
  return typeof shape === 'string' && shape.startsWith(PREFIX);
}

/** The text of a shape's times, with 0 for each digit that is not of the zone. */
export function templateOf(shape: TimeShape): string {
  return shape.slice(PREFIX.length);
}

/** The engine's type of a column of times. */
export function timeType(shape: TimeShape): 'DATE' | 'TIMESTAMP' | 'TIMESTAMP WITH TIME ZONE' {
  const template = templateOf(shape);
  if (template.length === DATE.length) return 'DATE';
  return zoneOf(template) === '' ? 'TIMESTAMP' : 'TIMESTAMP WITH TIME ZONE';
}

/** The shape of a text that is a time by ISO 8601; undefined for every other. */
export function timeShapeOf(text: string): TimeShape | undefined {
  const parts = partsOf(text);
  return parts && shapeOf(parts);
}

function shapeOf({ clock, separator, fraction, zone }: Parts): TimeShape {
  if (clock === '') return `${PREFIX}${DATE}`;
  const digits = Math.min(fraction.length, FRACTION_MAX);
  return `${PREFIX}${DATE}${separator}${SECONDS}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}${zone}`;
}

/**
 * What a column of times holds of a text, for the engine; undefined: not a time of this kind. It is the text itself if
 * `spelledAs` gives that back.
 */
export function timeIn(text: string, shape: TimeShape): string | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  const own = shapeOf(parts);
  // As long as its template: it has no digits that the engine drops, and nothing was left out.
  if (own === shape && text.length === templateOf(own).length) return text;
  const type = timeType(shape);
  const given = timeType(own);
  if (given !== type && !(type === 'TIMESTAMP' && given === 'DATE')) return undefined;
  const { date, clock, fraction, zone } = parts;
  if (type === 'DATE') return date;
  return `${date} ${clock || SECONDS}.${fraction.slice(0, FRACTION_MAX).padEnd(FRACTION_MAX, '0')}${zone}`;
}

/**
 * A time without a zone that SQL computed, for a column of this shape: in UTC if the column's times have a zone. Such a
 * column may be older than the SQL, and would count every such time as one that does not fit.
 */
export function computedTimeIn(value: JsonValue, shape: unknown): JsonValue {
  if (typeof value !== 'string' || !isTimeShape(shape) || zoneOf(templateOf(shape)) === '') return value;
  const own = timeShapeOf(value);
  return own !== undefined && timeType(own) === 'TIMESTAMP' ? `${value}Z` : value;
}

/** The text that a column's time came from, given as the engine writes it, in UTC. */
export function spelledAs(text: string, shape: TimeShape): string {
  const template = templateOf(shape);
  if (template.length === DATE.length) return text.slice(0, DATE.length);
  const parts = PARTS.exec(text);
  // Infinity, and years that no document has.
  if (parts === null) return text;
  const zone = zoneOf(template);
  const [, date = '', , clock = '00:00', seconds = '00', fraction = ''] = parts;
  const time = atOffset(date, `${clock}:${seconds}`, zone);
  const digits = digitsOf(template);
  const shown = digits === 0 ? '' : `.${fraction.slice(0, digits).padEnd(digits, '0')}`;
  return `${time.date}${template[DATE.length]}${time.clock}${shown}${zone}`;
}

/** SQL for the same; the engine's own text of it, if it is a date. */
export function spelledSql(sql: string, shape: TimeShape): string {
  const template = templateOf(shape);
  const type = timeType(shape);
  if (type === 'DATE') return `CAST(${sql} AS VARCHAR)`;
  const zone = zoneOf(template);
  const digits = digitsOf(template);
  const micros = `epoch_us(${sql}) + ${minutesOff(zone) * 60_000_000}`;
  const time = type === 'TIMESTAMP' ? sql : `make_timestamp(${micros})`;
  const fraction = digits === 0 ? '' : ` || '.' || left(strftime(${time}, '%f'), ${digits})`;
  return `strftime(${time}, '%Y-%m-%d${template[DATE.length]}%H:%M:%S')${fraction} || '${zone}'`;
}

/** Digits of the fraction of a second. */
function digitsOf(template: string): number {
  return Math.max(0, template.length - `${DATE}T${SECONDS}.`.length - zoneOf(template).length);
}

function zoneOf(template: string): string {
  return /(?:Z|[+-]\d\d:\d\d)$/.exec(template.slice(DATE.length))?.[0] ?? '';
}

function partsOf(text: string): Parts | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  const match = PARTS.exec(text);
  if (match === null) return undefined;
  const [, date = '', separator = '', minutes, seconds = '00', fraction = '', zone = ''] = match;
  if (!isDate(date)) return undefined;
  if (minutes === undefined) return { date, separator, clock: '', fraction, zone: '' };
  const clock = `${minutes}:${seconds}`;
  if (clock.slice(0, 2) > '23' || clock.slice(3, 5) > '59' || clock.slice(6) > '59') return undefined;
  const offset = zone === '' || zone === 'Z' ? zone : fullOffset(zone);
  if (offset === undefined) return undefined;
  // In UTC, the first and the last day may be of another year.
  if (Math.abs(minutesOff(offset)) > 0 && /^0001-01-01|^9999-12-31/.test(date)) return undefined;
  return { date, separator, clock, fraction, zone: offset };
}

/** `+0200` and `+02` as `+02:00`; undefined: no zone is that far off. */
function fullOffset(zone: string): string | undefined {
  const hours = zone.slice(1, 3);
  const minutes = zone.slice(3).replace(':', '') || '00';
  return Number(hours) <= HOURS_OFF_MAX && minutes <= '59' ? `${zone[0]}${hours}:${minutes}` : undefined;
}

function isDate(date: string): boolean {
  const [year, month, day] = [Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8))];
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  if (day <= 28) return true;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return day <= (month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

function minutesOff(zone: string): number {
  if (zone === '' || zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return zone.startsWith('-') ? -minutes : minutes;
}

function atOffset(date: string, clock: string, zone: string): { date: string; clock: string } {
  const minutes = minutesOff(zone);
  if (minutes === 0) return { date, clock };
  const text = new Date(Date.parse(`${date}T${clock}Z`) + minutes * 60_000).toISOString();
  return { date: text.slice(0, 10), clock: text.slice(11, 19) };
}
