import { ANY_KEY, isUnder } from './infer.ts';

/** A field, as one line of a description. */
export interface FieldLine {
  path: string;
  depth: number;
  type: string;
  /** The other columns. */
  rest: readonly unknown[];
}

/**
 * A line for a list of texts or numbers with that of its items, whose examples it shows; then the deepest fields go into
 * the types of what they are in, until there are at most so many lines, if that is enough.
 */
export function foldLines(lines: readonly FieldLine[], max: number): FieldLine[] {
  let left = withPlainItems(lines);
  while (left.length > max) {
    const groups = new Map<string, FieldLine[]>();
    for (const line of left) {
      if (line.depth === 0 || left.some((other) => isUnder(other.path, line.path))) continue;
      const parent = parentOf(line.path);
      groups.set(parent, [...(groups.get(parent) ?? []), line]);
    }
    const foldable = [...groups].filter(([parent, group]) => {
      const inside = left.filter(({ path }) => isUnder(path, parent));
      return inside.length === group.length && left.some(({ path }) => path === parent);
    });
    const depthOf = ([, [first]]: (typeof foldable)[number]) => first?.depth ?? 0;
    const deepest = foldable.sort((a, b) => depthOf(b) - depthOf(a) || b[1].length - a[1].length)[0];
    if (deepest === undefined) break;
    const [parent, group] = deepest;
    left = left
      .filter((line) => !group.includes(line))
      .map((line) => (line.path === parent ? { ...line, type: withinType(line, group) } : line));
  }
  return left;
}

function withPlainItems(lines: readonly FieldLine[]): FieldLine[] {
  const items = new Map(lines.map((line) => [line.path, line]));
  const isPlain = ({ path }: FieldLine) => !lines.some((other) => isUnder(other.path, path));
  const itemOf = (line: FieldLine) => {
    const isList = /\]$|^array$/.test(line.type);
    const item =
      (isList ? items.get(`${line.path}[]`) : undefined) ??
      (/^map of /.test(line.type) ? items.get(`${line.path}.${ANY_KEY}`) : undefined);
    return item !== undefined && isPlain(item) ? item : undefined;
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
  if (only !== undefined && group.length === 1 && (only.path === `${path}[]` || only.path === `${path}.${ANY_KEY}`)) {
    return `${type.replace(/^.*\[\]$|^array$/, 'list')} of ${only.type.replace(/^object \{/, '{')}`;
  }
  const fields = group.map((one) => `${one.path.slice(path.length + 1)} ${one.type}`);
  return `${type === 'object' ? '' : `${type} `}{${fields.join(', ')}}`;
}

/** The path of what a field is in; empty at the top. */
export function parentOf(path: string): string {
  if (path.endsWith('[]')) return path.slice(0, -2);
  const name = /\.(?:"(?:[^"]|"")*"|[^."]*)$/.exec(path);
  return name === null ? '' : path.slice(0, name.index);
}
