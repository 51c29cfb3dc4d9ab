import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError, type Server } from '@modelcontextprotocol/server';
import { ApiError } from '../../contract/errors.ts';
import { nearest } from '../../contract/nearest.ts';
import { visibleText } from '../../contract/visible.ts';
import { toApiError } from '../errors.ts';
import { lineText } from '../fence.ts';
import { RESULT_VIEW_RESOURCE } from '../result-view.ts';
import { DATA_RESOURCES } from './data-resources.ts';
import { DOCS_RESOURCE } from './docs-resources.ts';
import {
  type ListedResource,
  type Names,
  namesIn,
  type ResourceContent,
  type ResourceContext,
  type ResourceKind,
  variablesOf,
} from './resource-kinds.ts';
import { RESULT_RESOURCES } from './result-resources.ts';

const PAGE = 100;
const LISTING_CHARS_MAX = 200;

/** All kinds, in the order in which they are listed. */
export const RESOURCE_KINDS: readonly ResourceKind[] = [
  ...DATA_RESOURCES,
  ...RESULT_RESOURCES,
  DOCS_RESOURCE,
  RESULT_VIEW_RESOURCE,
];

type Offered = ReadonlyMap<string, unknown>;
type Kinds = readonly ResourceKind[];

/** The kinds that show no more than the offered tools do. */
export function offeredKinds(tools: Offered): Kinds {
  return RESOURCE_KINDS.filter(({ tool }) => tool === undefined || tools.has(tool));
}

function templatesOf(kinds: Kinds) {
  return kinds
    .filter(({ uriTemplate }) => variablesOf(uriTemplate).length > 0)
    .map(({ uriTemplate, name, title, description, mimeType }) => ({
      uriTemplate,
      name,
      title,
      description,
      mimeType,
    }));
}

/** Registers the resources: what there is to query, for hosts to attach without a tool call. */
export function registerResources(
  server: Pick<Server, 'setRequestHandler'>,
  { connect, means, tools }: Pick<ResourceContext, 'connect' | 'means'> & { tools: Offered | Promise<Offered> },
): void {
  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: templatesOf(offeredKinds(await tools)),
  }));
  server.setRequestHandler('resources/list', ({ params }, ctx) =>
    asProtocolErrors(async () =>
      listResources({ connect, signal: ctx.mcpReq.signal, means }, offeredKinds(await tools), params?.cursor),
    ),
  );
  server.setRequestHandler('resources/read', ({ params }, ctx) =>
    asProtocolErrors(async () =>
      readResource({ connect, signal: ctx.mcpReq.signal, means }, offeredKinds(await tools), params.uri),
    ),
  );
}

/** Turns every failure into a JSON-RPC error that says what to do, so that none looks like an empty success. */
export async function asProtocolErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, message } = toApiError(error);
    const isCallers = code === 'invalid_input' || code === 'not_found';
    throw new ProtocolError(
      isCallers ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      lineText(message),
      { code },
    );
  }
}

/** Where a page begins: after this URI, so that additions and deletions elsewhere do not shift the pages. */
interface Place {
  kind: number;
  uri: string;
}

function cursorAt({ kind, uri }: Place): string {
  return Buffer.from(JSON.stringify([kind, uri])).toString('base64url');
}

function placeOf(cursor: string): Place {
  try {
    const [kind, uri] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof kind === 'number' && typeof uri === 'string') return { kind, uri };
  } catch {
    // The error below says so.
  }
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Cannot list resources: cursor "${visibleText(cursor.slice(0, LISTING_CHARS_MAX))}" is not one that this server gave. List from the start.`,
  );
}

async function listResources(context: ResourceContext, kinds: Kinds, cursor: string | undefined) {
  const after = cursor === undefined ? { kind: -1, uri: '' } : placeOf(cursor);
  const lists = await Promise.all(kinds.map((kind) => kind.list?.(context) ?? []));
  const rest = lists
    .flatMap((list, kind) => [...list].sort(byUri).map((resource) => ({ kind, resource })))
    .filter(({ kind, resource }) => kind > after.kind || (kind === after.kind && resource.uri > after.uri));
  const page = rest.slice(0, PAGE);
  const last = page.at(-1);
  const more = last !== undefined && rest.length > PAGE;
  return {
    resources: page.map(({ resource }) => resource),
    ...(more ? { nextCursor: cursorAt({ kind: last.kind, uri: last.resource.uri }) } : {}),
  };
}

function byUri(a: ListedResource, b: ListedResource): number {
  if (a.uri === b.uri) return 0;
  return a.uri < b.uri ? -1 : 1;
}

/** The kind of a URI and the names in it; undefined if it is not one of ours. */
export function parseUri(uri: string): { kind: ResourceKind; names: Names } | undefined {
  for (const kind of RESOURCE_KINDS) {
    const names = namesIn(kind.uriTemplate, uri);
    if (names !== undefined) return { kind, names };
  }
  return undefined;
}

/** Like `parseUri`, but throws, naming what there is, if the URI is not one of ours. */
export function requireUri(uri: string, kinds: Kinds): { kind: ResourceKind; names: Names } {
  const parsed = parseUri(uri);
  if (parsed !== undefined && kinds.includes(parsed.kind)) return parsed;
  if (parsed !== undefined) {
    throw notFound(
      uri,
      'this server does not offer such resources; a human can change that with --toolsets or --profile.',
    );
  }
  const shapes = kinds.map(({ uriTemplate }) => uriTemplate);
  const close = nearest(uri, shapes, 1);
  const hint = close.length > 0 ? ` Did you mean ${close[0]}?` : '';
  throw notFound(uri, `resources are ${shapes.join(', ')}.${hint}`);
}

async function readResource(context: ResourceContext, kinds: Kinds, uri: string) {
  const { kind, names } = requireUri(uri, kinds);
  try {
    const content: ResourceContent = await kind.read(context, names);
    return { contents: [{ uri, ...content }], ...kind.cache };
  } catch (error) {
    throw await withNearest(context, uri, { kind, names }, error);
  }
}

/** Adds to a `not_found` the names nearest to the first name in the URI that does not exist. */
export async function withNearest(
  context: ResourceContext,
  uri: string,
  { kind, names }: { kind: ResourceKind; names: Names },
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ApiError) || error.code !== 'not_found') return error;
  if (error.details.isHinted === true) return notFound(uri, error.message);
  for (const variable of variablesOf(kind.uriTemplate)) {
    const value = names[variable] ?? '';
    // The hint is optional: its own failure must not hide the original error.
    const known = (await kind.complete[variable]?.(context, names).catch(() => undefined)) ?? [value];
    if (known.includes(value)) continue;
    const close = nearest(value, known);
    return notFound(uri, close.length > 0 ? `${error.message} Did you mean ${close.join(', ')}?` : error.message);
  }
  return notFound(uri, error.message);
}

function notFound(uri: string, why: string): ResourceNotFoundError {
  return new ResourceNotFoundError(uri, lineText(`Cannot read resource "${uri}": ${why}`));
}

/** The possible values of a template's variable; undefined if there is no such template or variable. */
export function resourceValues(tools: Offered, uriTemplate: string, variable: string) {
  return offeredKinds(tools).find((kind) => kind.uriTemplate === uriTemplate)?.complete[variable];
}
