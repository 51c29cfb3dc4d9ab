/** Unchanged lines shown before and after a change. */
const CONTEXT = 2;
/** Longer texts are not compared line by line: the work grows with the product of their lines. */
const LINES_MAX = 1_000;

/**
 * A diff of two texts by lines: `-` before a removed line, `+` before an added one, two spaces before an unchanged one,
 * `…` for unchanged lines left out. Empty if the texts are equal.
 */
export function lineDiff(from: string, to: string): string {
  if (from === to) return '';
  const a = from.split(/\r?\n/);
  const b = to.split(/\r?\n/);
  const steps =
    a.length > LINES_MAX || b.length > LINES_MAX
      ? [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)]
      : stepsBetween(a, b);
  return folded(steps).join('\n');
}

/** A shortest sequence of steps from `a` to `b`, by the longest common subsequence. */
function stepsBetween(a: readonly string[], b: readonly string[]): string[] {
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push(`  ${a[i]}`);
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      steps.push(`- ${a[i++]}`);
    } else {
      steps.push(`+ ${b[j++]}`);
    }
  }
  return steps;
}

function folded(steps: readonly string[]): string[] {
  const shown = new Set<number>();
  for (const [index, step] of steps.entries()) {
    if (step.startsWith(' ')) continue;
    for (let near = index - CONTEXT; near <= index + CONTEXT; near++) shown.add(near);
  }
  return steps.flatMap((step, index) => {
    if (shown.has(index)) return [step];
    return index === 0 || shown.has(index - 1) ? ['…'] : [];
  });
}
