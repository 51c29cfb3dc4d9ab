import { conditionIn, type Sign } from '../sql/conditions.ts';
import { foldName } from '../sql/names.ts';
import { isNode, type Node, nodesIn, nodesOf, textOf } from '../sql/tree.ts';
import { isNumberType } from '../sql/type-kinds.ts';
import { isField, leavesOf, type Origin, type Origins, type Place } from './field-origins.ts';
import type { Scope } from './node-scopes.ts';
import { fieldText } from './nulls.ts';
import { castIn } from './text-casts.ts';
import { boundOf } from './trap-warnings.ts';

/*
 * The fields of numbers and times of which a statement makes sums, averages and the like, with what it asks of their values.
 */

/** A field that is aggregated as it is, or after arithmetic. */
export interface Measure extends Origin {
  /** What the statement compares it with, wherever that is. */
  bounds: readonly Bound[];
}

/** Undefined values: what it is compared with is not known, or stands in place of some values. */
export interface Bound {
  by: Sign;
  values: readonly (number | string)[] | undefined;
}

/** What of these is found in a statement. */
export interface MeasureUses {
  origins: Origins;
  measures: Origin[];
  /** Conditions, and what replaces values: their fields are asked for once there is a measure. */
  choices: { node: Node; scope: Scope | undefined }[];
}

const FOUND_MAX = 4;
const CHOICES_MAX = 100;
const MEASURES =
  /^(?:sum|avg|mean|min|max|median|fsum|favg|kahan_sum|stddev(?:_pop|_samp)?|var(?:_pop|_samp)|variance|quantile(?:_cont|_disc)?)$/;
const ARITHMETIC = /^(?:[-+*/]|abs|round|date_?(?:diff|sub)|day|epoch)$/;
/** What gives something else in place of some values. */
const REPLACES = /^(?:nullif|greatest|least|OPERATOR_NULLIF)$/;
const IS_TIME = /^(?:DATE|TIMESTAMP)/;

export function noteMeasure(walk: MeasureUses, node: Node, scope: Scope | undefined): void {
  const isChoice = REPLACES.test(callOf(node)) || conditionIn(node) !== undefined;
  if (isChoice && walk.choices.length < CHOICES_MAX) walk.choices.push({ node, scope });
  const isCall = node['class'] === 'FUNCTION' || node['class'] === 'WINDOW';
  if (!isCall || !MEASURES.test(callOf(node))) return;
  for (const path of pathsIn(nodesOf(node['children'])[0]) ?? [])
    for (const leaf of leavesOf(walk.origins, path, scope))
      if (
        walk.measures.length < FOUND_MAX &&
        isField(leaf) &&
        isMeasured(leaf) &&
        !walk.measures.some((one) => keyOf(one) === keyOf(leaf))
      )
        walk.measures.push(leaf);
}

const callOf = (node: Node) => foldName(textOf(node['function_name'])) || textOf(node['type']);

const isMeasured = ({ type }: Origin) => isNumberType(type) || IS_TIME.test(type);

const keyOf = ({ table, path }: Place) => JSON.stringify([table.workspace, table.name, ...path]);

/** The paths that an expression computes with; undefined: it may make something else of some of their values. */
function pathsIn(expression: unknown): Node[] | undefined {
  if (!isNode(expression)) return undefined;
  if (fieldText(expression) !== undefined) return [expression];
  if (expression['class'] === 'CONSTANT') return [];
  const cast = castIn(expression);
  if (cast !== undefined) return pathsIn(cast.operand);
  if (!ARITHMETIC.test(callOf(expression))) return undefined;
  const parts = nodesOf(expression['children']).map(pathsIn);
  return parts.includes(undefined) ? undefined : parts.flatMap((one) => one ?? []);
}

/** What of the measures a statement asks. */
export function measuresOf({ origins, measures, choices }: MeasureUses): Measure[] {
  const bounds = new Map<string, Bound[]>(measures.map((one) => [keyOf(one), []]));
  for (const { node, scope } of measures.length === 0 ? [] : choices) {
    const { x, by = '=', others = [] } = conditionIn(node) ?? {};
    const values = others.map(boundOf);
    const isPlain = x !== undefined && fieldText(x) !== undefined && !values.includes(undefined);
    const known = isPlain ? values.flatMap((value) => value ?? []) : undefined;
    for (const path of [...nodesIn(node)].filter((one) => one['class'] === 'COLUMN_REF' || one === x))
      for (const leaf of leavesOf(origins, path, scope))
        if (isField(leaf)) bounds.get(keyOf(leaf))?.push({ by, values: known });
  }
  return measures.map((one) => ({ ...one, bounds: bounds.get(keyOf(one)) ?? [] }));
}
