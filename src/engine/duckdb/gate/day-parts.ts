import { foldName, TIME_COLUMN } from '../sql/names.ts';
import { constantText, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { isText, isZoned, type Origin, type Origins, originsOf } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { type Other, otherOf } from './text-alike.ts';
import { castType } from './time-types.ts';

/** A field of times with a zone, or of their text, of which a day or another part is taken. */
export interface DayOf extends Origin {
  /** What decides the part: within which of these the zone changes nothing. */
  units: readonly Unit[];
}

/** A field of times with a zone that is compared by order with a text or a parameter. */
export interface Moment extends Origin {
  other: Other;
}

export type Unit = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';

/** What of these is found in a statement. */
export interface DayUses {
  origins: Origins;
  days: DayOf[];
  moments: Moment[];
  /** The fields, as they are written, of which the author names the zone. */
  known: Set<string>;
}

const FIELDS_MAX = 24;
/** Functions that take a part of a time, or its day. */
const CALLS =
  /^(?:year|month|day|dayofmonth|hour|dayname|monthname|dayofweek|weekday|isodow|dayofyear|week|weekofyear|yearweek|isoyear|quarter|strftime|last_day|date)$/;
/** And those that are told which. */
const NAMED = /^(?:date_part|datepart|date_trunc|datetrunc)$/;
const NAMES = /^(?:year|quarter|month|week|day|dow|isodow|doy|hour|dayofweek|dayofyear|isoyear|yearweek)s?$/i;

const UNITS: readonly [RegExp, Unit][] = [
  [/^hours?$|%-?[HIMSTXcpsRrf]/, 'hour'],
  [/%-?[deaAjuwDFxUWVGg]/, 'day'],
  [/week$|^weeks$|^weekofyear$|^isoyear/, 'week'],
  [/^month(?:s|name)?$|^last_day$|%-?[mbBh]/, 'month'],
  [/^quarters?$/, 'quarter'],
  [/^years?$|%-?[Yy]/, 'year'],
];

/** The part that a node takes of its arguments. */
function unitOf(node: Node): Unit | undefined {
  if (node['class'] === 'CAST') return /^date$/i.test(castType(node['cast_type'])) ? 'day' : undefined;
  const call = node['class'] === 'FUNCTION' ? foldName(textOf(node['function_name'])) : '';
  const [text = ''] = nodesOf(node['children']).flatMap((one) => constantText(one) ?? []);
  const isNamed = NAMED.test(call);
  if (isNamed ? !NAMES.test(text) || (call.endsWith('trunc') && /^hour/i.test(text)) : !CALLS.test(call))
    return undefined;
  const part = isNamed ? text.toLowerCase() : call === 'strftime' ? text : call;
  return UNITS.find(([pattern]) => pattern.test(part))?.[1] ?? 'day';
}

/** `year(t)`, `t::DATE`, `strftime(t, '%d')`. */
export function noteDay({ origins, days, known }: DayUses, node: Node, scope: Scope | undefined): void {
  const children = nodesOf(node['children']);
  if (foldName(textOf(node['function_name'])) === 'timezone')
    for (const { written } of originsOf(origins, children[1], scope)) known.add(written);
  const unit = unitOf(node);
  if (unit === undefined) return;
  const isDate = node['class'] === 'CAST';
  for (const origin of (isDate ? [node['child']] : children).flatMap((one) => originsOf(origins, one, scope))) {
    const isMeant = isZoned(origin) ? foldName(origin.path[0] ?? '') !== TIME_COLUMN : isDate && isText(origin);
    const at = days.findIndex(({ written }) => written === origin.written);
    const before = days[at];
    if (before !== undefined) days[at] = { ...before, units: [...new Set([...before.units, unit])] };
    else if (isMeant && days.length < FIELDS_MAX) days.push({ ...origin, units: [unit] });
  }
}

/** `t >= '2024-06-01'`, `t < TIMESTAMP '2024-06-01 10:00'`. */
export function noteMoment({ moments }: DayUses, found: readonly Origin[], other: unknown): void {
  const isCast = isNode(other) && /^(?:DATE|TIMESTAMP)$/.test(castType(other['cast_type']));
  const given = otherOf(isCast ? other['child'] : other);
  const [field, ...more] = found;
  const isMeant =
    field !== undefined && more.length === 0 && isZoned(field) && foldName(field.path[0] ?? '') !== TIME_COLUMN;
  if (isMeant && given !== undefined && moments.length < FIELDS_MAX) moments.push({ ...field, other: given });
}
