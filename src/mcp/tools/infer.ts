import { inQuotes } from '../../contract/text.ts';

/** Stands in a path for any key of a map, and for any field of an object that has many of one type: SQL reads these in other ways. */
export const ANY_KEY = '<key>';
export const ANY_FIELD = '<field>';
export type AnyStep = typeof ANY_KEY | typeof ANY_FIELD;

/** Whether a path ends at all of what a map, or an object of many fields, has. */
export function isAnyOf(path: string): boolean {
  return path.endsWith(`.${ANY_KEY}`) || path.endsWith(`.${ANY_FIELD}`);
}

/** A field of the sampled documents. */
export interface InferredField {
  /** As SQL spells it, with `[]` for the items of an array: `user.name`, `tags[]`, `"odd name"`. */
  path: string;
  depth: number;
  /** `text`, `integer`, `number`, `boolean`, `object`, `array`; several are joined with `|`. */
  type: string;
  /** Number of sampled documents in which it is present and not null. */
  present: number;
  /** For a map, or an object of many fields of one type: how many keys the sampled documents have; its examples are some of them. */
  keys?: number | undefined;
  examples: (string | number | boolean)[];
  /** Whether its values are text that is a number: it sorts and compares otherwise. */
  isNumberText?: boolean;
}

export interface Inferred {
  /** In the order of the documents; parents before their children. */
  fields: InferredField[];
  /** At least this many more fields were found and left out. */
  left: number;
  /** How many of these are at the top level. */
  leftAtTop: number;
  /** Whether there is anything deeper than `LEVELS_MAX`. */
  isDeeper: boolean;
}

const DEPTH_MAX = 8;
/** Levels of nesting that are examined. */
export const LEVELS_MAX = DEPTH_MAX + 1;
const PATHS_MAX = 2_000;
/** At most this many further paths are counted, without being examined. */
const MISSED_MAX = 10_000;
const ITEMS_MAX = 50;
const EXAMPLES_MAX = 3;
const EXAMPLE_CHARS_MAX = 60;
const NUMBER_CHARS_MAX = 40;
/** Codes with leading zeros are none. */
const NUMBER_TEXT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

interface Seen {
  depth: number;
  order: number;
  types: Set<string>;
  documents: Set<number>;
  examples: Set<string | number | boolean>;
  isNumberText: boolean;
  keys?: Set<string>;
}

/**
 * The fields of `documents`, nested ones included; those of an object that `keyed` has, by its path, are one field, which is called so. If there are more than `fieldsMax`, those nearest to the top level
 * are kept: documents whose keys are data have any number of deep paths.
 */
