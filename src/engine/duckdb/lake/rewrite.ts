import type { ColumnStep } from '../connections/store.ts';

/**
 * A lake refuses most changes of a column's type, and takes no expression for its values. What only adds columns, or fields
 * of objects, is a change of the catalog; for anything else the table is written anew, and takes the place of the old one.
 */
export function columnStatements(table: string, steps: readonly ColumnStep[]): string[] {
  return statementsFor(
    table,
    steps.map((step) => ({ ...step, type: storedType(step.type) })),
  );
}

/** Files of a lake have no integers of 128 bits, and would round them. */
function storedType(type: string): string {
  return type.replace(/"(?:[^"]|"")*"|\bHUGEINT\b/g, (part) => (part === 'HUGEINT' ? 'DECIMAL(38,0)' : part));
}

function statementsFor(table: string, steps: readonly ColumnStep[]): string[] {
  if (steps.every((step) => step.do === 'add' || step.onlyAddsFields)) {
    return steps.map(({ do: what, column, type }) =>
      what === 'add'
        ? `ALTER TABLE ${table} ADD COLUMN ${column} ${type}`
        : `ALTER TABLE ${table} ALTER COLUMN ${column} SET DATA TYPE ${type}`,
    );
  }
  const next = `${table.slice(0, -1)} next"`;
  const rows = steps.reduce(
    (from, step) =>
      step.do === 'add'
        ? `SELECT *, CAST(NULL AS ${step.type}) AS ${step.column} FROM (${from})`
        : `SELECT * REPLACE (CAST(${step.using} AS ${step.type}) AS ${step.column}) FROM (${from})`,
    `FROM ${table}`,
  );
  const name = table.slice(table.lastIndexOf('"', table.length - 2));
  return [`CREATE TABLE ${next} AS ${rows}`, `DROP TABLE ${table}`, `ALTER TABLE ${next} RENAME TO ${name}`];
}
