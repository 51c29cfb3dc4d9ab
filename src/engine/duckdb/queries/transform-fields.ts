import type { InputStep } from '../../engine.ts';
import { foldName } from '../sql/names.ts';
import { constantOf, isNode, type Node, nodesIn, nodesOf, offsetOf, textOf, textsOf } from '../sql/tree.ts';

/** A place in a query over one document that reads a field of it. */
export interface FieldRead {
  /** Byte offset in the statement's body; undefined: the engine does not say. */
  offset: number | undefined;
  /** The names that are written, and the constant steps behind them: `_input.a`, `['b']`. */
  names: readonly string[];
  steps: readonly InputStep[];
  /** The way to the value in the document. */
  path: readonly InputStep[];
}

/** Functions whose last arguments are lambdas, also as `x -> x + 1`, which elsewhere is a path in JSON. */
const WITH_LAMBDAS = /^(?:list_|array_)?(?:apply|filter|transform|reduce)$/;
/** What the engine reads as a function if no column has the name, and SQL writes without brackets. */
const TIMES_NOW: ReadonlySet<string> = new Set(
  'current_date current_time current_timestamp localtime localtimestamp'.split(' '),
);

/** The field that a node reads and nothing else: a column, and constant steps from it. */
export function fieldOf(node: Node, inputNames: ReadonlySet<string>): FieldRead | undefined {
  const steps: InputStep[] = [];
  let at = node;
  while (at['class'] !== 'COLUMN_REF') {
    const type = textOf(at['type']);
    if (type !== 'ARRAY_EXTRACT' && type !== 'STRUCT_EXTRACT') return undefined;
    const [of, key] = nodesOf(at['children']);
    const step = stepOf(key);
    if (of === undefined || step === undefined) return undefined;
    steps.unshift(step);
    at = of;
  }
  const names = textsOf(at['column_names']);
  const isOwn = names.length > 1 && inputNames.has(foldName(names[0] ?? ''));
  return { offset: offsetOf(at), names, steps, path: [...(isOwn ? names.slice(1) : names), ...steps] };
}

function stepOf(key: Node | undefined): InputStep | undefined {
  const value = constantOf(key);
  if (typeof value === 'string') return textOf(typeIn(key)) === 'VARCHAR' ? value : undefined;
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function typeIn(key: Node | undefined): unknown {
  const held = isNode(key?.['value']) ? key['value'] : {};
  return isNode(held['type']) ? held['type']['id'] : undefined;
}

/** Whether it is the name of a function of the time, which is no field unless quoted. */
export function isTimeNow({ names, steps }: FieldRead, written: string): boolean {
  return names.length === 1 && steps.length === 0 && TIMES_NOW.has(written.toLowerCase());
}

/** All places that read fields. The tree must not be deep. */
export function fieldsIn(root: unknown, inputNames: ReadonlySet<string>): FieldRead[] {
  const found: FieldRead[] = [];
  visit(root, { found, inputNames, bound: new Set(), isForLambda: false });
  return found;
}

interface Walk {
  found: FieldRead[];
  inputNames: ReadonlySet<string>;
  /** The names of lambdas' parameters. */
  bound: ReadonlySet<string>;
  /** Whether a lambda may stand here. */
  isForLambda: boolean;
}

function visit(value: unknown, walk: Walk): void {
  if (Array.isArray(value)) for (const item of value) visit(item, walk);
  if (!isNode(value)) return;
  const field = fieldOf(value, walk.inputNames);
  if (field !== undefined) {
    if (!walk.bound.has(foldName(field.names[0] ?? ''))) walk.found.push(field);
    return;
  }
  if (value['class'] === 'LAMBDA' && walk.isForLambda) {
    const own = [...nodesIn(value['lhs'])].map((node) => foldName(textsOf(node['column_names'])[0] ?? ''));
    visit(value['expr'], { ...walk, bound: new Set([...walk.bound, ...own]), isForLambda: false });
    return;
  }
  const isForLambda = WITH_LAMBDAS.test(foldName(textOf(value['function_name'])));
  for (const child of Object.values(value)) if (typeof child === 'object') visit(child, { ...walk, isForLambda });
}
