/** The answer of a test's human to a question. */
export interface Answer {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | boolean>;
}

export interface Question {
  message: string;
  fields: string[];
}

export interface SessionOptions {
  dataDir: string;
  /** Answers questions; absent: the client cannot ask a human. */
  human?: (question: Question) => Answer;
}

export interface CallResult {
  text: string;
  structured: Record<string, unknown>;
  isError: boolean;
}

/** A tool as a client sees it. */
export interface ListedTool {
  name: string;
  description?: string | undefined;
  annotations?: Record<string, unknown> | undefined;
}

/** One MCP client with its server process, the same for every protocol era. */
export interface Session {
  protocolVersion(): string | undefined;
  instructions(): string | undefined;
  tools(): Promise<ListedTool[]>;
  call(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<CallResult>;
  resources(): Promise<string[]>;
  templates(): Promise<string[]>;
  read(uri: string): Promise<string>;
  complete(uri: string, name: string, value: string, context?: Record<string, string>): Promise<string[]>;
  prompts(): Promise<string[]>;
  prompt(name: string, args: Record<string, string>): Promise<string>;
  completeArgument(prompt: string, name: string, value: string): Promise<string[]>;
  /** Subscribes to changes of a resource: `next` resolves at the next one, and `stop` ends it. */
  follow(uri: string): Promise<{ next(): Promise<void>; stop(): Promise<void> }>;
  close(): Promise<void>;
}

/** A way to open sessions: one transport and one protocol era. */
export interface Driver {
  name: string;
  /**
   * Starts what sessions connect to; resolves to a function that ends it. Absent: each session starts a process of its
   * own.
   */
  serve?(dataDir: string): Promise<() => Promise<void>>;
  open(options: SessionOptions): Promise<Session>;
}

/** The environment of a server process in a test. */
export function serverEnvironment(dataDir: string): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  // The time zone is fixed, so that no answer depends on that of the machine.
  return {
    PATH,
    HOME,
    TZ: 'Asia/Kathmandu',
    COLLOQUY_DATA_DIR: dataDir,
    COLLOQUY_IDLE_SECS: '5',
    COLLOQUY_LOG_LEVEL: 'warn',
  };
}

interface RawResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** A result in the form that scenarios compare. */
export function callResult(raw: RawResult & object): CallResult {
  const parts = (raw.content ?? []) as { type: string; text?: string }[];
  return {
    text: parts.map((part) => part.text ?? '').join('\n'),
    structured: (raw.structuredContent ?? {}) as Record<string, unknown>,
    isError: raw.isError === true,
  };
}
