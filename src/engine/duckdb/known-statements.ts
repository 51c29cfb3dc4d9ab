import type { Names } from './names.ts';
import type { Opened } from './parse.ts';

/** Most statements that are remembered, and most characters of them together. */
const STATEMENTS_MAX = 500;
const CHARACTERS_MAX = 2 * 1024 * 1024;
/** A longer text takes longer to run than to check. */
const STATEMENT_CHARACTERS_MAX = 16 * 1024;

/**
 * So long a statement is known that would have a second form in a larger collection: after that it is opened anew, which
 * looks how large that is by now.
 */
const SMALL_MS = 30_000;

/**
 * Statements that passed the gate, by the text that the caller wrote. What passes depends on the text and on the names
 * alone, so that any change of names forgets them all. Values of parameters are no part of it.
 */
export interface KnownStatements {
  find(sql: string): Known | undefined;
  /** `isForNow`: only for a while. */
  add(sql: string, opened: Opened, isForNow?: boolean): void;
  /** A statement that passed as `opened` has run to its end in a transaction that cannot write. */
  hasOnlyRead(sql: string, opened: Opened): void;
}

export interface Known extends Opened {
  /** It is known not to write, not only to look as if it did not. */
  hasOnlyRead: boolean;
  /** By `performance.now()`. */
  until: number;
}

/** The ones used last stay. */
export function createKnownStatements(names: Pick<Names, 'version'>): KnownStatements {
  const known = new Map<string, Known>();
  let version = names.version;
  let characters = 0;

  const drop = (sql: string) => {
    if (known.delete(sql)) characters -= sql.length;
  };
  const put = (sql: string, opened: Known) => {
    drop(sql);
    known.set(sql, opened);
    characters += sql.length;
  };

  const find = (sql: string) => {
    if (version !== names.version) {
      known.clear();
      characters = 0;
      version = names.version;
    }
    const opened = known.get(sql);
    if (opened === undefined) return undefined;
    if (opened.until < performance.now()) {
      drop(sql);
      return undefined;
    }
    put(sql, opened);
    return opened;
  };

  return {
    find,
    add(sql, opened, isForNow = false) {
      if (opened.namesVersion !== names.version || opened.namesVersion !== version) return;
      if (sql.length > STATEMENT_CHARACTERS_MAX || opened.passed.missing.length > 0) return;
      const until = isForNow ? performance.now() + SMALL_MS : Number.POSITIVE_INFINITY;
      put(sql, { ...opened, passed: { ...opened.passed, tree: undefined, byHash: null }, hasOnlyRead: false, until });
      for (const oldest of known.keys()) {
        if (known.size <= STATEMENTS_MAX && characters <= CHARACTERS_MAX) break;
        drop(oldest);
      }
    },
    hasOnlyRead(sql, { statement, namesVersion }) {
      const opened = find(sql);
      if (opened === undefined || opened.namesVersion !== namesVersion || statement.explain !== '') return;
      opened.hasOnlyRead = true;
    },
  };
}
