import type { Data } from './data/files.ts';
import type { Model } from './models/model.ts';
import { type Conversation, play } from './models/play.ts';
import type { Report } from './report.ts';
import { listedTokens } from './session.ts';
import { isPortable, KINDS, type Task } from './tasks/task.ts';
import { questionOf, setsOf } from './tasks/tasks.ts';
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
  /** Whether all tasks of a kind are one conversation, as in a chat (default: each is one of its own). */
  together?: boolean | undefined;
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

/** Each conversation has a process of the server of its own. */
export async function runTasks(run: Run): Promise<Report> {
  const world = await openWorld(run.data, setsOf(run.tasks), run.choice);
  const leave = () => void world.close().finally(() => process.exit(130));
  process.once('SIGINT', leave);
  try {
    const { asked, leftOut } = playable(run.tasks, world);
    const first = await world.open();
    const listed = listedTokens(first);
    await first.close();
    const outcomes: Outcome[] = [];
    for (const tasks of conversationsOf(asked, run.together)) {
      const conversation = { model: run.model, session: await world.open(), told: [] };
      try {
        for (const task of tasks) {
          const outcome = await playTask(task, conversation, world, run);
          outcomes.push(outcome);
          run.onOutcome?.(outcome);
        }
      } finally {
        await conversation.session.close();
      }
    }
    return { ...headOf(run.choice), player: run.player, listed, outcomes, leftOut };
  } finally {
    process.off('SIGINT', leave);
    await world.close();
  }
}

function conversationsOf(tasks: readonly Task[], together = false): readonly (readonly Task[])[] {
  if (!together) return tasks.map((task) => [task]);
  return KINDS.map((kind) => tasks.filter((task) => task.kind === kind)).filter((some) => some.length > 0);
}

async function playTask(
  task: Task,
  conversation: Conversation,
  { client, files }: World,
  { data, turnsMax, truths }: Run,
) {
  const attempt = await begin(task, client, conversation.session);
  const question = questionOf(task, files);
  const { said, usage, failure } = await play(conversation, question, attempt.calls, turnsMax);
  const outcome = await judge(attempt, said, { data, client, truths }, conversation.session);
  return { ...outcome, usage, ...(failure === undefined ? {} : { why: failure }) };
}
