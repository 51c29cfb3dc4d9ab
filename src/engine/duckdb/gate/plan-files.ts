/*
 * The plan of a query that was run names the files of a lake that it has read: of no use to whoever asks, and not theirs.
 */

const LABEL = 'Filename(s)';
const FILE_END = '.parquet';
const SEPARATORS = /([\s,"'<>\\]+)/;

/** The engine's text of a plan without the names of files; drawn boxes keep their width. */
export function withoutFiles(text: string): string {
  if (!text.includes(LABEL)) return text;
  return text.includes('│') ? withoutDrawn(text) : text.split(SEPARATORS).map(hidden).join('');
}

function hidden(part: string): string {
  return part.endsWith(FILE_END) && part.includes('ducklake-') ? 'file' : part;
}

/** Names are broken across the lines of a box, in which the label's part ends with an empty line. */
function withoutDrawn(text: string): string {
  /** Where the cells begin, in a line, that go on with names. */
  const open = new Set<number>();
  const lines = text.split('\n').map((line) => {
    let at = 0;
    const cells = line.split('│').map((cell) => {
      const begin = at;
      at += cell.length + 1;
      if (cell.includes(LABEL)) open.add(begin);
      else if (cell.trim() === '') open.delete(begin);
      else if (open.has(begin)) return ' '.repeat(cell.length);
      return cell;
    });
    return cells.join('│');
  });
  return lines.join('\n');
}
