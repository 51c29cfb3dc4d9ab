import { type Said, saidIn } from '../answers.ts';
import type { Call, Session } from '../session.ts';
import { anthropic } from './anthropic.ts';
import type { Model, Told, Turn } from './model.ts';
import { openai } from './openai.ts';

const PROVIDERS = { openai, anthropic };

/** A model by `provider:model`. Throws if there is no such provider. */
export function modelNamed(name: string, base: string | undefined): Model {
  const [provider = '', ...rest] = name.split(':');
  const make = Object.entries(PROVIDERS).find(([one]) => one === provider)?.[1];
  const model = rest.join(':');
  if (make === undefined || model === '') {
    throw new Error(`--model ${name}: expected <provider>:<model>, with one of ${Object.keys(PROVIDERS).join(', ')}`);
  }
  return make(model, base?.replace(/\/$/, ''));
}

/** Beside the instructions of the server: how a task ends. */
export const RULES =
  'Answer the question with the tools. Work alone: nobody answers questions of yours. End with one line ' +
  'ANSWER: {"answer": …, "unsure": false}, where the answer is JSON of the form that is asked for, and unsure is true ' +
  'if you doubt that it is right.';

/** What one model and one server have said to each other so far. */
export interface Conversation {
  model: Model;
  session: Session;
  told: Told[];
}

/**
 * Asks one more question, and lets the model call tools until it answers, or has had its turns. Calls are added to `calls`
 * as they are made. `failure`: why its provider did not go on.
 */
export async function play({ model, session, told }: Conversation, question: string, calls: Call[], turnsMax: number) {
  const system = [session.instructions, RULES].filter((text) => text !== '').join('\n\n');
  told.push({ role: 'user', text: question });
  const usage = { input: 0, output: 0 };
  let said: Said | undefined;
  let failure: string | undefined;
  for (let turn = 0; turn < turnsMax; turn += 1) {
    const next: Turn | string = await model({ system, tools: session.tools, told }).catch(
      (error: Error) => error.message,
    );
    if (typeof next === 'string') {
      failure = next;
      break;
    }
    usage.input += next.usage.input;
    usage.output += next.usage.output;
    told.push({ role: 'assistant', text: next.text, calls: next.calls });
    if (next.calls.length === 0) {
      said = saidIn(next.text);
      break;
    }
    for (const { id, tool, args } of next.calls) {
      if (args === undefined) {
        told.push({ role: 'tool', id, text: 'Error: the arguments are not JSON.', isError: true });
        continue;
      }
      const call = await session.call(tool, args);
      calls.push(call);
      told.push({ role: 'tool', id, text: call.text, isError: call.isError });
    }
  }
  return { said, usage, failure };
}
