import type { JsonValue } from '../../contract/json/json.ts';

/** A cell of an answer; a Date stands for any text with the same time. */
export type Cell = JsonValue | Date;

/** The rows of an answer, or the expected ones. */
export interface Table {
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/**
 * The expected outcome of a call: a table, or a text that matches all of these patterns and is or is not an error.
 * Columns of the answer that are missing in the table are ignored.
 */
export type Expected = Table | { says: readonly RegExp[]; isError: boolean };

/** The outcome of a call. */
export interface Outcome {
  table: Table;
  text: string;
  isError: boolean;
}

/** How `outcome` differs from `expected`, in sentences for a person; empty if it does not. */
export function differences(expected: Expected, outcome: Outcome): string[] {
  if ('says' in expected) return wordDifferences(expected, outcome);
  if (outcome.isError) return [`expected a result, but the call failed: ${outcome.text}`];
  return tableDifferences(expected, outcome.table);
}

function wordDifferences(expected: { says: readonly RegExp[]; isError: boolean }, outcome: Outcome): string[] {
  const found = expected.says
    .filter((pattern) => !pattern.test(outcome.text))
    .map((pattern) => `expected the answer to say ${pattern}, but it says: ${outcome.text}`);
  if (expected.isError === outcome.isError) return found;
  return [`expected ${expected.isError ? 'an error' : 'no error'}, but got: ${outcome.text}`, ...found];
}

function tableDifferences(expected: Table, actual: Table): string[] {
  const places = expected.columns.map((column) => actual.columns.indexOf(column));
  if (places.includes(-1)) {
    return [`expected the columns ${expected.columns.join(', ')}, but got ${actual.columns.join(', ')}`];
  }
  if (expected.rows.length !== actual.rows.length) {
    return [`expected ${expected.rows.length} rows, but got ${actual.rows.length}`];
  }
  return expected.rows.flatMap((row, at) =>
    expected.columns.flatMap((column, index) => {
      const [want, got] = [row[index] ?? null, actual.rows[at]?.[places[index] ?? -1] ?? null];
      if (sameCell(want, got)) return [];
      return [`row ${at + 1}, ${column}: expected ${show(want)}, but got ${show(got)}`];
    }),
  );
}

/** Whether cells are equal. Exact numbers may be sent as text, and sums of doubles may differ in their last digits. */
function sameCell(want: Cell, got: Cell): boolean {
  if (want instanceof Date) return typeof got === 'string' && Date.parse(got) === want.getTime();
  if (typeof want === 'number' && (typeof got === 'number' || (typeof got === 'string' && got !== ''))) {
    return Math.abs(want - Number(got)) <= Math.abs(want) * 1e-9;
  }
  return JSON.stringify(want) === JSON.stringify(got);
}

function show(cell: Cell): string {
  return cell instanceof Date ? cell.toISOString() : JSON.stringify(cell);
}
