import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Task } from './tasks/task.ts';
import { tokensOf } from './tokens.ts';

const CALL_MAX_MS = 300_000;

export interface Start {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
}

export interface ListedTool {
  name: string;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown> | undefined;
}

/** One call, as a model makes it and as it is answered. */
export interface Call {
  tool: string;
  args: Record<string, unknown>;
  text: string;
  isError: boolean;
  argumentTokens: number;
  answerTokens: number;
}

/** A connection to an MCP server. */
export interface Session {
  instructions: string;
  tools: readonly ListedTool[];
  call(tool: string, args: Record<string, unknown>): Promise<Call>;
  /** Who answers when the server asks a human; counts the questions from now on. */
  human: { answers: Task['human']; asked: number };
  close(): Promise<void>;
}

/** Starts a server by its command and asks what it offers. */
export async function openSession({ command, args, env, cwd }: Start): Promise<Session> {
  const client = new Client({ name: 'evals', version: '1' }, { capabilities: { elicitation: {} } });
  const human: Session['human'] = { answers: 'declines', asked: 0 };
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    human.asked += 1;
    if (human.answers !== 'accepts' || !('requestedSchema' in params)) return { action: 'decline' as const };
    return { action: 'accept' as const, content: filledForm(params.requestedSchema.properties) };
  });
  await client.connect(new StdioClientTransport({ command, args: [...args], env, cwd, stderr: 'ignore' }));
  return {
    instructions: client.getInstructions() ?? '',
    tools: await listed(client),
    human,
    async call(tool, given) {
      const argumentTokens = tokensOf(JSON.stringify(given));
      const { text, isError } = await answerTo(client, tool, given);
      return { tool, args: given, text, isError, argumentTokens, answerTokens: tokensOf(text) };
    },
    close: () => client.close(),
  };
}

async function listed(client: Client): Promise<ListedTool[]> {
  const found: ListedTool[] = [];
  let cursor: string | undefined;
  do {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor });
    found.push(...(tools as ListedTool[]));
    cursor = nextCursor;
  } while (cursor !== undefined);
  return found;
}

/** What clients hand to a model: the text; of anything else, its JSON. What the protocol refuses is an error, too. */
async function answerTo(client: Client, name: string, args: Record<string, unknown>) {
  try {
    const { content, isError } = await client.callTool({ name, arguments: args }, { timeout: CALL_MAX_MS });
    const texts = content.map((block) => (block.type === 'text' ? block.text : JSON.stringify(block)));
    return { text: texts.join('\n'), isError: isError === true };
  } catch (error) {
    return { text: `Error: ${error instanceof Error ? error.message : String(error)}`, isError: true };
  }
}

/** A form as a human fills it in who agrees: yes to each question, and the name that is asked for. */
function filledForm(fields: Record<string, { type?: string; title?: string | undefined }>) {
  return Object.fromEntries(
    Object.entries(fields).map(([key, { type, title = '' }]) => [
      key,
      type === 'boolean' ? true : (/^Type (.*) to confirm$/.exec(title)?.[1] ?? title),
    ]),
  );
}

/** What a server costs before the first call: in tokens, with and without the schemas of results. */
export function listedTokens({ instructions, tools }: Pick<Session, 'instructions' | 'tools'>) {
  const without = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const full = tools.map(({ name, description, inputSchema, outputSchema }) => ({
    name,
    description,
    inputSchema,
    outputSchema,
  }));
  const own = tokensOf(instructions);
  return {
    tools: tools.length,
    withoutOutput: own + tokensOf(JSON.stringify(without)),
    withOutput: own + tokensOf(JSON.stringify(full)),
  };
}
