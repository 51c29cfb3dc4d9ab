import { Client as ModernClient } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { type Client, createClient } from '../../src/http/client.ts';
import type { Assistant } from '../../src/mcp/assistant.ts';
import { createApprovals } from '../../src/mcp/guard/signed-states.ts';
import { type Offer, offeredTools } from '../../src/mcp/offer.ts';
import { serveOver } from '../../src/mcp/transports/stdio.ts';
import { startTestService, type TestService } from '../service/harness.ts';

const INFO = { name: 'test', version: '1' };

/** The methods that these tests use of a client of either era; the two differ in how they listen. */
interface Face {
  listResources(params?: { cursor: string }): Promise<{ resources: Listed[]; nextCursor?: string | undefined }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string; description?: string | undefined }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: { mimeType?: string | undefined; text?: unknown }[] }>;
  complete(params: {
    ref: { type: 'ref/resource'; uri: string } | { type: 'ref/prompt'; name: string };
    argument: { name: string; value: string };
    context?: { arguments: Record<string, string> };
  }): Promise<{ completion: { values: string[]; total?: number | undefined; hasMore?: boolean | undefined } }>;
  listPrompts(): Promise<{ prompts: { name: string; arguments?: { name: string; required?: boolean }[] }[] }>;
  getPrompt(params: {
    name: string;
    arguments?: Record<string, string>;
  }): Promise<{ messages: { role: string; content: { type: string; text?: string } }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<object>;
  close(): Promise<void>;
}

interface Listed {
  uri: string;
  name: string;
  title?: string | undefined;
  mimeType?: string | undefined;
}

export interface EraClient extends Face {
  /** The addresses that the client was notified of, in order, and the word `list` when the list had changed. */
  told: string[];
  /** Resolves once `told` contains `what` at or after index `from`. */
  untilTold(what: string, from?: number): Promise<void>;
  /** Subscribes to resources, or to the list if there are no `uris`; the returned function ends that. */
  follow(...uris: string[]): Promise<() => Promise<void>>;
}

export interface Era {
  name: string;
  open(assistant: Assistant): Promise<EraClient>;
}

/** How often the server checks for changes made by others. */
const LOOK_EVERY_MS = 50;

function connection(assistant: Assistant): InMemoryTransport {
  const [here, there] = InMemoryTransport.createLinkedPair();
  serveOver(assistant, there, LOOK_EVERY_MS);
  return here;
}

function listener() {
  const told: string[] = [];
  const looks = new Set<() => void>();
  const tell = (what: string) => {
    told.push(what);
    for (const look of looks) look();
  };
  const untilTold = (what: string, from = 0) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (told.indexOf(what, from) < 0) return;
        looks.delete(look);
        resolve();
      };
      looks.add(look);
      look();
    });
  return { told, tell, untilTold };
}

const legacy: Era = {
  name: '2025-11-25',
  async open(assistant) {
    const { told, tell, untilTold } = listener();
    const client = new LegacyClient(INFO);
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => tell(params.uri));
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => tell('list'));
    await client.connect(connection(assistant));
    const follow = async (...uris: string[]) => {
      await Promise.all(uris.map((uri) => client.subscribeResource({ uri })));
      return async () => {
        await Promise.all(uris.map((uri) => client.unsubscribeResource({ uri })));
      };
    };
    return Object.assign(client as unknown as Face, { told, untilTold, follow });
  },
};

const modern: Era = {
  name: '2026-07-28',
  async open(assistant) {
    const { told, tell, untilTold } = listener();
    const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params.uri));
    client.setNotificationHandler('notifications/resources/list_changed', () => tell('list'));
    await client.connect(connection(assistant));
    const follow = async (...uris: string[]) => {
      const filter = uris.length === 0 ? { resourcesListChanged: true } : { resourceSubscriptions: uris };
      const subscription = await client.listen(filter);
      return () => subscription.close();
    };
    return Object.assign(client as unknown as Face, { told, untilTold, follow });
  },
};

export const ERAS: readonly Era[] = [legacy, modern];

/** A real service, and what is needed to serve assistants from it. */
export interface Stage {
  service: TestService;
  /** A client that bypasses the assistant, as somebody else would. */
  other: Client;
  assistant(offer?: Offer): Assistant;
  remove(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const service = await startTestService();
  const client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
  const silent = () => undefined;
  return {
    service,
    other: client,
    assistant: (offer = {}) => ({
      connect: async () => client,
      version: '1.2.3',
      log: { info: silent, warn: silent, error: silent },
      principal: 'test',
      tools: offeredTools(offer),
      approvals: createApprovals(),
      guard: 'off',
      command: 'colloquy',
      means: {},
    }),
    remove: async () => {
      await client.close();
      await service.remove();
    },
  };
}

/**
 * Creates the workspace `shop` with the collection `orders` and the lambda `big`, which has two versions and the tag
 * `production`.
 */
export async function fillShop({ other }: Stage): Promise<{ first: string; second: string }> {
  const place = { workspace: 'shop', collection: 'orders' };
  await other.createWorkspace({ name: 'shop' });
  await other.createCollection({ workspace: 'shop', name: 'orders', description: 'What was ordered' });
  await other.addDocuments({
    ...place,
    data: [
      { _id: '1', total: 5, city: 'Oslo' },
      { _id: '2', total: 50 },
    ],
  });
  const lambda = { workspace: 'shop', queryLambda: 'big' };
  const { version: first } = await other.createLambda({
    workspace: 'shop',
    name: 'big',
    description: 'Large orders',
    sql: {
      query: 'SELECT _id, total\nFROM shop.orders\nWHERE total > :min',
      default_parameters: [{ name: 'min', type: 'int', value: '10' }],
    },
  });
  await other.tagLambdaVersion({ ...lambda, tag_name: 'production', version: first ?? '' });
  const { version: second } = await other.createLambdaVersion({
    ...lambda,
    description: 'Large orders of a city',
    sql: {
      query: 'SELECT _id, total\nFROM shop.orders\nWHERE total > :min AND city = :city',
      default_parameters: [{ name: 'min', type: 'float', value: '10' }],
    },
  });
  return { first: first ?? '', second: second ?? '' };
}
