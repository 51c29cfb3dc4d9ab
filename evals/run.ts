import type { Data } from './data/files.ts';
import type { Model } from './models/model.ts';
import { play } from './models/play.ts';
import type { Report } from './report.ts';
import { listedTokens } from './session.ts';
import { isPortable, type Task } from './tasks/task.ts';
import { questionOf } from './tasks/tasks.ts';
import { begin, judge, type Outcome } from './verdict.ts';
import { type Choice, openWorld, type World } from './world.ts';

export interface Run {
  data: Data;
  choice: Choice;
  tasks: readonly Task[];
  model: Model;
  /** The model's name in the report. */
  player: string;
  turnsMax: number;
  truths?: boolean | undefined;
  onOutcome?: (outcome: Outcome) => void;
}

/** The tasks that a server can be asked, and the ids of the others. */
export function playable(tasks: readonly Task[], { client }: Pick<World, 'client'>) {
  const asked = tasks.filter((task) => client !== undefined || isPortable(task));
  return { asked, leftOut: tasks.filter((task) => !asked.includes(task)).map(({ id }) => id) };
}

export function headOf({ server, profile }: Choice): Pick<Report, 'date' | 'server'> {
  const own = `colloquy, ${profile === undefined ? 'all tools' : `profile ${profile}`}`;
  return { date: new Date().toISOString().slice(0, 10), server: server ?? own };
}

/** Each task is a conversation of its own, with a process of the server of its own. */
export async function runTasks(run: Run): Promise<Report> {
  const world = await openWorld(run.data, run.choice);
  const leave = () => void world.close().finally(() => process.exit(130));
  process.once('SIGINT', leave);
  try {
    const { asked, leftOut } = playable(run.tasks, world);
    const first = await world.open();
    const listed = listedTokens(first);
    await first.close();
    const outcomes: Outcome[] = [];
    for (const task of asked) {
      const outcome = await playTask(task, world, run);
      outcomes.push(outcome);
      run.onOutcome?.(outcome);
    }
    return { ...headOf(run.choice), player: run.player, listed, outcomes, leftOut };
  } finally {
    process.off('SIGINT', leave);
    await world.close();
  }
}

async function playTask(task: Task, { client, files, open }: World, { model, data, turnsMax, truths }: Run) {
  const session = await open();
  try {
    const attempt = await begin(task, client, session);
    const question = questionOf(task, files);
    const { said, usage, failure } = await play(model, session, question, attempt.calls, turnsMax);
    const outcome = await judge(attempt, said, { data, client, truths }, session);
    return { ...outcome, usage, ...(failure === undefined ? {} : { why: failure }) };
  } finally {
    await session.close();
  }
}
