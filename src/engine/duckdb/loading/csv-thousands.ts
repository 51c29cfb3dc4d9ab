import { quoteName, quoteText } from '../sql/names.ts';
import type { ColumnNote } from './column-notes.ts';
import { belowOneAnother, hasDigits } from './csv-mixed.ts';
import type { Ask, RowColumn } from './relation.ts';

/*
 * Where commas are between decimals, cells have semicolons between them, and dots are between thousands: 1.500 may be one and
 * a half thousand. Of columns in which each dot may be such a one nobody knows what the numbers are, and they stay text.
 */

const SEPARATOR = ';';
const THOUSANDS = '-?[1-9][0-9]{0,2}[.][0-9]{3}';
const CELL_CHARS_MAX = 40;

/** Makes columns of numbers text whose dots may all be between thousands, and adds to the notes by column why. */
export async function withThousands(
  ask: Ask,
  from: string,
  columns: readonly RowColumn[],
  { separator, notes }: { separator: string; notes: Map<string, ColumnNote> },
): Promise<RowColumn[]> {
  const open = columns.filter(({ cell }) => cell?.kind === 'double' && cell.given === undefined);
  if (separator !== SEPARATOR || open.length === 0) return [...columns];
  const cells = open.map(({ cell }) => cell?.sql ?? 'NULL');
  const rows = await ask(
    `SELECT i, min(l), arg_min(left(c, ${CELL_CHARS_MAX}), l)
     FROM ${belowOneAnother(from, cells)}
     WHERE contains(c, '.') AND ${hasDigits('c')}
     GROUP BY i HAVING bool_and(regexp_full_match(c, ${quoteText(THOUSANDS)}))`,
  );
  const found = new Map(rows.map(([at, line, cell]) => [open[Number(at)]?.name, { line: Number(line), cell }]));
  return columns.map((column): RowColumn => {
    const { name, cell } = column;
    const first = found.get(name);
    if (first === undefined || cell === undefined) return column;
    const shown = `line ${first.line.toLocaleString('en-US')} has ${JSON.stringify(String(first.cell))}`;
    const text = `${JSON.stringify(name)} is text, since its dots may be between thousands: ${shown}. If they are, CAST(replace(${quoteName(name)}, '.', '') AS BIGINT) is the number; if they are decimal points, load it with "types": {${JSON.stringify(name)}: "FLOAT"}.`;
    notes.set(name, { cause: 'are text, since their dots may be between thousands', text });
    return {
      name,
      shape: 'string',
      sql: cell.sql,
      cell: { sql: cell.sql, valueFor: (text) => text, kind: undefined, given: undefined },
    };
  });
}
