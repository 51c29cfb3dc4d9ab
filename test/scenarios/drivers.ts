import { Client as ModernClient, type Transport as ModernTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Transport as LegacyTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ElicitRequestSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { BINARY } from './binary.ts';
import {
  type Answer,
  callResult,
  type Driver,
  type ListedTool,
  type Session,
  type SessionOptions,
  serverEnvironment,
} from './session.ts';

const INFO = { name: 'scenarios', version: '1' };
const MODERN = '2026-07-28';

function command(dataDir: string) {
  return { command: process.execPath, args: [BINARY], env: serverEnvironment(dataDir), stderr: 'inherit' as const };
}

interface FormParams {
  message: string;
  requestedSchema: { properties: Record<string, unknown> };
}

function answerTo(human: NonNullable<SessionOptions['human']>, params: unknown): Answer {
  const { message, requestedSchema } = params as FormParams;
  return human({ message, fields: Object.keys(requestedSchema.properties) });
}

/** What the two clients have in common; they differ in how a call takes its options. */
interface Face {
  getInstructions(): string | undefined;
  listTools(): Promise<{ tools: ListedTool[] }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: object[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: { content: object }[] }>;
  complete(params: {
    ref: { type: 'ref/resource'; uri: string } | { type: 'ref/prompt'; name: string };
    argument: { name: string; value: string };
    context?: { arguments: Record<string, string> };
  }): Promise<{ completion: { values: string[] } }>;
  close(): Promise<void>;
}

type Call = (
  params: { name: string; arguments: Record<string, unknown> },
  options: { signal?: AbortSignal },
) => Promise<object>;

/** Listens for changes of one resource; resolves to a function that ends that. */
type Listen = (uri: string) => Promise<() => Promise<unknown>>;

/** Promises of the next change of each resource. */
class Waiting {
  #waiting = new Map<string, (() => void)[]>();

  changed(uri: string): void {
    for (const resolve of this.#waiting.get(uri)?.splice(0) ?? []) resolve();
  }

  next(uri: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(uri, [...(this.#waiting.get(uri) ?? []), resolve]));
  }
}

interface Means {
  protocolVersion: string | undefined;
  callTool: Call;
  listen: Listen;
  waiting: Waiting;
}

function sessionOf(client: Face, { protocolVersion, callTool, listen, waiting }: Means): Session {
  return {
    protocolVersion: () => protocolVersion,
    instructions: () => client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}, signal) =>
      callResult(await callTool({ name, arguments: args }, signal === undefined ? {} : { signal })),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    templates: async () =>
      (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    read: async (uri) => {
      const first = (await client.readResource({ uri })).contents[0];
      return first !== undefined && 'text' in first ? String(first.text) : '';
    },
    complete: async (uri, name, value, context) => {
      const given = context === undefined ? {} : { context: { arguments: context } };
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri },
        argument: { name, value },
        ...given,
      });
      return completion.values;
    },
    prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    prompt: async (name, args) => {
      const first = (await client.getPrompt({ name, arguments: args })).messages[0]?.content;
      return first !== undefined && 'text' in first ? String(first.text) : '';
    },
    completeArgument: async (prompt, name, value) => {
      const ref = { type: 'ref/prompt' as const, name: prompt };
      return (await client.complete({ ref, argument: { name, value } })).completion.values;
    },
    follow: async (uri) => {
      const stop = await listen(uri);
      return { next: () => waiting.next(uri), stop: async () => void (await stop()) };
    },
    close: () => client.close(),
  };
}

type Ask = SessionOptions['human'];

/** The legacy client, which knows no protocol after 2025-11-25. `end` is called before it closes. */
export async function openLegacy(
  transport: LegacyTransport,
  human: Ask,
  end: () => Promise<void> = async () => undefined,
): Promise<Session> {
  const client = new LegacyClient(INFO, { capabilities: human === undefined ? {} : { elicitation: {} } });
  if (human !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({ ...answerTo(human, params) }));
  }
  const waiting = new Waiting();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => waiting.changed(params.uri));
  await client.connect(transport);
  const session = sessionOf(client, {
    protocolVersion: '2025-11-25',
    callTool: (params, options) => client.callTool(params, undefined, options),
    listen: async (uri) => {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    waiting,
  });
  return {
    ...session,
    close: async () => {
      await end();
      await client.close();
    },
  };
}

/** The modern client, pinned to the modern era. */
export async function openModern(transport: ModernTransport, human: Ask): Promise<Session> {
  const client = new ModernClient(INFO, {
    capabilities: human === undefined ? {} : { elicitation: {} },
    versionNegotiation: { mode: { pin: MODERN } },
  });
  if (human !== undefined) {
    client.setRequestHandler('elicitation/create', ({ params }) => ({ ...answerTo(human, params) }));
  }
  const waiting = new Waiting();
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => waiting.changed(params.uri));
  await client.connect(transport);
  return sessionOf(client, {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    callTool: (params, options) => client.callTool(params, options),
    listen: async (uri) => {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return () => subscription.close();
    },
    waiting,
  });
}

export const legacyStdio: Driver = {
  name: 'stdio, 2025-11-25',
  open: ({ dataDir, human }) => openLegacy(new LegacyStdio(command(dataDir)), human),
};

export const modernStdio: Driver = {
  name: `stdio, ${MODERN}`,
  open: ({ dataDir, human }) => openModern(new ModernStdio(command(dataDir)), human),
};
