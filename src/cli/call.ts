import type { InvocationOf } from '../commands.ts';
import { ApiError } from '../contract/errors.ts';
import { counted } from '../contract/in-words.ts';
import { parseJson, stringifyJson } from '../contract/json/json.ts';
import { messageOf } from '../contract/text.ts';
import type { Client } from '../http/client.ts';
import { type Confirmation, callTool, unknownTool } from '../mcp/call.ts';
import type { Means } from '../mcp/means.ts';
import { hiddenTools, offeredTools } from '../mcp/offer.ts';
import type { Config } from '../settings.ts';
import { connectService } from './connect.ts';
import { personLog, plainText } from './log.ts';
import { auditOf, ownMeans, secretMeans } from './means.ts';
import { offerOf } from './offer.ts';
import { forPerson } from './person.ts';
import { shownProgress } from './progress.ts';
import { askAtTerminal, isYes } from './terminal.ts';

/**
 * Runs one tool as an assistant would, and prints its answer to standard output as one JSON document, even if the tool
 * failed: the error then also goes to standard error, and the exit code is 1. If the tool cannot be called at all, only
 * standard error says so. Deleting asks at the terminal, and is refused if there is none, unless the guard is off.
 */
export function call({ config, tool, input }: InvocationOf<'call'>, bin: string): Promise<number> {
  return forPerson(async () => {
    if (tool !== undefined) return callOne(config, tool, input, bin);
    process.stdout.write(toolList(config));
    return 0;
  });
}

async function callOne(config: Config, tool: string, input: string | undefined, bin: string): Promise<number> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const shown = shownProgress(process.stderr);
  let client: Client | undefined;
  let audit: ReturnType<typeof auditOf>;
  const secrets: ShownSecret[] = [];
  try {
    const args = argumentsIn(input);
    refuseHidden(config, tool);
    const log = personLog(config);
    audit = auditOf(config, 'call', log);
    client = await connectService(config, bin, log);
    const means = {
      ...secretMeans(config),
      ...ownMeans(config),
      ...(process.stdout.isTTY ? { keepSecret: shownHere(secrets) } : {}),
    };
    const answer = await callTool({
      client,
      name: tool,
      args,
      signal: stop.signal,
      means,
      audit,
      progress: shown.report,
      guard: config.guard,
      confirm: (...question) => shown.quietly(() => confirm(...question)),
    });
    shown.clear();
    process.stdout.write(`${stringifyJson(answer.structured)}\n`);
    process.stderr.write(answer.isError ? failureText(tool, answer.structured) : refusedText(answer.structured));
    if (answer.isError) return 1;
    for (const { label, secret } of secrets) process.stdout.write(`${plainText(label)}: ${plainText(secret)}\n`);
    return 0;
  } finally {
    shown.clear();
    await audit?.settled();
    await client?.close();
  }
}

interface ShownSecret {
  label: string;
  secret: string;
}

/**
 * A person at a terminal is shown a new secret. Any other reader of the output may be an assistant with a shell, and
 * gets it like every assistant: in a file of the data folder.
 */
function shownHere(secrets: ShownSecret[]): NonNullable<Means['keepSecret']> {
  return async (label, secret) => {
    secrets.push({ label, secret });
    return 'this terminal';
  };
}

/** The tools with their arguments; those in brackets are optional. */
function toolList(config: Config): string {
  const lines = Array.from(offeredTools(offerOf(config)).values(), ({ listing }) => {
    const { properties = {}, required = [] } = listing.inputSchema;
    const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `[${name}]`));
    return `${listing.name} ${names.join(' ')}\n    ${listing.description}\n`;
  });
  return lines.join('');
}

/** Throws if there is no such tool, or the settings hide it. */
function refuseHidden(config: Config, tool: string): void {
  const offered = offeredTools(offerOf(config));
  if (offered.has(tool)) return;
  const hidden = hiddenTools(offerOf(config)).find((one) => one.tool === tool);
  if (hidden === undefined) throw new ApiError('not_found', unknownTool(tool, offered));
  const { why, remedy = 'Leave that setting out to call it' } = hidden;
  throw new ApiError('forbidden', `Cannot call tool "${tool}": ${why}. ${remedy}.`);
}

function argumentsIn(input: string | undefined): Record<string, unknown> {
  if (input === undefined) return {};
  let value: unknown;
  try {
    value = parseJson(input);
  } catch (error) {
    const why = messageOf(error);
    throw new ApiError('invalid_input', `The arguments are not JSON: ${why}. Write them as '{"name": "value"}'.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiError('invalid_input', `The arguments are no JSON object. Write them as '{"name": "value"}'.`);
  }
  return value as Record<string, unknown>;
}

/** The message of an error answer, and what to do about it. */
function failureText(tool: string, answer: Readonly<Record<string, unknown>>): string {
  const { error, next, stopped_because: stopped } = answer;
  const { message = stopped, did_you_mean: near } = (typeof error === 'object' && error !== null ? error : {}) as {
    message?: unknown;
    did_you_mean?: unknown;
  };
  const said = typeof message === 'string' ? message : `${tool} failed.`;
  const lines = [said, Array.isArray(near) && `Did you mean: ${near.join(', ')}`, next];
  return `colloquy: ${plainText(lines.filter((text) => typeof text === 'string').join('\n'))}\n${refusedText(answer)}`;
}

/** How many of several documents were refused, if any: the tool itself has not failed. */
function refusedText({ counts }: Readonly<Record<string, unknown>>): string {
  if (typeof counts !== 'object' || counts === null) return '';
  const numbers = Object.entries(counts).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  const refused = numbers.find(([status]) => status === 'ERROR')?.[1] ?? 0;
  if (refused === 0) return '';
  const all = numbers.reduce((sum, [, count]) => sum + count, 0);
  return `colloquy: ${refused} of ${counted(all, 'documents')} ${refused === 1 ? 'was' : 'were'} refused; the answer says which and why.\n`;
}

/** Asks the person at the terminal; without a terminal nobody is asked, so that no program can answer. */
async function confirm(message: string, typedName: string | undefined): Promise<Confirmation> {
  const wanted = typedName === undefined ? '[y/N] ' : `Type ${typedName} to confirm: `;
  const typed = await askAtTerminal(`${message}\n${wanted}`);
  if (typed === undefined) return 'nobody';
  if (typedName === undefined) return isYes(typed);
  if (typed === typedName) return true;
  return typed.trim() === '' ? false : 'mistyped';
}
