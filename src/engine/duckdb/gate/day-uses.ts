import { type Condition, conditionIn, conditionsIn, type Equality, isEquality, type Sign } from '../sql/conditions.ts';
import { unitTaken } from '../sql/corrections/epochs.ts';
import { foldName, ID_COLUMN, TIME_COLUMN } from '../sql/names.ts';
import { constantOf, constantText, isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import {
  type Computed,
  isField,
  isText,
  isZoned,
  leavesOf,
  type Origin,
  type Origins,
  originsOf,
  pathText,
} from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { type Other, otherOf } from './text-alike.ts';
import { castType } from './time-types.ts';

/*
 * Days that a statement compares times with, and those that it takes of times.
 */

/** A field of times, or of text that may be some, that is compared with days, of which the engine takes the first moment. */
export interface WholeDay extends Origin {
  /** What is made of a value that is called `v`, as SQL; undefined: it is the time. */
  of?: string;
  by: '<=' | '>' | Equality;
  /** The days; or what has them, as SQL. */
  days: readonly Other[] | string;
  /** The day at the first moment of which the times of `<=` begin, or those of `>` end. */
  end?: Other | undefined;
}

/** What of these is found in a statement. */
export interface WholeDayUses {
  origins: Origins;
  wholeDays: WholeDay[];
  /** The operands of the AND that a node is in. */
  beside: Map<Node, readonly Node[]>;
}

/** Of which those with parameters may turn out to be no days. */
const FOUND_MAX = 20;

/** `x <= '2024-01-31'`, BETWEEN, `>`, `=`, `<>` and IN, which of times take a day for its first moment. */
export function noteWholeDay(walk: WholeDayUses, node: Node, scope: Scope | undefined): void {
  const operands = node['type'] === 'CONJUNCTION_AND' ? nodesOf(node['children']) : [];
  for (const one of operands) walk.beside.set(one, operands);
  if (walk.wholeDays.length < FOUND_MAX) walk.wholeDays.push(...(upTo(walk, node, scope) ?? sameAs(walk, node, scope)));
}

function upTo(walk: WholeDayUses, node: Node, scope: Scope | undefined): WholeDay[] | undefined {
  const bound = orderedIn(node, ['<=', 'BETWEEN', '>']);
  const day = dayOf(bound?.others.at(-1));
  if (bound === undefined || day === undefined) return undefined;
  const field = timeIn(walk.origins, bound.x, scope);
  if (field === undefined) return [];
  const by = bound.by === '>' ? '>' : '<=';
  const [end] = (walk.beside.get(node) ?? []).flatMap((one) => {
    const other = orderedIn(one, by === '>' ? ['<', '<=', 'BETWEEN'] : ['>']);
    const its = dayOf(other?.others.at(-1));
    return its !== undefined && timeIn(walk.origins, other?.x, scope)?.written === field.written ? [its] : [];
  });
  return [{ ...field, by, days: [day], end }];
}

/** A comparison in one of these ways, which may be written the other way round. */
const orderedIn = (node: Node, ways: readonly Sign[]): Condition | undefined =>
  conditionsIn(node).find(({ by }) => ways.includes(by));

function sameAs({ origins }: WholeDayUses, node: Node, scope: Scope | undefined): WholeDay[] {
  const { x: first, by, others = [] } = conditionIn(node) ?? {};
  if (by === undefined || !isEquality(by)) return [];
  const sides = nodesOf([first, ...others]);
  const days = sides.flatMap((side) => dayOf(side) ?? []);
  const [x, ...more] = sides.filter((side) => dayOf(side) === undefined);
  const [other] = more;
  if (other !== undefined) return by === '=' && days.length === 0 ? sameAsColumn(origins, [x, other], scope) : [];
  const field = days.length === 0 ? undefined : timeIn(origins, x, scope);
  return field === undefined || foldName(field.path[0] ?? '') === ID_COLUMN ? [] : [{ ...field, by, days }];
}

/** `o.at = e.day`, of a time and a DATE. */
function sameAsColumn(origins: Origins, sides: readonly unknown[], scope: Scope | undefined): WholeDay[] {
  for (const [x, other] of [sides, sides.toReversed()]) {
    const days = dateIn(origins, other, scope);
    const field = days === undefined ? undefined : timeIn(origins, x, scope);
    if (days !== undefined && field !== undefined && !isText(field)) return [{ ...field, by: '=', days }];
  }
  return [];
}

/** A DATE as SQL, as far as it is a column or the cast of one. */
function dateIn(origins: Origins, node: unknown, scope: Scope | undefined): string | undefined {
  if (!isNode(node)) return undefined;
  const leaves = leavesOf(origins, node, scope);
  const isDate = leaves.every((leaf) => (isField(leaf) ? leaf.type === 'DATE' : isDateCast(leaf.node)));
  if (leaves.length === 0 || !isDate) return undefined;
  if (!isDateCast(node)) return pathText(node);
  const path = isNode(node['child']) ? pathText(node['child']) : undefined;
  return path === undefined ? undefined : `CAST(${path} AS DATE)`;
}

const isDateCast = (node: Node) => node['class'] === 'CAST' && castType(node['cast_type']) === 'DATE';

type TimeField = Omit<WholeDay, 'by' | 'days' | 'end'>;

/** The one field of times, or of text, that an expression is, or that it makes a time of. */
function timeIn(origins: Origins, x: unknown, scope: Scope | undefined): TimeField | undefined {
  const [leaf, ...more] = isNode(x) ? leavesOf(origins, x, scope) : [];
  if (leaf === undefined || more.length > 0) return undefined;
  if (!isField(leaf)) return leaf.node === x ? madeOf(origins, leaf) : undefined;
  return isText(leaf) || leaf.type.startsWith('TIMESTAMP') ? leaf : undefined;
}

/** A time that is made of a field: by a cast, or by a function that counts since 1970. */
function madeOf(origins: Origins, { node, scope }: Computed): TimeField | undefined {
  const call = foldName(textOf(node['function_name']));
  const cast = node['class'] === 'CAST' ? castType(node['cast_type']) : '';
  const isTime = cast === '' ? unitTaken(call) !== undefined : cast.startsWith('TIMESTAMP');
  const [inner, ...rest] = cast === '' ? nodesOf(node['children']) : [node['child']];
  const [field, ...others] = isTime && isNode(inner) && rest.length === 0 ? leavesOf(origins, inner, scope) : [];
  if (field === undefined || others.length > 0 || !isField(field)) return undefined;
  const made = (v: string) =>
    cast === '' ? `${call}(${v})` : `${node['try_cast'] === true ? 'TRY_' : ''}CAST(${v} AS ${cast})`;
  const type = cast !== '' ? cast : call === 'to_timestamp' ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP';
  return { ...field, type, of: made('v'), written: made(field.written) };
}

export const A_DAY = /^\d{4}-\d\d-\d\d$/;

function dayOf(node: unknown): Other | undefined {
  const other = otherOf(isNode(node) && isDateCast(node) ? node['child'] : node);
  return other === undefined || 'parameter' in other || A_DAY.test(other.text) ? other : undefined;
}

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

const PARTS_MAX = 24;
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
  if (call === 'time_bucket') return widthOf(nodesOf(node['children'])[0]);
  const [text = ''] = nodesOf(node['children']).flatMap((one) => constantText(one) ?? []);
  const isNamed = NAMED.test(call);
  if (isNamed ? !NAMES.test(text) || (call.endsWith('trunc') && /^hour/i.test(text)) : !CALLS.test(call))
    return undefined;
  const part = isNamed ? text.toLowerCase() : call === 'strftime' ? text : call;
  return UNITS.find(([pattern]) => pattern.test(part))?.[1] ?? 'day';
}

