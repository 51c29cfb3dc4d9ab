import { byBytes } from '../../contract/text.ts';
import type { SourceMemory } from './source.ts';

/*
 * What is remembered of the objects of a bucket, so that documents go when theirs do:
 *
 * - `o/<key>`: an object that was read, in the order of a listing.
 * - `d/<key, encoded> <reading> <row>`: the documents with ids of their own that one reading of an object had, some of them.
 * - `s/<key>`: an object of which there are such documents of earlier readings.
 * - `r/<key>`: an object that is to be read again, although it is the same.
 */

export interface KnownObject {
  /** Empty: not the one that was read last, which changed meanwhile. */
  version: string;
  size: number;
  /** The last row of which a document with a derived id may be stored. */
  derived: number;
  /** Whether it has documents with ids of their own. */
  hasOwn: boolean;
}

export const objectKey = (key: string) => `o/${key}`;
export const staleKey = (key: string) => `s/${key}`;
export const againKey = (key: string) => `r/${key}`;

export function objectValue({ version, size, derived, hasOwn }: KnownObject): string {
  return JSON.stringify([version, size, derived, hasOwn ? 1 : 0]);
}

export function readObjectValue(text: string): KnownObject {
  const [version, size, derived, hasOwn] = JSON.parse(text) as [string, number, number, number];
  return { version, size, derived, hasOwn: hasOwn === 1 };
}

/** What the keys of an object's documents begin with. */
export function idsPrefix(key: string): string {
  return `d/${encodeURIComponent(key)} `;
}

export function idsKey(key: string, reading: number, row: number): string {
  return `${idsPrefix(key)}${reading} ${row}`;
}

/** The object, and which reading of it, that a key of documents is of. */
export function readIdsKey(text: string): { key: string; reading: number } {
  const [key = '', reading] = text.slice('d/'.length).split(' ');
  return { key: decodeURIComponent(key), reading: Number(reading) };
}

export function readIds(text: string): string[] {
  return JSON.parse(text) as string[];
}

const PAGE_MIN = 64;
const PAGE_MAX = 20_000;
/** Text of entries that is held at once, about. */
const PAGE_CHARS = 4 * 1024 * 1024;

/** Entries whose keys begin with a prefix, in order, read as they are asked for. */
export interface SortedEntries {
  /** The first one that is left; undefined: none is. */
  peek(): Promise<readonly [key: string, value: string] | undefined>;
  skip(): void;
}

/** `after`: a key with its prefix; those behind it. */
export function sortedEntries(memory: SourceMemory, prefix: string, after = prefix): SortedEntries {
  let page: readonly [string, string][] = [];
  let at = 0;
  let last = after;
  let isEnd = false;
  let max = PAGE_MIN;
  return {
    async peek() {
      if (at === page.length && !isEnd) {
        page = await memory.after(last, max);
        at = 0;
        isEnd = page.length < max || !(page.at(-1)?.[0].startsWith(prefix) ?? false);
        last = page.at(-1)?.[0] ?? last;
        const chars = page.reduce((sum, [key, value]) => sum + key.length + value.length, 1);
        max = Math.max(PAGE_MIN, Math.min(PAGE_MAX, 8 * max, Math.floor((page.length * PAGE_CHARS) / chars)));
      }
      const entry = page[at];
      return entry?.[0].startsWith(prefix) === true ? entry : undefined;
    },
    skip() {
      at += 1;
    },
  };
}

/** The smallest of some keys; undefined: there are none. */
export function firstKey(keys: readonly (string | undefined)[]): string | undefined {
  const some = keys.filter((key) => key !== undefined);
  return some.length === 0 ? undefined : some.reduce((a, b) => (byBytes(a, b) <= 0 ? a : b));
}
