import { conditionIn, conditionsIn, hasTwoSides, isOrder } from '../sql/conditions.ts';
import { UNIT_LEAST, type Unit, unitOfSecond, unitTaken } from '../sql/corrections/epochs.ts';
import { foldName, ID_COLUMN } from '../sql/names.ts';
import { constantNumber, constantOf, isNode, isQuery, type Node, nodesOf, textOf, textsOf } from '../sql/tree.ts';
import { isNumberType } from '../sql/type-kinds.ts';
import {
  type DayOf,
  type DayUses,
  type Moment,
  noteDay,
  noteMoment,
  noteWholeDay,
  type WholeDay,
  type WholeDayUses,
} from './day-uses.ts';
import { type FanOut, type FanOutUses, noteFanOut } from './fan-out.ts';
import {
  createOrigins,
  isAsked,
  isSameField,
  isText,
  isZoned,
  itemMeant,
  type Origin,
  type Origins,
  originsInQuery,
  originsOf,
  type Place,
  type Sources,
  sourcesOf,
} from './field-origins.ts';
import { type JoinedKeys, type KeyUses, noteJoined } from './joined-keys.ts';
import { type JsonUse, type JsonUses, noteJsonOrdered } from './json-values.ts';
import { type Measure, type MeasureUses, measuresOf, noteMeasure } from './measures.ts';
import type { Scope } from './node-scopes.ts';
import { type Blank, type NotIn, type NullUses, noteBlank, noteNotIn } from './nulls.ts';
import { isAmong, keysOfAllRows, keysThatOrder, ordersOf } from './sort-keys.ts';
import {
  type AlikeUses,
  noteEqual,
  noteGroups,
  noteMet,
  noteSpelled,
  type Other,
  otherOf,
  type TextEquality,
  type TextGroup,
} from './text-alike.ts';
import { type CastUses, castIn, noteAsked, noteCast, type TextCast } from './text-casts.ts';
import { textPartsOf } from './text-parts.ts';
import { type TimeTypes, typeOf } from './time-types.ts';

/** A field of text. */
export interface TextField extends Place {
  /** What is taken of a value that is called `v`, as SQL; undefined: the value. */
  of?: string | undefined;
  /** What stands behind FROM for the rows whose values count, as SQL; undefined: all of the table. */
  from?: string | undefined;
}

/**
 * A field of text whose values are put in order as text, which for numbers and for most spellings of days is another one; or
 * one of objects.
 */
export interface TextOrder extends Origin, TextField {
  /** All that feeds what is ordered, if that is more than this field. */
  beside?: Sources;
  /** The number whose text it is, as SQL. */
  number?: string | undefined;
  /** What it is compared with; undefined: its values with one another, by ORDER BY, min or max. */
  other: Other | undefined;
}

/** Fields whose numbers, which may be text, are taken for time since 1970. */
export interface EpochUse {
  /** What is taken, as SQL writes it. */
  written: string;
  /** All that feed it. */
  fields: readonly Origin[];
  /** The function, as it is shown, and the unit that it takes. */
  call: string;
  taken: Unit;
  /** Whether the statement tells its values apart by how large they are. */
  isApart: boolean;
}

/** What a statement does with fields that only their values can tell to be wrong. */
export interface ValueUses {
  orders: readonly TextOrder[];
  casts: readonly TextCast[];
  epochs: readonly EpochUse[];
  days: readonly DayOf[];
  moments: readonly Moment[];
  equalities: readonly TextEquality[];
  groups: readonly TextGroup[];
  json: readonly JsonUse[];
  notIns: readonly NotIn[];
  wholeDays: readonly WholeDay[];
  joinedKeys: readonly JoinedKeys[];
  fanOuts: readonly FanOut[];
  measures: readonly Measure[];
  blanks: readonly Blank[];
}

/** How often expressions, tables and subqueries are looked into. */
const LOOKS_MAX = 4_000;
/** Fields whose values are looked at. */
const ORDERS_MAX = 6;
const IS_ORDER = /^COMPARE_(?:GREATERTHAN|LESSTHAN)/;

