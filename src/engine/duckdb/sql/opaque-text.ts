/*
 * DuckLake 1.5.5 asks its catalog which files may have rows that meet a filter, and writes what a column is compared with
 * into the SQL for that. There a text ends at U+0000, wherever it comes from: a statement, a parameter, a function, a row
 * that another is joined to. What is behind it is then read as SQL of the extension's own connection, which may do anything.
 * It cannot look through an expression over a column, so texts from outside are compared with such a one.
 */

/** The same text as a column's, as SQL. */
export function opaqueText(column: string): string {
  return `CASE WHEN ${column} IS NULL THEN NULL ELSE ${column} END`;
}
