import { randomBytes } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createRequestStateCodec,
  type GetPromptResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { ApiError } from '../../src/contract/errors.ts';
import { createHttpServing, type Party } from '../../src/mcp/transports/http.ts';
import { FIXTURE_TOOLS, PIXEL } from './tools.ts';

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

const RESOURCES: Readonly<Record<string, { mimeType: string; text?: string; blob?: string }>> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched.' },
};
const TEMPLATE = { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' };

const said = (words: string) => ({ role: 'user' as const, content: { type: 'text' as const, text: words } });

interface FixturePrompt {
  arguments: string[];
  messages: (args: Record<string, string>) => GetPromptResult['messages'];
}

const ASKING_PROMPT = 'test_input_required_result_prompt';
const PROMPTS: Readonly<Record<string, FixturePrompt>> = {
  test_simple_prompt: { arguments: [], messages: () => [said('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    arguments: ['arg1', 'arg2'],
    messages: ({ arg1, arg2 }) => [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    messages: ({ resourceUri: uri = '' }) => [
      { role: 'user', content: { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded.' } } },
      said('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: {
    arguments: [],
    messages: () => [{ role: 'user', content: { type: 'image', data: PIXEL, mimeType: 'image/png' } }, said('Look.')],
  },
  [ASKING_PROMPT]: { arguments: [], messages: () => [said('You answered.')] },
};

const codec = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) });
const listeners = new Set<{ told: ServerNotifier }>();
const notify = {
  toolsChanged: () => {
    for (const listener of listeners) listener.told.toolsChanged();
  },
  promptsChanged: () => {
    for (const listener of listeners) listener.told.promptsChanged();
  },
};

function createServer(era: 'legacy' | 'modern'): Server {
  const server = new Server(
    { name: 'conformance-fixture', version: '1' },
    { capabilities: CAPABILITIES, requestState: { verify: codec.verify } },
  );
  addTools(server, era);
  addResources(server);
  addPrompts(server);
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  server.setRequestHandler('logging/setLevel', () => ({}));
  return server;
}

function addTools(server: Server, era: 'legacy' | 'modern'): void {
  const listed = Object.keys(FIXTURE_TOOLS).map((name) => ({
    name,
    description: `Does what the conformance suite wants of ${name}`,
    inputSchema: { type: 'object' as const },
  }));
  server.setRequestHandler('tools/list', () => ({ tools: listed }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const tool = FIXTURE_TOOLS[params.name];
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no tool ${params.name}`);
    return tool({ era, codec, notify }, ctx, params.arguments ?? {});
  });
}

function addResources(server: Server): void {
  server.setRequestHandler('resources/list', () => ({
    resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), mimeType })),
  }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [TEMPLATE] }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const { mimeType, text, blob } = RESOURCES[uri] ?? {};
    if (text !== undefined) return { contents: [{ uri, mimeType, text }] };
    if (blob !== undefined) return { contents: [{ uri, mimeType, blob }] };
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    if (id === undefined) throw new ResourceNotFoundError(uri, 'there is no such resource');
    return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true }) }] };
  });
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
}

function addPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({
      name,
      description: `The conformance suite's ${name}`,
      arguments: prompt.arguments.map((argument) => ({ name: argument, required: true })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }, ctx) => {
    const prompt = PROMPTS[params.name];
    if (prompt === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no prompt ${params.name}`);
    if (params.name === ASKING_PROMPT && inputResponse(ctx.mcpReq.inputResponses, 'user_context').kind === 'missing') {
      const requestedSchema = {
        type: 'object' as const,
        properties: { context: { type: 'string' as const } },
        required: ['context'],
      };
      return inputRequired({
        inputRequests: { user_context: inputRequired.elicit({ message: 'Which context?', requestedSchema }) },
      });
    }
    return { messages: prompt.messages(params.arguments ?? {}) };
  });
}

const party: Party = {
  createServer,
  listening: (_, told) => {
    const listener = { told };
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  close: async () => undefined,
};

function complain({ err }: { err?: unknown }): void {
  process.stderr.write(`${err instanceof Error ? err.stack : String(err)}\n`);
}

/**
 * Serves the fixture with the code that serves `/mcp`, to callers without a key: the conformance suite cannot send one.
 * Resolves to its address and a function that ends it.
 */
export async function serveFixture(): Promise<{ url: string; close: () => Promise<void> }> {
  const log = { info: () => undefined, warn: () => undefined, error: complain };
  const serving = createHttpServing({ open: () => party, log });
  const caller = { keyHash: 'anyone', isKnown: () => true };
  const server = createHttpServer((request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      if (serving.admit(request, response)) return;
    } catch (error) {
      response.writeHead(error instanceof ApiError ? (error.status ?? 500) : 500).end();
      return;
    }
    serving.handle(request, response, caller, gone.signal).catch((error: unknown) => {
      complain({ err: error });
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  async function close(): Promise<void> {
    await serving.close();
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  }
  return { url: `http://127.0.0.1:${port}/mcp`, close };
}