export interface ValueWalk
  extends AlikeUses,
    CastUses,
    DayUses,
    FanOutUses,
    KeyUses,
    MeasureUses,
    NullUses,
    WholeDayUses {
  /** Whether an expression is text, though it is no field. */
  isText(node: unknown, scope: Scope | undefined): boolean;
  json: JsonUses | undefined;
  orders: TextOrder[];
  epochs: EpochUse[];
  /** The fields, as they are written, of which the author asks what no cast reads, or names the zone. */
  known: Set<string>;
  /** Those that are compared with a number as large as one of seconds since 1970. */
  apart: Set<string>;
}

/** All that a node is looked at for: each notes what it finds, and stops at a number of its own. */
const NOTES: readonly ((walk: ValueWalk, node: Node, scope: Scope | undefined) => void)[] = [
  noteSorted,
  noteGroups,
  noteCall,
  noteMet,
  noteEqual,
  noteSpelled,
  noteCast,
  noteAsked,
  noteEpoch,
  noteDay,
  noteCompared,
  noteNotIn,
  noteWholeDay,
  noteJoined,
  noteFanOut,
  noteMeasure,
  noteBlank,
];

const noneYet = () => ({
  orders: [],
  casts: [],
  epochs: [],
  days: [],
  moments: [],
  equalities: [],
  groups: [],
  notIns: [],
  wholeDays: [],
  joinedKeys: [],
  fanOuts: [],
  measures: [],
  blanks: [],
});
export const NO_USES: Omit<ValueUses, 'json'> = noneYet();

export function createValueUses(tree: Node, types: TimeTypes, json: JsonUses | undefined): ValueWalk {
  return {
    ...noneYet(),
    outermost: tree,
    origins: createOrigins(types.origins, LOOKS_MAX),
    json,
    isText: (node, scope) => isNode(node) && typeOf(types, node, scope) === 'text',
    met: new Set(),
    spelled: { texts: new Set(), fields: new Set() },
    known: new Set(),
    sortKeys: new Set(),
    apart: new Set(),
    beside: new Map(),
    joins: new Map(),
    choices: [],
  };
}

export function noteValues(walk: ValueWalk, node: Node, scope: Scope | undefined): void {
  if (walk.origins.looksLeft >= 0) for (const note of NOTES) note(walk, node, scope);
}

/** What a statement does with stored fields. Whether that is what is meant, only their values say. */
export function valueUsesOf(walk: ValueWalk): Omit<ValueUses, 'json'> {
  const { orders, groups, notIns, wholeDays, spelled, known, apart } = walk;
  // Whoever has a function for each unit knows of them.
  const isOnly = (use: EpochUse) =>
    !walk.epochs.some(({ written, call }) => written === use.written && call !== use.call);
  const isUnknown = ({ written }: Origin) => !known.has(written);
  const isPlain = ({ one, other }: JoinedKeys) =>
    !spelled.fields.has(one.written) && !spelled.fields.has(other.written);
  return {
    orders,
    casts: walk.casts.map((cast) => ({ ...cast, isAsked: known.has(cast.written) })),
    epochs: walk.epochs.filter(isOnly).map((use) => ({ ...use, isApart: apart.has(use.written) })),
    days: walk.days.filter(isUnknown),
    moments: walk.moments.filter(isUnknown),
    equalities: walk.equalities.map((one) => ({ ...one, isSpelled: spelled.texts.has(one.written) })),
    groups,
    notIns,
    wholeDays,
    joinedKeys: walk.joinedKeys.filter(isPlain),
    fanOuts: walk.fanOuts,
    measures: measuresOf(walk),
    // Whoever asks for both means both.
    blanks: walk.blanks.filter((one) =>
      walk.blanks.every((two) => two.isNull === one.isNull || !isSameField(one, two)),
    ),
  };
}

const EPOCHS_MAX = 3;

