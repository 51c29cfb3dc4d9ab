import { readSaid } from '../answers.ts';
import type { Data } from '../data/files.ts';
import { type Report, reportText } from '../report.ts';
import { headOf, playable } from '../run.ts';
import { listedTokens } from '../session.ts';
import { chosenTasks, questionOf, setsOf } from '../tasks/tasks.ts';
import { type Attempt, begin, judge, type Outcome } from '../verdict.ts';
import { type Choice, openWorld } from '../world.ts';

/** A server that is played by hand: commands in, text out, and nothing of what would be right. */
export interface Game {
  /** Rejects with what the player did wrong. */
  command(words: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

/** `tasks`: which are played, as `--tasks` names them (default: all); only their data are loaded. */
export async function openGame(
  data: Data,
  choice: Choice & { truths?: boolean; tasks?: string | undefined },
): Promise<Game> {
  const played = chosenTasks(choice.tasks);
  const world = await openWorld(data, setsOf(played), choice);
  const session = await world.open().catch(async (error: unknown) => {
    await world.close();
    throw error;
  });
  const { client, files } = world;
  const outcomes: Outcome[] = [];
  let attempt: Attempt | undefined;

  const report = (): Report => ({
    ...headOf(choice),
    player: 'hand',
    listed: listedTokens(session),
    outcomes,
    leftOut: playable(played, world).leftOut,
  });

  const commands: Record<string, (...args: string[]) => Promise<string> | string> = {
    ping: () => '',
    tools: () =>
      [
        session.instructions,
        '',
        ...session.tools.map(({ name, description, inputSchema }) =>
          JSON.stringify({ name, description, inputSchema }),
        ),
      ].join('\n'),
    async task(id = '') {
      if (attempt !== undefined)
        throw new Error(`${attempt.task.id} waits for its answer: hand answer ${attempt.task.id} '<json>'`);
      if (outcomes.some((outcome) => outcome.id === id)) throw new Error(`${id} has been answered`);
      const [task, ...others] = chosenTasks(id);
      if (task === undefined || others.length > 0)
        throw new Error(`name one task: ${chosenTasks(id).map((one) => one.id)}`);
      if (!played.includes(task)) throw new Error(`${id} is none of the tasks that are played: ${choice.tasks}`);
      if (playable([task], world).asked.length === 0) throw new Error(`${id} is for our own service only`);
      attempt = await begin(task, client, session);
      return questionOf(task, files);
    },
    async call(tool = '', json = '{}') {
      if (attempt === undefined) throw new Error('take a task first: hand task <id>');
      const call = await session.call(tool, readArguments(json));
      attempt.calls.push(call);
      return call.text;
    },
    async answer(id = '', json = '') {
      if (attempt?.task.id !== id) throw new Error(`${id} is not under way: hand task ${id}`);
      const { task, calls } = attempt;
      const outcome = await judge(attempt, readSaid(json), { data, client, truths: choice.truths }, session);
      outcomes.push(outcome);
      attempt = undefined;
      return `Noted: ${task.id}, ${calls.length} calls, ${outcome.answerTokens} tokens of answers.`;
    },
    stop: (form = '') => (form === 'json' ? JSON.stringify(report(), null, 2) : reportText(report())),
  };

  return {
    async command([name = '', ...args]) {
      const run = commands[name];
      if (run === undefined) throw new Error(`there is no command ${name}: ${Object.keys(commands).join(', ')}`);
      return run(...args);
    },
    async close() {
      await session.close();
      await world.close();
    },
  };
}

function readArguments(json: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(`the arguments are not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('the arguments are an object');
  return value as Record<string, unknown>;
}
