import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../contract/json/json.ts';

/** A configuration that this program does not change; the message says why, worded to follow a colon. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/**
 * A file format of configurations. `path` is the list of keys that lead to an entry. All methods throw `Refusal` for a
 * text that they do not understand.
 */
export interface ConfigFormat {
  /** The value of the text, and its comments in order. */
  read(text: string): { value: unknown; comments: readonly string[] };
  /** The text with the entry added or replaced; nothing else differs. */
  put(text: string, path: readonly string[], entry: Entry): string;
  /** Number of comments inside an entry, which are removed with it. */
  commentsWithin(text: string, path: readonly string[]): number;
  /** The text without the entry, which must be there. */
  remove(text: string, path: readonly string[]): string;
}

/** How an assistant starts the server. */
export type Entry = Readonly<Record<string, unknown>>;

/** The entry at `path`; undefined if there is none. Throws `Refusal` if something else is in its place. */
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

/** The text with the entry, checked: apart from the entry its meaning is unchanged, and every comment is kept. */
export function withEntry(format: ConfigFormat, text: string, path: readonly string[], entry: Entry): string {
  if (isDeepStrictEqual(plain(entryAt(format, text, path)), plain(entry))) return text;
  const changed = format.put(text, path, entry);
  if (!isDeepStrictEqual(plain(entryAt(format, changed, path)), plain(entry))) throw new Refusal(NOT_UNDERSTOOD);
  return checked(format, text, changed, path);
}

/** The text without the entry, checked in the same way. */
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
  // No comment may appear or move past another.
  let at = 0;
  for (const comment of made.comments) {
    at = old.comments.indexOf(comment, at) + 1;
    if (at === 0) throw new Refusal(NOT_UNDERSTOOD);
  }
  return after;
}

/** A value without what `path` leads to, and without objects on the way that are empty then. */
function without(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (!isObject(value) || key === undefined) return value;
  const inner = rest.length === 0 ? undefined : without(value[key], rest);
  const left = Object.entries(value).flatMap(([name, one]) => {
    if (name !== key) return [[name, one]];
    return inner === undefined || (isObject(inner) && Object.keys(inner).length === 0) ? [] : [[name, inner]];
  });
  return Object.fromEntries(left);
}

/** The same value made of ordinary objects, so that the results of two parsers can be compared. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}
