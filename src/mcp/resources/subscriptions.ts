import {
  isInputRequiredResult,
  type JSONRPCMessage,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  SUBSCRIPTION_ID_META_KEY,
  type SubscriptionFilter,
  type Transport,
} from '@modelcontextprotocol/server';
import { ApiError } from '../../contract/errors.ts';
import type { Assistant } from '../assistant.ts';
import { type Changes, type Notify, URIS_MAX } from '../changes.ts';
import type { Arguments } from '../tools/relations.ts';
import type { Tool } from '../tools/tool.ts';

/** Sends notifications through the server of one connection. */
export function notifierOf(server: () => Server | undefined): Notify {
  // A client that is gone needs no notification.
  return {
    resourceUpdated: (uri) =>
      void server()
        ?.sendResourceUpdated({ uri })
        .catch(() => undefined),
    resourcesChanged: () =>
      void server()
        ?.sendResourceListChanged()
        .catch(() => undefined),
  };
}

/** Loaded with the first subscription, or some time after the start. */
export const loadResources = () => Promise.all([import('./resources.ts'), import('./resource-state.ts')]);

/**
 * Subscriptions of the 2025 protocols for one connection: one request per URI. Clients learn of changes to the list
 * without subscribing, but only of those made by this process: nothing is polled for a client that never asked.
 */
export function registerSubscriptions(server: Server, assistant: Assistant, changes: Changes): void {
  const { connect, means, tools } = assistant;
  const notify = notifierOf(() => server);
  const stops = new Map<string, () => void>();
  let isClosed = false;
  server.setRequestHandler('resources/subscribe', async ({ params }, ctx) => {
    const [{ asProtocolErrors, offeredKinds, requireUri, withNearest }, { lookAt, resourceState }] =
      await loadResources();
    return asProtocolErrors(async () => {
      const { uri } = params;
      const parsed = requireUri(uri, offeredKinds(await tools));
      if (stops.has(uri)) return {};
      if (changes.count() >= URIS_MAX) {
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Cannot subscribe to "${uri}": ${URIS_MAX} resources are subscribed to already. Unsubscribe from others first.`,
        );
      }
      const context = { connect, means, signal: ctx.mcpReq.signal };
      // A URI that does not exist is most likely mistyped.
      if ((await resourceState(lookAt(await connect()), uri)) === undefined) {
        throw await withNearest(context, uri, parsed, new ApiError('not_found', 'there is no such resource.'));
      }
      const { stop, ready } = changes.listen({ uris: [uri], list: false }, notify);
      stops.get(uri)?.();
      stops.set(uri, stop);
      if (isClosed) stop();
      await ready;
      return {};
    });
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    stops.get(uri)?.();
    stops.delete(uri);
    return {};
  });
  server.oninitialized = () => {
    // A client may say more than once that it is initialized.
    stops.get('')?.();
    stops.set('', changes.listen({ uris: [], list: 'written' }, notify).stop);
  };
  server.onclose = () => {
    isClosed = true;
    for (const stop of stops.values()) stop();
    stops.clear();
  };
}

/** To be called with a tool. The returned function passes on its result, telling subscribers if it changed anything. */
export function tellAfter<R extends object>(changes: Changes | undefined, tool: Tool, args: Arguments = {}) {
  const done = tool.effect === 'read' ? undefined : changes?.writing(tool, args);
  return (result: R): R => {
    if (isInputRequiredResult(result)) return result;
    if ('isError' in result && result.isError === true) changes?.look();
    else done?.();
    return result;
  };
}

/** Subscribes to what a client of the later protocols named; the function that this returns ends the subscription. */
export function listenFor(changes: Changes) {
  return (filter: SubscriptionFilter, notify: Notify): (() => void) => {
    // Further URIs are not watched and need not be kept.
    const uris = (filter.resourceSubscriptions ?? []).slice(0, URIS_MAX);
    return changes.listen({ uris, list: filter.resourcesListChanged === true }, notify).stop;
  };
}

/**
 * A transport that sees its client's subscriptions: over stdio the SDK does not reveal them, and the service must be
 * polled exactly while there are any.
 */
export function listeningTransport(inner: Transport, listen: (filter: SubscriptionFilter) => () => void): Transport {
  const stops = new Map<unknown, () => void>();
  const stop = (id: unknown) => {
    stops.get(id)?.();
    stops.delete(id);
  };
  const outer: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    send: (message, options) => {
      const acknowledged = acknowledgedIn(message);
      if (acknowledged !== undefined) {
        stop(acknowledged.id);
        stops.set(acknowledged.id, listen(acknowledged.filter));
      }
      return inner.send(message, options);
    },
  };
  inner.onmessage = (message, extra) => {
    if ('method' in message && message.method === 'notifications/cancelled') stop(message.params?.['requestId']);
    outer.onmessage?.(message, extra);
  };
  inner.onerror = (error) => outer.onerror?.(error);
  inner.onclose = () => {
    for (const id of [...stops.keys()]) stop(id);
    outer.onclose?.();
  };
  return outer;
}

function acknowledgedIn(message: JSONRPCMessage): { id: unknown; filter: SubscriptionFilter } | undefined {
  if (!('method' in message) || message.method !== 'notifications/subscriptions/acknowledged') return undefined;
  const { notifications, _meta } = (message.params ?? {}) as {
    notifications?: SubscriptionFilter;
    _meta?: Record<string, unknown>;
  };
  return { id: _meta?.[SUBSCRIPTION_ID_META_KEY], filter: notifications ?? {} };
}
