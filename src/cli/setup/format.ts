import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../contract/json.ts';

/** A configuration that this program does not change; the message says why, in words that follow a colon. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/**
 * How a kind of configuration is written. `path` leads to an entry by the keys above it. All throw `Refusal` for a text
 * that they do not understand.
 */
export interface ConfigFormat {
  /** What the text means, and its comments in their order. */
  read(text: string): { value: unknown; comments: readonly string[] };
  /** The text with the entry in it, new or in the place of the old one; nothing else differs. */
  put(text: string, path: readonly string[], entry: Entry): string;
  /** How many comments an entry holds, which go with it. */
  commentsWithin(text: string, path: readonly string[]): number;
  /** The text without the entry; it has to be there. */
  remove(text: string, path: readonly string[]): string;
}

/** How an assistant starts the server. */
export type Entry = Readonly<Record<string, unknown>>;

/** The entry at `path`; undefined where there is none. Throws `Refusal` where something else stands in its way. */
export function entryAt(format: ConfigFormat, text: string, path: readonly string[]): unknown {
  let value = format.read(text).value;
  for (const [depth, key] of path.entries()) {
    if (!isObject(value)) {
      const what = depth === 0 ? 'it' : `"${path.slice(0, depth).join('.')}" in it`;
      throw new Refusal(`${what} is no table of names and values`);
    }
    value = Object.hasOwn(value, key) ? value[key] : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

/** The text with the entry, checked: it means the same as before but for the entry, and keeps every comment. */
export function withEntry(format: ConfigFormat, text: string, path: readonly string[], entry: Entry): string {
  if (isDeepStrictEqual(plain(entryAt(format, text, path)), plain(entry))) return text;
  const changed = format.put(text, path, entry);
  if (!isDeepStrictEqual(plain(entryAt(format, changed, path)), plain(entry))) throw new Refusal(NOT_UNDERSTOOD);
  return checked(format, text, changed, path);
}

/** The text without the entry, checked likewise. */
export function withoutEntry(format: ConfigFormat, text: string, path: readonly string[]): string {
  if (entryAt(format, text, path) === undefined) return text;
  const changed = format.remove(text, path);
  if (entryAt(format, changed, path) !== undefined) throw new Refusal(NOT_UNDERSTOOD);
  return checked(format, text, changed, path);
}

const NOT_UNDERSTOOD = 'it is written in a way that this program cannot change safely';

function checked(format: ConfigFormat, before: string, after: string, path: readonly string[]): string {
  const [old, made] = [format.read(before), format.read(after)];
  if (!isDeepStrictEqual(without(old.value, path), without(made.value, path))) throw new Refusal(NOT_UNDERSTOOD);
  if (old.comments.length - made.comments.length > format.commentsWithin(before, path)) {
    throw new Refusal(NOT_UNDERSTOOD);
  }
  // None may appear or change places.
  let at = 0;
  for (const comment of made.comments) {
    at = old.comments.indexOf(comment, at) + 1;
    if (at === 0) throw new Refusal(NOT_UNDERSTOOD);
  }
  return after;
}

/** A value without what `path` leads to, and without tables on the way that are empty then. */
function without(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (!isObject(value) || key === undefined) return value;
  const inner = rest.length === 0 ? undefined : without(value[key], rest);
  const left = Object.entries(value).flatMap(([name, one]) => {
    if (name !== key) return [[name, one]];
    return inner === undefined || (isObject(inner) && Object.keys(inner).length === 0) ? [] : [[name, inner]];
  });
  return Object.fromEntries(left);
}

/** The same value made of ordinary objects, so that two parsers' results can be compared. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}