export function inferFields(
  documents: readonly Readonly<Record<string, unknown>>[],
  fieldsMax: number,
  keyed: ReadonlyMap<string, AnyStep> = new Map(),
): Inferred {
  const seen = new Map<string, Seen>();
  const missed = new Map<string, number>();
  let isDeeper = false;

  const visit = (path: string, depth: number, value: unknown, document: number): void => {
    if (value === null || value === undefined) return;
    let entry = seen.get(path);
    if (entry === undefined) {
      if (seen.size >= PATHS_MAX) {
        if (missed.size < MISSED_MAX) missed.set(path, depth);
        return;
      }
      entry = {
        depth,
        order: seen.size,
        types: new Set(),
        documents: new Set(),
        examples: new Set(),
        isNumberText: true,
      };
      seen.set(path, entry);
    }
    entry.types.add(typeOf(value));
    entry.documents.add(document);
    entry.isNumberText &&= typeof value === 'string' && value.length <= NUMBER_CHARS_MAX && NUMBER_TEXT.test(value);
    if (Array.isArray(value)) {
      if (depth >= DEPTH_MAX) isDeeper ||= value.length > 0;
      else for (const item of value.slice(0, ITEMS_MAX)) visit(`${path}[]`, depth + 1, item, document);
    } else if (typeof value === 'object') {
      if (depth >= DEPTH_MAX) {
        isDeeper ||= Object.keys(value).length > 0;
        return;
      }
      const any = keyed.get(path);
      if (any !== undefined) noteKeys(entry, Object.keys(value));
      for (const [key, field] of Object.entries(value)) {
        visit(`${path}.${any ?? identifier(key)}`, depth + 1, field, document);
      }
    } else if (entry.examples.size < EXAMPLES_MAX) {
      entry.examples.add(exampleOf(value as string | number | bigint | boolean));
    }
  };

  for (const [index, document] of documents.entries()) {
    for (const [key, value] of Object.entries(document)) visit(identifier(key), 0, value, index);
  }
  const all = [...seen.entries()].sort(([, a], [, b]) => a.depth - b.depth || a.order - b.order);
  const kept = all.slice(0, fieldsMax).sort(([, a], [, b]) => a.order - b.order);
  const fields = inTreeOrder(kept).map(
    ([path, { depth, types, documents: present, examples, isNumberText, keys }]) => ({
      path,
      depth,
      type: [...types].join('|'),
      present: present.size,
      examples: [...examples],
      isNumberText,
      keys: keys?.size,
    }),
  );
  const left = [...all.slice(fieldsMax).map(([, { depth }]) => depth), ...missed.values()];
  return { fields, left: left.length, leftAtTop: left.filter((depth) => depth === 0).length, isDeeper };
}

function noteKeys(entry: Seen, keys: readonly string[]): void {
  entry.keys ??= new Set();
  for (const key of keys) {
    if (entry.keys.size < PATHS_MAX) entry.keys.add(key);
    if (entry.examples.size < EXAMPLES_MAX) entry.examples.add(exampleOf(key));
  }
}

/** Orders children directly after their parents, even if they first occur in a later document. */
function inTreeOrder(entries: [string, Seen][]): [string, Seen][] {
  const rank = new Map(entries.map(([path, { order }]) => [path, order]));
  const lineage = (path: string) => {
    const ancestors = entries.map(([other]) => other).filter((other) => path === other || isUnder(path, other));
    return ancestors.sort((a, b) => a.length - b.length).map((ancestor) => rank.get(ancestor) ?? 0);
  };
  const keyed = entries.map((entry) => ({ entry, key: lineage(entry[0]) }));
  keyed.sort((a, b) => compareLists(a.key, b.key));
  return keyed.map(({ entry }) => entry);
}

/** The path of what a field is in; empty at the top. */
export function parentOf(path: string): string {
  if (path.endsWith('[]')) return path.slice(0, -2);
  const name = /\.(?:"(?:[^"]|"")*"|[^."]*)$/.exec(path);
  return name === null ? '' : path.slice(0, name.index);
}

/** The paths of all that a field is in, the nearest first. */
export function* ancestorsOf(path: string): Generator<string> {
  for (let of = parentOf(path); of !== ''; of = parentOf(of)) yield of;
}

/** Whether a field is within one of these. */
export function isWithin(path: string, parents: ReadonlySet<string>): boolean {
  for (const parent of ancestorsOf(path)) if (parents.has(parent)) return true;
  return false;
}

/** Whether `path` is a field or item within `parent`. */
export function isUnder(path: string, parent: string): boolean {
  return path.startsWith(`${parent}.`) || path.startsWith(`${parent}[]`);
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return 'text';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function exampleOf(value: string | number | bigint | boolean): string | number | boolean {
  const plain = typeof value === 'bigint' ? value.toString() : value;
  if (typeof plain !== 'string' || plain.length <= EXAMPLE_CHARS_MAX) return plain;
  return `${plain.slice(0, EXAMPLE_CHARS_MAX)}…`;
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A name as SQL needs it: quoted unless it is a plain word. */
export function identifier(name: string): string {
  return PLAIN.test(name) ? name : inQuotes(name, '"');
}

/** A text of which nobody learns anything. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
