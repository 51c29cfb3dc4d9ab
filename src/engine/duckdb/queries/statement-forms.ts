import type { DuckDBConnection } from '@duckdb/node-api';
import { holdsFor, rowsOf } from '../gate/by-hash.ts';
import { checkByHash, type Opened, open } from '../gate/parse.ts';
import type { Names } from '../sql/names.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import { makeMacros } from '../storage/macros.ts';
import type { Typed } from '../values/typed-json.ts';
import { createKnownStatements, type Known } from './known-statements.ts';

type Values = ReadonlyMap<string, Typed>;

/**
 * The forms in which a statement may run: as it was written, or, if it asks a large collection for the document with
 * some id, in a second form (`ByHash`). Whatever passed the gate, in either form, is remembered by the caller's text.
 */
export interface StatementForms {
  /** The statement of a text. Rejects `query_error` for one that cannot be read. */
  read(sql: string): Promise<Statement>;
  /** Takes a text through the gate, unless it has passed before and names have not changed since. */
  open(connection: DuckDBConnection, sql: string, statement: Statement, signal: AbortSignal): Promise<Opened>;
  /** The second form of an opened statement, if it has one that holds for these values. */
  second(opened: Opened, values: Values): Opened | null;
  /** The form in which a known text would run, if that form is known to only read. */
  quick(sql: string, values: Values): { form: Known; isSecond: boolean } | null;
  /** To be called when a form of a text has run to its end in a read-only transaction. */
  hasOnlyRead(sql: string, form: Opened, isSecond: boolean): void;
  /**
   * To be called when the second form of a text failed and the text as written did not: from now on it runs as written.
   */
  hasNoSecond(sql: string, opened: Opened): void;
}

/** A collection with at least `lookupRowsMin` rows is large. */
export function createStatementForms(names: Names, lookupRowsMin: number): StatementForms {
  const written = createKnownStatements(names);
  /** The same texts in their second forms. */
  const byHash = createKnownStatements(names);

  /** The second form, as an opened statement. */
  const secondOf = (opened: Opened): Opened | null => {
    const { passed, byHash: form } = opened;
    return form === null ? null : { ...opened, passed: { ...passed, sql: form.sql, byHash: null }, byHash: null };
  };

  const second = (opened: Opened, values: Values) =>
    opened.byHash !== null && holdsFor(opened.byHash, values) ? secondOf(opened) : null;

  return {
    read: async (sql) => written.find(sql)?.statement ?? (await readStatement(sql)),
    async open(connection, sql, statement, signal) {
      const found = written.find(sql);
      if (found !== undefined) {
        await makeMacros(connection, found.passed.macros);
        return found;
      }
      const first = await open(connection, statement, names, signal);
      const draft = first.passed.byHash;
      const isLarge = draft !== null && (await rowsOf(connection, draft)) >= lookupRowsMin;
      const opened = isLarge ? { ...first, byHash: await checkByHash(connection, first, signal) } : first;
      written.add(sql, opened, draft !== null && !isLarge);
      const other = secondOf(opened);
      if (other !== null) byHash.add(sql, other);
      return opened;
    },
    second,
    quick(sql, values) {
      const opened = written.find(sql);
      const isSecond = opened !== undefined && second(opened, values) !== null;
      const form = isSecond ? byHash.find(sql) : opened;
      return form?.hasOnlyRead === true ? { form, isSecond } : null;
    },
    hasOnlyRead: (sql, form, isSecond) => (isSecond ? byHash : written).hasOnlyRead(sql, form),
    hasNoSecond: (sql, opened) => written.add(sql, { ...opened, byHash: null }),
  };
}
