import { type GetPromptResult, ProtocolError, ProtocolErrorCode, type Server } from '@modelcontextprotocol/server';
import { nearest } from '../contract/nearest.ts';
import { visibleText } from '../contract/visible.ts';
import type { Assistant } from './assistant.ts';
import {
  administer,
  authorLambda,
  connectSource,
  exploreData,
  type Offered,
  type Prompt,
  type PromptArgument,
} from './prompt-texts.ts';
import type { Names } from './resources/resource-kinds.ts';

/** In the order in which they are listed. */
const PROMPTS: readonly Prompt[] = [exploreData, authorLambda, administer, connectSource];

/** Some libraries make a function of a prompt, too: no tool may have its name. */
export const PROMPT_NAMES: readonly string[] = PROMPTS.map(({ name }) => name);

const QUOTED_CHARS_MAX = 100;

/** The prompts whose tools are offered: any other would lead to tools that are not there. */
export function offeredPrompts(tools: Offered): readonly Prompt[] {
  return PROMPTS.filter(({ needs, needsOneOf }) => {
    return needs.every((tool) => tools.has(tool)) && (needsOneOf?.some((tool) => tools.has(tool)) ?? true);
  });
}

/** Registers the prompts: ways of working, for a human to choose from. */
export function registerPrompts(server: Pick<Server, 'setRequestHandler'>, { tools }: Assistant): void {
  server.setRequestHandler('prompts/list', async () => {
    const prompts = offeredPrompts(await tools).map(({ name, title, description, arguments: known }) => {
      return { name, title, description, arguments: known.map(listedArgument) };
    });
    return { prompts };
  });
  server.setRequestHandler('prompts/get', async ({ params }): Promise<GetPromptResult> => {
    const offered = await tools;
    const prompts = offeredPrompts(offered);
    const prompt = prompts.find(({ name }) => name === params.name);
    if (prompt === undefined) throw wrong(unknown('prompt', params.name, prompts));
    const text = prompt.text(readPromptArguments(prompt, params.arguments ?? {}), offered);
    return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  });
}

function listedArgument({ name, description, required }: PromptArgument) {
  return { name, description, required };
}

/** The possible values of an argument of a prompt; undefined if there is no such prompt or argument. */
export function promptValues(tools: Offered, prompt: string, argument: string) {
  const found = offeredPrompts(tools).find(({ name }) => name === prompt);
  return found?.arguments.find(({ name }) => name === argument)?.values;
}

/** Matches any visible character. */
const SEEN = /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

function readPromptArguments(prompt: Prompt, given: Readonly<Record<string, unknown>>): Names {
  const read: [string, string][] = [];
  const known = prompt.arguments.map(({ name }) => ({ name }));
  for (const name of Object.keys(given)) {
    if (!known.some((argument) => argument.name === name)) throw wrong(unknown('argument', name, known));
  }
  for (const { name, required, charsMax } of prompt.arguments) {
    const value = given[name];
    const isGiven = typeof value === 'string' && SEEN.test(value);
    const text = isGiven ? visibleText(value).trim() : '';
    if (text === '' && required) throw wrong(`argument "${name}" is missing: ${prompt.name} needs it.`);
    if (text.length > charsMax) {
      throw wrong(`argument "${name}" has ${text.length} characters, and at most ${charsMax} are taken.`);
    }
    if (text !== '') read.push([name, text]);
  }
  return Object.fromEntries(read);
}

function unknown(what: string, name: string, known: readonly { name: string }[]): string {
  const names = known.map((candidate) => candidate.name);
  const close = nearest(name, names);
  const hint = close.length > 0 ? `did you mean ${close.join(', ')}?` : `there are ${names.join(', ') || 'none'}.`;
  return `there is no ${what} "${visibleText(name).slice(0, QUOTED_CHARS_MAX)}"; ${hint}`;
}

function wrong(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Cannot get the prompt: ${message}`);
}
