import { ANY_KEY, ancestorsOf, isAnyOf, parentOf } from './infer.ts';
import { runsOf } from './patterned.ts';

/** A field, as one line of a description. */
export interface FieldLine {
  path: string;
  depth: number;
  type: string;
  /** The other columns. */
  rest: readonly unknown[];
  /** The paths of the fields, if the line is of several. */
  paths?: readonly string[];
}

/** A line for neighbours at the top whose names differ in a number only, and are of one type: with the values of the first. */
export function withRuns(lines: readonly FieldLine[]): FieldLine[] {
  const runs = runsOf(lines, ({ path, depth, type }) => ({
    name: path,
    like: depth === 0 && !/[[({]|^(?:object|array|map|JSON)\b/.test(type) ? type : undefined,
  }));
  return runs.flatMap((run): FieldLine[] => {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined || run.length === 1) return run;
    const [present, , values] = first.rest;
    const [least, most] = [leastPresent(run), leastPresent(run, -1)];
    const share = least === most ? present : `${least} … ${most}`;
    const paths = run.map(({ path }) => path);
    const own = typeof values === 'string' ? `${values} (the first)` : values;
    const type = `${first.type} ×${run.length}`;
    return [{ ...first, path: `${first.path} … ${last.path}`, type, rest: [share, null, own], paths }];
  });
}

/** The least share of some lines, or the most (`sign` -1). */
function leastPresent(run: readonly FieldLine[], sign = 1): unknown {
  const shares = run.map(({ rest: [present] }) => present);
  const value = (share: unknown) => sign * Number.parseFloat(String(share).replace(/^[<>]/, ''));
  return shares.reduce((one, other) => (value(other) < value(one) ? other : one));
}

/**
 * A line for a list of texts or numbers with that of its items, whose examples it shows; then the deepest fields go into
 * the types of what they are in, until there are at most so many lines, if that is enough.
 */
export function foldLines(lines: readonly FieldLine[], max: number): FieldLine[] {
  const left = new Map(withPlainItems(lines).map((line) => [line.path, line]));
  const groups = new Map<string, FieldLine[]>();
  // Where a parent has no line, it and all around it stay as they are.
  const fixed = new Set<string>();
  for (const line of left.values()) {
    const parent = parentOf(line.path);
    if (line.depth === 0) continue;
    const group = groups.get(parent);
    if (group === undefined) groups.set(parent, [line]);
    else group.push(line);
    if (!left.has(parent)) for (const around of ancestorsOf(line.path)) fixed.add(around);
  }
  const depthOf = ([, [first]]: [string, FieldLine[]]) => first?.depth ?? 0;
  const deepestFirst = [...groups].sort((a, b) => depthOf(b) - depthOf(a) || b[1].length - a[1].length);
  for (const [path, group] of deepestFirst) {
    if (left.size <= max) break;
    const parent = left.get(path);
    if (parent === undefined || fixed.has(path)) continue;
    // What is deeper is in their types by now.
    const folded = group.map((line) => left.get(line.path) ?? line);
    left.set(path, { ...parent, type: withinType(parent, folded) });
    for (const line of group) left.delete(line.path);
  }
  return [...left.values()];
}

function withPlainItems(lines: readonly FieldLine[]): FieldLine[] {
  const byPath = new Map(lines.map((line) => [line.path, line]));
  const parents = new Set(lines.flatMap(({ path }) => [...ancestorsOf(path)]));
  const itemOf = ({ path, type }: FieldLine) => {
    const isList = /\]$|^array$/.test(type);
    const item =
      (isList ? byPath.get(`${path}[]`) : undefined) ??
      (/^map of /.test(type) ? byPath.get(`${path}.${ANY_KEY}`) : undefined);
    return item !== undefined && !parents.has(item.path) ? item : undefined;
  };
  const folded = new Set(lines.flatMap((line) => itemOf(line) ?? []));
  return lines.flatMap((line) => {
    if (folded.has(line)) return [];
    const item = itemOf(line);
    if (item === undefined) return [line];
    const rest = item.path.endsWith('[]') ? [...line.rest.slice(0, -1), item.rest.at(-1)] : line.rest;
    return [{ ...line, type: withinType(line, [item]), rest }];
  });
}

/** The type of a line with those of what is in it. */
function withinType({ path, type }: FieldLine, group: readonly FieldLine[]): string {
  const [only] = group;
  if (only !== undefined && group.length === 1 && (only.path === `${path}[]` || isAnyOf(only.path))) {
    return `${type.replace(/^.*\[\]$|^array$/, 'list')} of ${only.type.replace(/^object \{/, '{')}`;
  }
  const fields = group.map((one) => `${one.path.slice(path.length + 1)} ${one.type}`);
  return `${type === 'object' ? '' : `${type} `}{${fields.join(', ')}}`;
}
