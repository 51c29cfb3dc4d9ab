/**
 * What the text of an answer with rows says (`mcp/answer-text.ts` writes it), for hosts that drop its structured form.
 * Fields of several lines are left out.
 */
export function readAnswerText(text: string): Record<string, unknown> {
  const lines = text.split('\n');
  const data: Record<string, unknown> = {};
  const heads = lines.findIndex((line) => !FIELD.test(line));
  const end = lines.findIndex((line, index) => index > heads && COUNT.test(line));
  for (const line of end < 0 ? lines : [...lines.slice(0, heads), ...lines.slice(end + 1)]) addField(data, line);
  if (heads < 0 || end < 0) return data;
  const columns = cellsOf(lines[heads] ?? '', true).map((cell) => /^("(?:[^"\\]|\\.)*"|\S*) ?(.*)$/s.exec(cell) ?? []);
  const types = columns.map(([, , type = '']) => type);
  const [, first = '0', last, atLeast, all] = COUNT.exec(lines[end] ?? '') ?? [];
  return {
    ...data,
    columns: columns.map(([, name = '']) => readCell(name, 'VARCHAR')),
    types: types.map((type) => type || null),
    rows: lines.slice(heads + 1, end).map((line) => cellsOf(line).map((cell, at) => readCell(cell, types[at] ?? ''))),
    ...(last === undefined ? {} : { offset: Number(first) }),
    [atLeast === undefined ? 'total' : 'at_least']: Number(all ?? first),
  };
}

/** A field beside the rows: its name and a colon. */
const FIELD = /^"(?:[^"\\]|\\.)*":/;
const COUNT = /^\((\d+)(?: to (\d+))?(?: of (at least )?(\d+))?\)$/;

function addField(data: Record<string, unknown>, line: string): void {
  const [start = ''] = FIELD.exec(line) ?? [];
  if (start === '' || start.length === line.length) return;
  try {
    data[String(JSON.parse(start.slice(0, -1)))] = JSON.parse(line.slice(start.length));
  } catch {
    // Nothing that a person misses.
  }
}

/** The parts between the commas that are in no brackets and no quotes: of a type in the head, or of JSON in a row. */
function cellsOf(line: string, isHead = false): string[] {
  const cells: string[] = [];
  let [depth, from, isQuoted] = [0, 0, false];
  for (let at = 0; at < line.length; at++) {
    const character = line[at] as string;
    if (isQuoted && character === '\\') at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (isHead ? character === '(' : '[{'.includes(character) && (depth > 0 || at === from)) depth += 1;
    else if (depth > 0 && (isHead ? character === ')' : ']}'.includes(character))) depth -= 1;
    else if (character === ',' && depth === 0) {
      cells.push(line.slice(from, at));
      from = at + 1;
    }
  }
  return [...cells, line.slice(from)];
}

function readCell(cell: string, type: string): unknown {
  if (cell === 'null') return null;
  if (type === 'VARCHAR' && !cell.startsWith('"')) return cell;
  try {
    return JSON.parse(cell);
  } catch {
    return cell;
  }
}