/** The unit of an INTERVAL of days or more: `INTERVAL 1 DAY`, `INTERVAL '2 weeks'`. */
function widthOf(node: Node | undefined): Unit | undefined {
  const text = constantText(node?.['class'] === 'CAST' ? node['child'] : node) ?? textOf(node?.['function_name']);
  return WIDTHS.find((unit) => text.toLowerCase().includes(unit));
}

const WIDTHS: readonly Unit[] = ['day', 'week', 'month', 'quarter', 'year'];

/** Functions and operators that take a piece of a text, or look for one. */
const OF_TEXT =
  /^(?:left|substr|substring|split_part|array_slice|starts_with|prefix|\^@|contains|!?~~\*?|regexp_(?:matches|full_match|extract))$/;
/** How many characters of the text of a time have its year, its month and its day. */
const UNIT_ENDS: readonly [number, Unit][] = [
  [4, 'year'],
  [7, 'month'],
  [10, 'day'],
];

/** How many characters stand before such as end a text. */
function charsBefore(text: string, ends: string): number {
  let length = text.length;
  while (length > 0 && ends.includes(text.charAt(length - 1))) length -= 1;
  return length;
}

/** The time of whose text a node takes a piece, and which: `left(t::VARCHAR, 10)`, `t::VARCHAR LIKE '2024-05-01%'`. */
function textUnit(node: Node): { time: unknown; unit: Unit } | undefined {
  const call = foldName(textOf(node['function_name'])) || (node['type'] === 'ARRAY_SLICE' ? 'array_slice' : '');
  const [of, ...others] = OF_TEXT.test(call) ? nodesOf(node['children']) : [];
  if (of?.['class'] !== 'CAST' || castType(of['cast_type']) !== 'VARCHAR') return undefined;
  const [text] = others.flatMap((one) => constantText(one) ?? []);
  const numbers = others.flatMap((one) => Number(constantOf(one) ?? Number.NaN));
  const [first = Number.NaN, count = 0] = numbers;
  const end = /^subst/.test(call) ? first + count - 1 : call === 'array_slice' ? count : first;
  if (call === 'split_part')
    return { time: of['child'], unit: /^[T ]$/.test(text ?? '') && count === 2 ? 'hour' : 'day' };
  const chars = text === undefined ? end : /:|[T ]\d/.test(text) ? Number.NaN : charsBefore(text, '%.*$)');
  return { time: of['child'], unit: UNIT_ENDS.find(([most]) => chars <= most)?.[1] ?? 'hour' };
}

