import type { Opened } from '../gate/parse.ts';
import type { Names } from '../sql/names.ts';

/** Maximum number of remembered statements, and of their characters together. */
const STATEMENTS_MAX = 500;
const CHARACTERS_MAX = 2 * 1024 * 1024;
/** A longer text takes longer to run than to check. */
const STATEMENT_CHARACTERS_MAX = 16 * 1024;

/**
 * How long a statement is remembered that would have a second form in a larger collection: then it is opened again,
 * which checks the collection's size again.
 */
const SMALL_MS = 30_000;

/**
 * Statements that passed the gate, by the caller's text. Whether one passes depends only on the text and the names, so
 * any change of names forgets them all. Parameter values do not matter.
 */
export interface KnownStatements {
  find(sql: string): Known | undefined;
  /** With `isForNow`, remembers it only for a while. */
  add(sql: string, opened: Opened, isForNow?: boolean): void;
  /** To be called when a statement that passed as `opened` has run to its end in a read-only transaction. */
  hasOnlyRead(sql: string, opened: Opened): void;
}

export interface Known extends Opened {
  /** Whether it is proven not to write, rather than merely appearing so. */
  hasOnlyRead: boolean;
  /** As `performance.now()`. */
  until: number;
}

/** Keeps the most recently used ones. */
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
