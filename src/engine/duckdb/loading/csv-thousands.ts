import {
  asCast,
  isDecimalComma,
  MAYBE_THOUSANDS,
  numbersIn,
  tryCast,
  withoutDots,
} from '../sql/corrections/readings.ts';
import { isMissing } from '../sql/missing.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import type { ColumnNote } from './column-notes.ts';
import { belowOneAnother, hasDigits } from './csv-mixed.ts';
import type { Ask, RowColumn } from './relation.ts';

/*
 * Where commas are between decimals, dots are between thousands: 1.500 may be one and a half thousand. Semicolons between cells
 * say so of a file, and so do decimal commas in another of its columns. Of columns in which each dot may be such a one nobody
 * knows what the numbers are, and they stay text.
 */

const SEPARATOR = ';';
const CELL_CHARS_MAX = 40;
const COMMAS_SHARE = 0.9;

/** The first cells of columns, by their SQL. */
export type FirstCells = ReadonlyMap<string, readonly unknown[]>;

/** Whether a column of text has numbers with decimal commas, by its first cells. */
function hasDecimalCommas({ shape, cell }: RowColumn, first: FirstCells): boolean {
  if (shape !== 'string') return false;
  const texts = (first.get(cell?.sql ?? '') ?? []).filter(
    (text): text is string => typeof text === 'string' && !isMissing(text),
  );
  const byComma = texts.filter((text) => numbersIn(text)[1] !== undefined);
  return byComma.some(isDecimalComma) && byComma.length >= COMMAS_SHARE * texts.length;
}

/** Makes columns of numbers text whose dots may all be between thousands, and adds to the notes by column why. */
export async function withThousands(
  ask: Ask,
  from: string,
  columns: readonly RowColumn[],
  { separator, first, notes }: { separator: string; first: FirstCells; notes: Map<string, ColumnNote> },
): Promise<RowColumn[]> {
  const open = columns.filter(({ cell }) => cell?.kind === 'double' && cell.given === undefined);
  if (open.length === 0 || (separator !== SEPARATOR && !columns.some((one) => hasDecimalCommas(one, first))))
    return [...columns];
  const cells = open.map(({ cell }) => cell?.sql ?? 'NULL');
  const rows = await ask(
    `SELECT i, min(l), arg_min(left(c, ${CELL_CHARS_MAX}), l)
     FROM ${belowOneAnother(from, cells)}
     WHERE contains(c, '.') AND ${hasDigits('c')}
     GROUP BY i HAVING bool_and(regexp_full_match(c, ${quoteText(MAYBE_THOUSANDS)}))`,
  );
  const found = new Map(rows.map(([at, line, cell]) => [open[Number(at)]?.name, { line: Number(line), cell }]));
  return columns.map((column): RowColumn => {
    const { name, cell } = column;
    const first = found.get(name);
    if (first === undefined || cell === undefined) return column;
    const shown = `line ${first.line.toLocaleString('en-US')} has ${JSON.stringify(String(first.cell))}`;
    const text = `${JSON.stringify(name)} is text, since its dots may be between thousands: ${shown}. If they are, ${withoutDots(quoteName(name), cell.mixed === undefined ? asCast : tryCast)} is the number; if they are decimal points, load it with "types": {${JSON.stringify(name)}: "FLOAT"}.`;
    notes.set(name, { cause: 'are text, since their dots may be between thousands', text });
    return {
      name,
      shape: 'string',
      sql: cell.sql,
      cell: { sql: cell.sql, valueFor: (text) => text, kind: undefined, given: undefined },
    };
  });
}
