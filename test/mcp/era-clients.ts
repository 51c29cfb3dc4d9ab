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

/** What a client of either era is used for here; the two differ in how they listen. */
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
  /** Addresses that it was told of, in order, and the word `list` where that changed. */
  told: string[];
  /** Resolves once `told` has what is wanted from `from` on. */
  untilTold(what: string, from?: number): Promise<void>;
  /** Begins to be told of resources, and of the list where `uris` is empty; what is returned ends it. */
  follow(...uris: string[]): Promise<() => Promise<void>>;
}

export interface Era {
  name: string;
  open(assistant: Assistant): Promise<EraClient>;
}

/** How often it is looked for changes of others in these tests. */
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

/** A real service, and what a server needs to serve assistants from it. */
export interface Stage {
  service: TestService;
  /** The way past the assistant: somebody else. */
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

/** A workspace `shop` with the collection `orders` and the lambda `big`, which has two versions and the tag `production`. */
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
