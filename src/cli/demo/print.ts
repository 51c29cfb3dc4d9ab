import type { Cell, Table } from './check.ts';
import type { ToolAnswer } from './session.ts';

/** Longest printed line; fits a terminal of 100 columns. */
const WIDTH = 96;
const GAP = '  ';

/** The styles of printed text; without colours each of them leaves it unchanged. */
export interface Style {
  strong(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  code(text: string): string;
}

/** Styles for a terminal with or without colours. */
export function styleOf(colors: boolean): Style {
  const sgr = (on: number, off: number) => (text: string) => (colors ? `\x1b[${on}m${text}\x1b[${off}m` : text);
  return { strong: sgr(1, 22), faint: sgr(2, 22), good: sgr(32, 39), bad: sgr(31, 39), code: sgr(36, 39) };
}

/** A table as aligned lines: a header, then rows; numbers right-aligned, text that is too wide cut with "...". */
export function tableLines(table: Table, style: Style, indent: string): string[] {
  const cells = table.rows.map((row) => table.columns.map((_column, at) => cellText(row[at] ?? null)));
  const numeric = table.columns.map((_column, at) => isNumeric(table.rows.map((row) => row[at] ?? null)));
  const widths = columnWidths([[...table.columns], ...cells], WIDTH - indent.length);
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => {
        const width = widths[at] ?? 0;
        const cut = text.length > width ? `${text.slice(0, width - 3)}...` : text;
        return numeric[at] ? cut.padStart(width) : cut.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  return [style.faint(indent + line(table.columns)), ...cells.map((texts) => indent + line(texts))];
}

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL';
  if (typeof cell === 'string') return cell;
  return cell instanceof Date ? cell.toISOString() : JSON.stringify(cell);
}

function isNumeric(column: readonly Cell[]): boolean {
  const present = column.filter((cell) => cell !== null);
  return present.length > 0 && present.every((cell) => typeof cell === 'number' || /^-?[\d.]+$/.test(String(cell)));
}

/** Widths that show everything if possible; otherwise the widest column is narrowed until the line fits. */
function columnWidths(lines: readonly (readonly string[])[], widthMax: number): number[] {
  const widths = (lines[0] ?? []).map((_name, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  while (total() > widthMax) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = Math.max(4, (widths[widest] ?? 0) - 1);
    if (widths[widest] === 4) break;
  }
  return widths;
}

/** Text wrapped at spaces into lines that fit, each indented by `indent`. */
export function wrappedLines(text: string, indent: string): string[] {
  return text
    .split('\n')
    .filter((paragraph) => paragraph !== '')
    .flatMap((paragraph) => {
      const lines: string[] = [];
      let line = indent;
      for (const word of paragraph.split(' ')) {
        if (line.length > indent.length && line.length + 1 + word.length > WIDTH) {
          lines.push(line);
          line = indent;
        }
        line += line.length > indent.length ? ` ${word}` : word;
      }
      return [...lines, line];
    });
}

const INDENT = '    ';

/** A tool call as shown to a person: the tool, its SQL, and its other arguments. */
export function callLines(tool: string, args: Readonly<Record<string, unknown>>, style: Style): string[] {
  const { query, parameters, ...others } = args;
  const given = Object.entries(others).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const sql = typeof query === 'string' ? query.split('\n') : [];
  const values = Array.isArray(parameters)
    ? parameters.map(({ name, value }) => `:${name}=${JSON.stringify(value)}`)
    : [];
  return [`${tool} ${[...given, ...values].join(' ')}`.trimEnd(), ...sql].map((line) => INDENT + style.code(line));
}

/** The result of a call: what the human was asked, then the rows or, without rows, the text. */
export function answerLines(answer: ToolAnswer, table: Table | undefined, style: Style): string[] {
  const asked = answer.elicitations.flatMap(({ message, says, types }) => [
    ...wrappedLines(`The server asks: ${message}`, INDENT),
    `${INDENT}The human ${says === 'accept' ? `accepts, and types "${types}".` : 'declines.'}`,
  ]);
  return [...asked, ...(table === undefined ? textLines(answer) : tableLines(table, style, INDENT))];
}

/** An error as its message and what to do next; any other text without the marks that are meant for models. */
function textLines({ content, text }: ToolAnswer): string[] {
  const { error, next } = content;
  if (typeof error === 'object' && error !== null && 'message' in error) {
    const advice = next === undefined ? '' : `\nNext: ${next}`;
    return wrappedLines(`Error: ${error.message}${advice}`, INDENT);
  }
  const lines = text.split('\n').filter((line) => !/^<\/?data-[0-9a-f]+>/.test(line));
  return wrappedLines(lines.join('\n'), INDENT);
}