function noteEpoch(walk: ValueWalk, node: Node, scope: Scope | undefined): void {
  for (const { x, by, others } of conditionsIn(node))
    if (hasTwoSides(by) && Number(constantOf(others[0]) ?? 0) >= UNIT_LEAST)
      for (const { written } of sourcesOf(walk.origins, bare(x), scope).fields) walk.apart.add(written);
  const call = node['class'] === 'FUNCTION' ? foldName(textOf(node['function_name'])) : '';
  const [operand, ...more] = nodesOf(node['children']);
  const unit = unitTaken(call);
  if (unit === undefined || operand === undefined || more.length > 0 || walk.epochs.length >= EPOCHS_MAX) return;
  const { of = operand, taken = unit, by = '' } = (unit === 'seconds' && dividedIn(operand)) || {};
  const { fields, isComputed } = sourcesOf(walk.origins, bare(of), scope);
  const [field] = fields;
  if (field === undefined || isComputed || !fields.every((one) => isText(one) || isNumberType(one.type))) return;
  const shown = by === '' ? call : `${call}(… / ${by})`;
  walk.epochs.push({ written: field.written, fields, call: shown, taken, isApart: false });
}

/** `ts / 1000`, which makes seconds of a smaller unit. */
function dividedIn(node: Node): { of: Node; taken: Unit; by: string } | undefined {
  const [of, divisor] = /^\/\/?$/.test(textOf(node['function_name'])) ? nodesOf(node['children']) : [];
  const inner = isNode(divisor) ? (castIn(divisor)?.operand ?? divisor) : divisor;
  const taken = unitOfSecond(constantNumber(inner));
  return of === undefined || taken === undefined ? undefined : { of, taken, by: String(constantNumber(inner)) };
}

/** What an expression is without the casts around it. */
function bare(node: unknown): unknown {
  const inner = isNode(node) ? castIn(node)?.operand : undefined;
  return inner === undefined ? node : bare(inner);
}

function note(walk: ValueWalk, found: readonly OrderedField[], other?: TextOrder['other'], beside?: Sources): void {
  const more = beside !== undefined && hasSeveral(beside) ? { beside } : {};
  for (const one of found) {
    const origin = { ...one, ...more };
    const { path } = origin;
    if (isZoned(origin)) continue;
    // Ids are sorted for some order, whichever.
    if (walk.orders.length >= ORDERS_MAX || foldName(path[0] ?? '') === ID_COLUMN) continue;
    const at = walk.orders.findIndex((one) => isSameOrder(one, origin));
    // What it is compared with says more.
    if (at === -1) walk.orders.push({ ...origin, other });
    else if (walk.orders[at]?.other === undefined && other !== undefined) walk.orders[at] = { ...origin, other };
  }
}

type OrderedField = Origin & Pick<TextOrder, 'of' | 'number'>;
const isSameOrder = (one: OrderedField, other: OrderedField) => one.of === other.of && isSameField(one, other);

/** Whether values come from more than one field. */
const hasSeveral = ({ fields, isComputed }: Sources): boolean => fields.length > 1 || isComputed;

/** What a query is sorted by: an item by its number, its alias, or something else. */
function noteSorted(walk: ValueWalk, query: Node, outer: Scope | undefined): void {
  if (!isQuery(query)) return;
  const isSelect = query['type'] === 'SELECT_NODE';
  const scope = isSelect ? { select: query, outer } : outer;
  const items = nodesOf(query['select_list']);
  const hasStar = items.some((item) => item['class'] === 'STAR');
  for (const key of keysOfAllRows(query)) walk.sortKeys.add(key);
  const meant = (expression: Node) => {
    const item = hasStar ? undefined : items[Number(constantOf(expression)) - 1];
    return isSelect ? (item ?? itemMeant(walk.origins, query, expression) ?? expression) : expression;
  };
  for (const { expression, meant: own, before } of keysThatOrder(walk.origins, ordersOf(query), scope, meant)) {
    const number = constantOf(expression);
    if (isSelect && walk.json !== undefined) noteJsonOrdered(walk.json, own, scope);
    const found = [
      ...(isSelect ? textPartsOf(walk.origins, own, scope) : []),
      ...(number !== undefined
        ? originsInQuery(walk.origins, query, { at: Number(number) - 1 })
        : expression['class'] === 'STAR'
          ? // Whoever orders by all has objects among them.
            items.slice(0, ORDERS_MAX).flatMap((one) => originsOf(walk.origins, one, scope).filter(isText))
          : sortedBy(walk, expression, query, scope)),
    ];
    note(
      walk,
      found.filter((one) => !isAmong(one, before)),
    );
  }
}

