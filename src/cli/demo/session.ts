import { Client } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** The answer of the demo's human to the server's questions, and the text typed into forms. */
export interface HumanAnswer {
  says: 'accept' | 'decline';
  types?: string;
}

/** A question that the server asked the human during a call. */
export interface Elicitation {
  message: string;
  says: HumanAnswer['says'];
  types: string;
}

/** A tool's answer, and how long it took. */
export interface ToolAnswer {
  content: Readonly<Record<string, unknown>>;
  text: string;
  isError: boolean;
  elicitations: Elicitation[];
  elapsedMs: number;
}

/** An MCP client connected to a server of its own. */
export interface Session {
  /** The protocol revision agreed on. */
  protocol: string;
  call(tool: string, args: Readonly<Record<string, unknown>>, human?: HumanAnswer): Promise<ToolAnswer>;
  /** The end of the server's log. */
  log(): string;
  /** Also ends the server process. */
  close(): Promise<void>;
}

export interface SessionOptions {
  /** The file of the built server. */
  bin: string;
  dataDir: string;
  signal: AbortSignal;
}

const PROTOCOL = '2026-07-28';
const DECLINES: HumanAnswer = { says: 'decline' };
/** The service exits soon by itself, even if the demo was killed before it could clean up. */
const IDLE_SECS = 60;
const LOG_CHARS_MAX = 4_000;

/** Starts the built server on `dataDir` as an MCP client does, over stdio. */
export async function openSession({ bin, dataDir, signal }: SessionOptions): Promise<Session> {
  const client = new Client(
    { name: 'colloquy-demo', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: PROTOCOL } } },
  );
  // Only the SDK's few harmless variables are passed on: a COLLOQUY_URL of the user must not lead the demo elsewhere.
  const env = { ...getDefaultEnvironment(), COLLOQUY_DATA_DIR: dataDir, COLLOQUY_IDLE_SECS: String(IDLE_SECS) };
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin],
    env,
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.on('data', (chunk) => {
    log = `${log}${chunk}`.slice(-LOG_CHARS_MAX);
  });
  let human: HumanAnswer = DECLINES;
  let elicitations: Elicitation[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    const { says, types = '' } = human;
    elicitations.push({ message: params.message, says, types });
    if (says === 'decline' || !('requestedSchema' in params)) return { action: says };
    // A human who agrees ticks the boxes and types the requested text.
    const fields = Object.entries(params.requestedSchema.properties);
    const content = Object.fromEntries(fields.map(([key, { type }]) => [key, type === 'boolean' ? true : types]));
    return { action: says, content };
  });
  try {
    await client.connect(transport, { signal });
  } catch (error) {
    await transport.close();
    throw error;
  }
  return {
    protocol: PROTOCOL,
    async call(tool, args, answer = DECLINES) {
      human = answer;
      elicitations = [];
      const started = performance.now();
      const result = await client.callTool({ name: tool, arguments: { ...args } }, { signal });
      const texts = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
      return {
        content: (result.structuredContent ?? {}) as Readonly<Record<string, unknown>>,
        text: texts.join('\n'),
        isError: result.isError === true,
        elicitations,
        elapsedMs: performance.now() - started,
      };
    },
    log: () => log,
    close: () => client.close(),
  };
}
