const CONTEXT = 3;
/** More lines than this between the first and the last change are not compared one by one. */
const COMPARED_MAX = 400;

/** The unified diff between two texts; undefined stands for a file that does not exist. Empty if they are equal. */
export function unifiedDiff(path: string, before: string | undefined, after: string | undefined): string {
  const [old, made] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < made.length && old[head] === made[head]) head += 1;
  let tail = 0;
  const limit = Math.min(old.length, made.length) - head;
  while (tail < limit && old[old.length - 1 - tail] === made[made.length - 1 - tail]) tail += 1;
  const changed = between(old.slice(head, old.length - tail), made.slice(head, made.length - tail));
  if (changed.length === 0) return '';
  const above = old.slice(Math.max(0, head - CONTEXT), head);
  const below = old.slice(old.length - tail, old.length - tail + CONTEXT);
  const body = [...above.map(kept), ...changed, ...below.map(kept)];
  const from = rangeOf(old, head - above.length, body.filter((line) => !line.startsWith('+')).length);
  const to = rangeOf(made, head - above.length, body.filter((line) => !line.startsWith('-')).length);
  return [
    `--- ${before === undefined ? '/dev/null' : path}`,
    `+++ ${after === undefined ? '/dev/null' : path}`,
    `@@ -${from} +${to} @@`,
    ...body,
  ].join('\n');
}

function kept(line: string): string {
  return ` ${line}`;
}

function rangeOf(lines: readonly string[], start: number, count: number): string {
  return `${lines.length === 0 || count === 0 ? start : start + 1},${count}`;
}

function linesOf(text: string | undefined): string[] {
  if (text === undefined || text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') return lines.slice(0, -1);
  return [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`];
}

/** A shortest sequence of steps from `a` to `b`, by the longest common subsequence. */
function between(a: readonly string[], b: readonly string[]): string[] {
  if (a.length > COMPARED_MAX || b.length > COMPARED_MAX) {
    return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  }
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = common[i];
      if (row !== undefined) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push(` ${a[i++]}`);
      j += 1;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) steps.push(`-${a[i++]}`);
    else steps.push(`+${b[j++]}`);
  }
  return steps;
}
