import type { listedTokens } from './session.ts';
import { KINDS } from './tasks/task.ts';
import { type Outcome, VERDICTS } from './verdict.ts';

export interface Report {
  date: string;
  /** What was measured, in words: the server, its profile, the model. */
  server: string;
  player: string;
  listed: ReturnType<typeof listedTokens>;
  outcomes: Outcome[];
  /** Ids of tasks that only our own service can be asked. */
  leftOut: string[];
}

const FIGURES = ['calls', 'failedCalls', 'answerTokens', 'argumentTokens', 'asked', 'seconds'] as const;
type Figure = (typeof FIGURES)[number];

export interface Sum extends Record<Figure, number> {
  tasks: number;
  right: number;
  silent: number;
  obeyed: number;
}

/** All tasks of a kind together; without a kind, all but that of the files, which is reported by itself. */
export function sumOf({ outcomes }: Pick<Report, 'outcomes'>, kind?: Outcome['kind']): Sum {
  const counted = outcomes.filter((one) => (kind === undefined ? one.kind !== 'files' : one.kind === kind));
  const count = (verdict: Outcome['verdict']) => counted.filter((one) => one.verdict === verdict).length;
  const total = (figure: Figure) => counted.reduce((sum, one) => sum + one[figure], 0);
  return {
    tasks: counted.length,
    right: count('right'),
    silent: count('silent'),
    obeyed: count('obeyed'),
    ...(Object.fromEntries(FIGURES.map((figure) => [figure, total(figure)])) as Record<Figure, number>),
  };
}

const whole = (value: number) => Math.round(value).toLocaleString('en');

function line(name: string, mark: string, figures: Record<Figure, number>): string {
  const cells = FIGURES.map((figure) => whole(figures[figure]).padStart(WIDTHS[figure]));
  return `${name.padEnd(24)}${mark.padEnd(18)}${cells.join('')}`;
}

const WIDTHS: Record<Figure, number> = {
  calls: 7,
  failedCalls: 8,
  answerTokens: 9,
  argumentTokens: 11,
  asked: 7,
  seconds: 9,
};
const HEAD = `${''.padEnd(24)}${''.padEnd(18)}  calls  failed  answers  arguments  asked  seconds`;

/** The report as text; tokens are those of o200k. */
export function reportText(report: Report): string {
  const { listed, outcomes, leftOut } = report;
  const lines = [
    `${report.date}, ${report.server}, played by ${report.player}`,
    `listed: ${listed.tools} tools; with the instructions ${whole(listed.withoutOutput)} tokens, ${whole(listed.withOutput)} with output schemas`,
    '',
    HEAD,
  ];
  for (const outcome of outcomes) {
    lines.push(line(outcome.id, outcome.verdict, outcome));
    if (outcome.why !== undefined) lines.push(`    ${outcome.why}`);
  }
  lines.push('');
  for (const kind of [...KINDS, undefined]) {
    const sum = sumOf(report, kind);
    if (sum.tasks === 0) continue;
    const silent = `${sum.silent} silent${sum.obeyed > 0 ? `, ${sum.obeyed} obeyed` : ''}`;
    lines.push(line(kind ?? 'all but files', `${sum.right}/${sum.tasks}, ${silent}`, sum));
    lines.push(
      `    a task: ${(sum.calls / sum.tasks).toFixed(2)} calls, ${whole(sum.answerTokens / sum.tasks)} tokens of answers`,
    );
  }
  const usage = outcomes.flatMap((one) => (one.usage === undefined ? [] : [one.usage]));
  if (usage.length > 0) {
    const [input, output] = (['input', 'output'] as const).map((side) =>
      usage.reduce((sum, one) => sum + one[side], 0),
    );
    lines.push('', `counted by the provider: ${whole(input ?? 0)} tokens in, ${whole(output ?? 0)} out`);
  }
  if (leftOut.length > 0) lines.push('', `left out, since only our own service can be checked: ${leftOut.join(', ')}`);
  return lines.join('\n');
}

/** How the second report differs from the first, over the tasks that both have. */
export function comparisonText(first: Report, second: Report): string {
  const ids = new Set(first.outcomes.map(({ id }) => id).filter((id) => second.outcomes.some((one) => one.id === id)));
  const shared = (report: Report) => ({ outcomes: report.outcomes.filter(({ id }) => ids.has(id)) });
  const [before, after] = [sumOf(shared(first)), sumOf(shared(second))];
  const row = (name: string, one: number, other: number) => {
    const ratio = one === 0 ? '' : `${(other / one).toFixed(2)} x`;
    return `${name.padEnd(28)}${whole(one).padStart(12)}${whole(other).padStart(12)}${ratio.padStart(10)}`;
  };
  const rows: [string, (sum: Sum) => number][] = [
    ['right', ({ right }) => right],
    ['silent errors', ({ silent }) => silent],
    ['obeyed', ({ obeyed }) => obeyed],
    ['calls', ({ calls }) => calls],
    ['failed calls', ({ failedCalls }) => failedCalls],
    ['tokens of answers', ({ answerTokens }) => answerTokens],
    ['tokens of arguments', ({ argumentTokens }) => argumentTokens],
    ['seconds', ({ seconds }) => seconds],
  ];
  const lines = [
    `first:  ${first.date}, ${first.server}, played by ${first.player}`,
    `second: ${second.date}, ${second.server}, played by ${second.player}`,
    '',
    `${`${before.tasks} tasks of both`.padEnd(28)}${'first'.padStart(12)}${'second'.padStart(12)}`,
    row('tokens listed', first.listed.withoutOutput, second.listed.withoutOutput),
    row('with output schemas', first.listed.withOutput, second.listed.withOutput),
    ...rows.map(([name, figure]) => row(name, figure(before), figure(after))),
    '',
  ];
  for (const id of ids) {
    const [one, other] = [first, second].map(({ outcomes }) => outcomes.find((outcome) => outcome.id === id));
    if (one === undefined || other === undefined) continue;
    const changed = one.verdict === other.verdict ? one.verdict : `${one.verdict} -> ${other.verdict}`;
    const calls = `${one.calls} -> ${other.calls} calls`;
    lines.push(
      `${id.padEnd(24)}${changed.padEnd(20)}${calls.padEnd(18)}${whole(one.answerTokens)} -> ${whole(other.answerTokens)} tokens of answers`,
    );
  }
  return lines.join('\n');
}

/** Reads a report that was written with `--json`. Throws if it is none. */
export function readReport(json: string, file: string): Report {
  const report: Partial<Report> = JSON.parse(json);
  const isReport = Array.isArray(report.outcomes) && report.listed !== undefined;
  if (!isReport || !report.outcomes?.every(({ verdict }) => VERDICTS.includes(verdict))) {
    throw new Error(`${file} is not a report of npm run evals -- --json`);
  }
  return report as Report;
}
