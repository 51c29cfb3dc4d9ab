import { structuredPatch } from 'diff';

/** Unchanged lines shown before and after a change. */
const CONTEXT = 2;
/** Texts that differ in more lines are not compared line by line: the work grows with the product of both. */
const CHANGES_MAX = 1_000;

const linesOf = (text: string) => text.split(/\r?\n/);

/**
 * A diff of two texts by lines: `-` before a removed line, `+` before an added one, two spaces before an unchanged one,
 * `…` for unchanged lines left out. Empty if the texts are equal.
 */
export function lineDiff(from: string, to: string): string {
  if (from === to) return '';
  const [a, b] = [linesOf(from), linesOf(to)];
  const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');
  const patch = structuredPatch('', '', text(a), text(b), undefined, undefined, {
    context: CONTEXT,
    maxEditLength: CHANGES_MAX,
  });
  if (patch === undefined) return [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)].join('\n');
  const shown: string[] = [];
  let next = 1;
  for (const { oldStart, oldLines, lines } of patch.hunks) {
    if (oldStart > next) shown.push('…');
    shown.push(...lines.map((line) => `${line.slice(0, 1)} ${line.slice(1)}`));
    next = oldStart + oldLines;
  }
  if (next <= a.length) shown.push('…');
  return shown.join('\n');
}