/** An alias comes before a column here. */
function sortedBy(walk: ValueWalk, expression: unknown, query: Node, scope: Scope | undefined): readonly Origin[] {
  if (query['type'] === 'SELECT_NODE')
    return originsOf(walk.origins, itemMeant(walk.origins, query, expression) ?? expression, scope);
  const [name = ''] = isNode(expression) ? textsOf(expression['column_names']) : [];
  return originsInQuery(walk.origins, query, { name });
}

/** Functions that order the values of an argument, by its place; of the last all of them. */
const ORDERS_FIRST =
  /^(?:min|max|median|quantile(?:_disc)?|list_(?:sort|reverse_sort|min|max)|array_(?:sort|reverse_sort))$/;
const ORDERS_SECOND = /^(?:arg_?(?:min|max)(?:_null)?|(?:min|max)_by)$/;
const ORDERS_ALL = /^(?:greatest|least)$/;
const OF_LISTS = /^(?:list|array)_/;

/** What a call puts in order, by what it is or by its ORDER BY: values, and what gives the items of a list. */
function orderedIn(
  origins: Origins,
  call: Node,
  scope: Scope | undefined,
): { values: readonly unknown[]; items: readonly Node[] } {
  if (call['class'] !== 'FUNCTION' && call['class'] !== 'WINDOW') return { values: [], items: [] };
  const name = foldName(textOf(call['function_name']));
  const children = nodesOf(call['children']);
  const { orders = isNode(call['order_bys']) ? call['order_bys']['orders'] : [] } = call;
  const by = keysThatOrder(origins, orders, scope).map(({ expression }) => expression);
  if (ORDERS_FIRST.test(name) && OF_LISTS.test(name))
    return { values: by, items: [{ class: 'FUNCTION', function_name: 'unnest', children: children.slice(0, 1) }] };
  const own = ORDERS_FIRST.test(name)
    ? children.slice(0, 1)
    : ORDERS_SECOND.test(name)
      ? children.slice(1, 2)
      : children;
  return {
    values: ORDERS_FIRST.test(name) || ORDERS_SECOND.test(name) || ORDERS_ALL.test(name) ? [...own, ...by] : by,
    items: [],
  };
}

function noteCall(walk: ValueWalk, node: Node, scope: Scope | undefined): void {
  const { values, items } = orderedIn(walk.origins, node, scope);
  for (const one of [...items, ...values]) noteOrdered(walk, one, scope);
  if (walk.json !== undefined) for (const one of values) noteJsonOrdered(walk.json, one, scope);
}

function noteOrdered(walk: ValueWalk, node: unknown, scope: Scope | undefined, other?: TextOrder['other']): void {
  const sources = sourcesOf(walk.origins, node, scope);
  note(walk, sources.fields.filter(isAsked), other, sources);
  note(walk, textPartsOf(walk.origins, node, scope), other);
}

/** What a comparison by order puts beside what. */
function comparisonsIn(node: Node): [unknown, unknown][] {
  if (node['class'] === 'SUBQUERY' && IS_ORDER.test(textOf(node['comparison_type'])))
    return [[node['child'], { ...node, subquery_type: 'SCALAR' }]];
  const condition = conditionIn(node);
  if (condition === undefined || !isOrder(condition.by)) return [];
  const pairs = condition.others.map((other): [Node, Node] => [condition.x, other]);
  return [...pairs, ...pairs.map(([x, other]): [Node, Node] => [other, x])];
}

function noteCompared(walk: ValueWalk, node: Node, scope: Scope | undefined): void {
  for (const [side, other] of comparisonsIn(node)) noteSide(walk, side, other, scope);
}

function noteSide(walk: ValueWalk, side: unknown, other: unknown, scope: Scope | undefined): void {
  if (!isNode(side) || side['class'] === 'CONSTANT') return;
  const found = [...originsOf(walk.origins, side, scope), ...textPartsOf(walk.origins, side, scope)];
  if (found.length === 0) return;
  noteMoment(walk, found, other);
  const given = otherOf(other);
  if (given !== undefined) noteOrdered(walk, side, scope, given);
  // Beside a number it is cast to one, and beside a time refused.
  else if (originsOf(walk.origins, other, scope).length > 0 || walk.isText(other, scope)) note(walk, found);
}