/** `year(t)`, `t::DATE`, `strftime(t, '%d')`, `left(t::VARCHAR, 10)`. */
export function noteDay({ origins, days, known }: DayUses, node: Node, scope: Scope | undefined): void {
  const children = nodesOf(node['children']);
  if (foldName(textOf(node['function_name'])) === 'timezone')
    for (const { written } of originsOf(origins, children[1], scope)) known.add(written);
  const ofText = textUnit(node);
  const unit = ofText?.unit ?? unitOf(node);
  if (unit === undefined) return;
  const isDate = node['class'] === 'CAST';
  const taken = ofText !== undefined ? [ofText.time] : isDate ? [node['child']] : children;
  for (const origin of taken.flatMap((one) => originsOf(origins, one, scope))) {
    const isMeant = isZoned(origin) ? foldName(origin.path[0] ?? '') !== TIME_COLUMN : isDate && isText(origin);
    const at = days.findIndex(({ written }) => written === origin.written);
    const before = days[at];
    if (before !== undefined) days[at] = { ...before, units: [...new Set([...before.units, unit])] };
    else if (isMeant && days.length < PARTS_MAX) days.push({ ...origin, units: [unit] });
  }
}

/** `t >= '2024-06-01'`, `t < TIMESTAMP '2024-06-01 10:00'`. */
export function noteMoment({ moments }: DayUses, found: readonly Origin[], other: unknown): void {
  const isCast = isNode(other) && /^(?:DATE|TIMESTAMP)$/.test(castType(other['cast_type']));
  const given = otherOf(isCast ? other['child'] : other);
  const [field, ...more] = found;
  const isMeant =
    field !== undefined && more.length === 0 && isZoned(field) && foldName(field.path[0] ?? '') !== TIME_COLUMN;
  if (isMeant && given !== undefined && moments.length < PARTS_MAX) moments.push({ ...field, other: given });
}
