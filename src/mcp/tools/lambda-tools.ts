import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import type { QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { Client } from '../../http/client.ts';
import { lineText } from '../fence.ts';
import { PROMPT_NAMES } from '../prompts.ts';
import { presentQuery } from '../query-answer.ts';
import { BUDGET, ROWS_FETCHED } from '../results.ts';
import { readArguments } from './arguments.ts';
import { columnsOf, type LambdaColumns } from './lambda-columns.ts';
import { type LambdaArgument, lambdaArguments, lambdaListing } from './lambda-listing.ts';
import { isRequired } from './lambda-lookup.ts';
import { argumentNames, lambdaToolNames } from './lambda-names.ts';
import type { Tool } from './tool.ts';
import { toolCards } from './tool-cards.ts';

/** So many lambdas are offered as tools, and so many tokens may their listings take together, all other tools about twice. */
export const LAMBDA_TOOLS_MAX = 40;
export const LAMBDA_TOKENS_MAX = 6_000;
const TOOL_TOKENS_MAX = 500;
const CHARS_PER_TOKEN = 4;
const NAME_CHARS_MAX = 100;
/** Lambdas that are looked at beside each other: a distant service answers no faster for one. */
const ASKED_AT_ONCE = 8;

/** A lambda with the tag that is offered as no tool. */
export interface LeftOut {
  /** Where it is, as `workspace.name`, on one visible line. */
  lambda: string;
  /** In words, without a final period. */
  why: string;
}

/** The lambdas with a tag as tools. */
export interface LambdaTools {
  tag: string;
  /** By name, in the order of workspaces and lambdas. */
  tools: ReadonlyMap<string, Tool>;
  left: readonly LeftOut[];
  /** What the listings take together, as estimated. */
  tokens: number;
  /** What a model is told of them; names of lambdas are data, and stay out. */
  note: string | undefined;
}

/**
 * The lambdas that have a tag now, as tools that run whatever version has it when they are called. What their statements
 * take and answer is asked of the service without running them. Rejects as the client does, or once `signal` aborts.
 */
export async function lambdaTools(client: Client, tag: string, signal: AbortSignal): Promise<LambdaTools> {
  const versions = (await taggedVersions(client, tag, signal)).sort(byPlace);
  const names = lambdaToolNames(versions, [...toolCards().keys(), ...PROMPT_NAMES]);
  const tools = new Map<string, Tool>();
  const left: LeftOut[] = [];
  let tokens = 0;
  const take = (found: Tool | string, { workspace, name }: Tagged) => {
    const size = typeof found === 'string' ? 0 : Math.ceil(JSON.stringify(found.listing).length / CHARS_PER_TOKEN);
    const why = typeof found === 'string' ? found : tooMuch(size, tokens + size);
    if (why !== undefined) left.push({ lambda: lineText(`${workspace}.${name}`, NAME_CHARS_MAX), why });
    else if (typeof found !== 'string') {
      tools.set(found.listing.name, found);
      tokens += size;
    }
  };
  for (let at = 0; at < versions.length; at += ASKED_AT_ONCE) {
    const some = versions.slice(at, at + ASKED_AT_ONCE);
    const isFull = tools.size >= LAMBDA_TOOLS_MAX || tokens >= LAMBDA_TOKENS_MAX;
    const found = await Promise.all(
      some.map((version, index) => (isFull ? FULL : toolOrWhy(client, tag, version, names[at + index], signal))),
    );
    for (const [index, version] of some.entries()) {
      take(tools.size >= LAMBDA_TOOLS_MAX ? FULL : (found[index] ?? FULL), version);
    }
  }
  return { tag, tools, left, tokens, note: noteOf(tag, tools.size, left.length) };
}

const FULL = `there is room for ${LAMBDA_TOOLS_MAX} such tools, and for ${LAMBDA_TOKENS_MAX} tokens of their listings`;

function tooMuch(tokens: number, all: number): string | undefined {
  if (tokens > TOOL_TOKENS_MAX) return `its listing takes ${tokens} tokens, and at most ${TOOL_TOKENS_MAX} are taken`;
  return all > LAMBDA_TOKENS_MAX ? FULL : undefined;
}

type Tagged = QueryLambdaVersion & { workspace: string; name: string };

/** None where no lambda has the tag. */
async function taggedVersions(client: Client, tag: string, signal: AbortSignal): Promise<Tagged[]> {
  try {
    const versions = await client.listTagVersions({ tag }, { signal });
    return versions.filter((one): one is Tagged => Boolean(one.workspace && one.name));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return [];
    throw error;
  }
}

/** By code units, so that the order is the same everywhere. */
function byPlace(a: Tagged, b: Tagged): number {
  if (a.workspace !== b.workspace) return a.workspace < b.workspace ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}

/** The tool of a lambda, or why it is none. */
async function toolOrWhy(
  client: Client,
  tag: string,
  version: Tagged,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Tool | string> {
  const query = version.sql?.query ?? '';
  if (name === undefined) return 'another tool has the name that it would have';
  if (version.state === 'INVALID_SQL') return 'its SQL does not bind now';
  try {
    const used = (await client.validateQuery({ parameters: true, sql: { query } }, { signal })).parameters ?? [];
    const shown = argumentNames(used).filter((one) => one !== undefined);
    if (shown.length < used.length) return 'two of its parameters come out alike';
    const args = lambdaArguments(version, used, shown);
    const defaults = version.sql?.default_parameters ?? [];
    const assumed = used.filter((one) => isRequired(defaults, one));
    const columns = await columnsOf(client, query, { defaults, assumed }, signal);
    return toolOf(name, tag, version, args, columns.kind === 'found' ? columnTexts(columns) : undefined);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError && (error.code === 'query_error' || error.code === 'invalid_input')) {
      return 'its SQL does not bind now';
    }
    throw error;
  }
}

/** Columns with their types, unless these were found with NULL for parameters that have no value, and may be others. */
function columnTexts({ columns, assumed }: Extract<LambdaColumns, { kind: 'found' }>): string[] {
  return Array.from(columns, ([name, type]) => (assumed.length > 0 ? name : `${name} ${type}`));
}

const CHANGED_NEXT =
  'The tag is on another version since this server started, with another parameter, which this tool takes once the server is started anew. Until then execute_lambda_tag, where it is offered, takes any.';
const GONE_NEXT =
  'The lambda was deleted or has lost its tag since this server started; the tool goes with the next start. A human can tag a version again.';

function toolOf(
  name: string,
  tag: string,
  version: Tagged,
  args: readonly LambdaArgument[],
  columns: readonly string[] | undefined,
): Tool {
  const { workspace, name: queryLambda } = version;
  return {
    listing: lambdaListing(name, version, args, columns),
    effect: 'read',
    role: 'read-only',
    toolset: 'lambdas',
    arguments: args,
    read: (sent) => readArguments(name, args, sent),
    run: async ({ client, signal }, input) => {
      const parameters = args.flatMap(({ name: argument, parameter }) =>
        Object.hasOwn(input, argument) ? [{ name: parameter, value: input[argument] as never }] : [],
      );
      const call = {
        workspace,
        queryLambda,
        tag,
        parameters,
        default_row_limit: ROWS_FETCHED,
        generate_warnings: true,
      };
      const response = await client.executeLambdaTag(call, { signal, keepResult: BUDGET.rowsMax });
      return presentQuery({ client, signal }, response, BUDGET.rowsMax, ROWS_FETCHED);
    },
    next: ({ code, message }) => {
      if (code === 'not_found') return GONE_NEXT;
      // All that the SQL took at the start was checked before.
      return code === 'query_error' && message.includes('has no value') ? CHANGED_NEXT : undefined;
    },
  };
}

function noteOf(tag: string, tools: number, left: number): string | undefined {
  const offered = `${counted(tools, 'tools')} named workspace_lambda ${tools === 1 ? 'is a stored query' : 'are stored queries'} tagged ${tag}: prefer one that answers the question to SQL of your own.`;
  const others = `${counted(left, 'lambdas')} with the tag ${tag} ${left === 1 ? 'is' : 'are'} no tool; execute_lambda_tag, where it is offered, runs them.`;
  return [...(tools > 0 ? [offered] : []), ...(left > 0 ? [others] : [])].join(' ') || undefined;
}
