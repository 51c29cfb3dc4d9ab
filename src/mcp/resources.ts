import { randomBytes } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from '@modelcontextprotocol/server';
import { contract } from '../contract/contract.ts';
import { ApiError } from '../contract/errors.ts';
import type { Client } from '../http/client.ts';
import { describeCollection } from './describe.ts';
import { nearestNames, toApiError } from './errors.ts';
import { type Fenced, fenceObject, visibleText, visibleValue } from './fence.ts';
import type { Arguments } from './relations.ts';
import { presentList, presentObject } from './results.ts';

const MIME = 'application/json';
const ROOT = 'colloquy://workspaces';
const PAGE = 100;
const COMPLETIONS_MAX = 100;

export const TEMPLATES = [
  {
    uriTemplate: `${ROOT}/{workspace}`,
    name: 'workspace',
    title: 'Workspace',
    description: 'One workspace and its collections',
    mimeType: MIME,
  },
  {
    uriTemplate: `${ROOT}/{workspace}/collections/{collection}`,
    name: 'collection',
    title: 'Collection',
    description: 'One collection with the fields of its documents, inferred from a sample',
    mimeType: MIME,
  },
];

/** Adds the resources: what there is to query, as an assistant's host may attach it without a tool call. */
export function registerResources(server: Server, connect: () => Promise<Client>): void {
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: TEMPLATES }));
  server.setRequestHandler('resources/list', ({ params }, ctx) =>
    asProtocolErrors(async () => listResources(await connect(), params?.cursor, ctx.mcpReq.signal)),
  );
  server.setRequestHandler('resources/read', ({ params }, ctx) =>
    asProtocolErrors(async () => readResource(params.uri, connect, ctx.mcpReq.signal)),
  );
  server.setRequestHandler('completion/complete', ({ params }, ctx) =>
    asProtocolErrors(async () => {
      const known = params.ref.type === 'ref/resource' ? TEMPLATES.map((template) => template.uriTemplate) : [];
      const uri = params.ref.type === 'ref/resource' ? params.ref.uri : params.ref.name;
      if (!known.includes(uri)) {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Cannot complete for "${uri}": it is not a template of this server.`,
        );
      }
      const { name, value } = params.argument;
      const names = await namesFor(await connect(), name, params.context?.arguments ?? {}, ctx.mcpReq.signal);
      return { completion: completionOf(names, value) };
    }),
  );
}

/** Every failure as a JSON-RPC error that says what to do; none as an empty success. */
async function asProtocolErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, message } = toApiError(error);
    const isCallers = code === 'invalid_input' || code === 'not_found';
    throw new ProtocolError(
      isCallers ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      visibleText(message),
      { code },
    );
  }
}

function segment(name: string): string {
  return encodeURIComponent(name);
}

async function listResources(client: Client, cursor: string | undefined, signal: AbortSignal) {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Cannot list resources: cursor "${visibleText(cursor ?? '')}" is not one that this server gave.`,
    );
  }
  const [workspaces, collections] = await Promise.all([
    client.listWorkspaces({}, { signal }),
    client.listCollections({}, { signal }),
  ]);
  // What people describe them by is data: it is in the resource itself, behind a fence.
  const all = [
    { uri: ROOT, name: 'workspaces', title: 'Workspaces' },
    ...workspaces.map(({ name }) => ({
      uri: `${ROOT}/${segment(name ?? '')}`,
      name: name ?? '',
      title: `Workspace ${name}`,
    })),
    ...collections.map(({ name, workspace }) => ({
      uri: `${ROOT}/${segment(workspace ?? '')}/collections/${segment(name ?? '')}`,
      name: `${workspace}.${name}`,
      title: `Collection ${workspace}.${name}`,
    })),
  ];
  const page = all.slice(start, start + PAGE).map((resource) => ({
    uri: resource.uri,
    name: visibleText(resource.name),
    title: visibleText(resource.title),
    mimeType: MIME,
  }));
  return { resources: page, ...(start + PAGE < all.length ? { nextCursor: String(start + PAGE) } : {}) };
}

/** The names in a resource's address; undefined where it is none of ours. */
export function parseUri(uri: string): { workspace?: string; collection?: string } | undefined {
  const match = /^colloquy:\/\/workspaces(?:\/([^/?#]+)(?:\/collections\/([^/?#]+))?)?$/.exec(uri);
  if (match === null) return undefined;
  try {
    const [, workspace, collection] = match;
    if (workspace === undefined) return {};
    if (collection === undefined) return { workspace: decodeURIComponent(workspace) };
    return { workspace: decodeURIComponent(workspace), collection: decodeURIComponent(collection) };
  } catch {
    return undefined;
  }
}

async function readResource(uri: string, connect: () => Promise<Client>, signal: AbortSignal) {
  const names = parseUri(uri);
  if (names === undefined)
    throw notFound(uri, `resources are ${ROOT}, ${TEMPLATES.map((template) => template.uriTemplate).join(' and ')}`);
  const client = await connect();
  try {
    const shown = await contentOf(client, names, signal);
    return { contents: [{ uri, mimeType: MIME, text: fencedJson(shown) }] };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    const close = await nearestNames(client, contract.getCollection, names, error, signal);
    throw notFound(uri, close.length > 0 ? `${error.message} Did you mean ${close.join(', ')}?` : error.message);
  }
}

function notFound(uri: string, why: string): ResourceNotFoundError {
  return new ResourceNotFoundError(uri, visibleText(`Cannot read resource "${uri}": ${why}`));
}

async function contentOf(
  client: Client,
  { workspace, collection }: { workspace?: string; collection?: string },
  signal: AbortSignal,
): Promise<Fenced> {
  if (workspace === undefined) return presentList(await client.listWorkspaces({}, { signal }));
  if (collection !== undefined) return describeCollection({ client, signal }, { workspace, collection });
  const [about, collections] = await Promise.all([
    client.getWorkspace({ workspace }, { signal }),
    client.listWorkspaceCollections({ workspace }, { signal }),
  ]);
  const { data } = presentObject(about);
  return { data: { ...data, collections: presentList(collections).data } };
}

/** JSON that stays JSON: the marks of the fence are its first and last keys. */
function fencedJson({ data, next }: Fenced): string {
  const tag = `data-${randomBytes(4).toString('hex')}`;
  return JSON.stringify(fenceObject(visibleValue(data) as Record<string, unknown>, tag, next), null, 1);
}

async function namesFor(client: Client, variable: string, context: Arguments, signal: AbortSignal): Promise<string[]> {
  if (variable === 'workspace') return (await client.listWorkspaces({}, { signal })).flatMap(({ name }) => name ?? []);
  if (variable !== 'collection') return [];
  const { workspace } = context;
  const collections =
    typeof workspace === 'string' && workspace !== ''
      ? await client.listWorkspaceCollections({ workspace }, { signal })
      : await client.listCollections({}, { signal });
  return [...new Set(collections.flatMap(({ name }) => name ?? []))];
}

function completionOf(names: readonly string[], typed: string) {
  const wanted = typed.toLowerCase();
  const matching = names.filter((name) => name.toLowerCase().startsWith(wanted));
  return {
    values: matching.slice(0, COMPLETIONS_MAX),
    total: matching.length,
    hasMore: matching.length > COMPLETIONS_MAX,
  };
}
