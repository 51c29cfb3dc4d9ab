import { AsyncLocalStorage } from 'node:async_hooks';
import { VERSION } from '../../config.ts';
import { createClient } from '../../http/client.ts';
import { isLoopbackHost } from '../../http/target.ts';
import type { Assistant } from '../../mcp/assistant.ts';
import { type Changes, createChanges } from '../../mcp/changes.ts';
import { createApprovals } from '../../mcp/guard/signed-states.ts';
import type { Logger } from '../../mcp/logger.ts';
import { hiddenTools, offeredTools } from '../../mcp/offer.ts';
import { listenFor } from '../../mcp/resources/subscriptions.ts';
import { createServer } from '../../mcp/server.ts';
import type { LambdaTools } from '../../mcp/tools/lambda-tools.ts';
import { createHttpServing } from '../../mcp/transports/http.ts';
import type { Mount, MountCaller } from '../../service/app/mounts.ts';
import type { Config } from '../../settings.ts';
import { ownCommand } from '../connect-lines.ts';
import { startingLambdaTools, withLambdaTools } from '../lambda-tools.ts';
import { auditMeans, auditOf, fileMeans, remoteSecretMeans } from '../means.ts';
import { offerOf } from '../offer.ts';
import { WILDCARDS } from './reached-url.ts';

/** How much of a key's hash is used: enough to tell keys apart in a log. */
const PRINCIPAL_CHARS = 16;

export interface McpMountOptions {
  config: Config;
  socketPath: string;
  bin: string;
  log: Logger;
}

/** MCP as a part of a service. */
export interface McpMount extends Mount {
  /**
   * To be called once the service answers, if lambdas are offered as tools: finds them, with the admin's key. Requests
   * wait for that.
   */
  begin(adminKey: string): Promise<void>;
}

/**
 * MCP beside the API of a service. Tools call the service through its own socket, with the caller's key, so they may do
 * exactly what that key may do elsewhere.
 */
export function mcpMount(path: string, { config, socketPath, bin, log }: McpMountOptions): McpMount {
  const approvals = createApprovals();
  // Subscribers with any key are told at once of changes made with another.
  const peers = new Set<Changes>();
  const given = { ...fileMeans(config), ...auditMeans(config) };
  // Without the trash: whoever calls over the network is refused there.
  const offer = offerOf(config, given);
  const means = { ...remoteSecretMeans(config), ...given, isElsewhere: isForOthers(config) };
  const audit = auditOf(config, 'http', log);
  const started = isForOthers(config) ? undefined : ownCommand(config, bin);

  let lambdas: LambdaTools | undefined;
  let begun = () => {};
  const beginning = new Promise<void>((resolve) => {
    begun = resolve;
  });
  if (config.lambdaTools === undefined) begun();

  async function begin(apiKey: string): Promise<void> {
    const client = createClient({ target: { socketPath }, apiKey, readOnly: true });
    lambdas = await startingLambdaTools(config, async () => client, log);
    await client.close();
    begun();
  }

  function open({ key, keyHash, keyName, email, roles }: MountCaller) {
    const { readOnly } = config;
    // The service is this very process: if it does not answer, it is closing, and retrying only takes time.
    const headers = () => callerHeaders.getStore() ?? {};
    const client = createClient({ target: { socketPath }, apiKey: key, readOnly, headers, retry: { triesMax: 1 } });
    const changes = createChanges({ connect: async () => client, log, peers });
    const assistant: Assistant = {
      connect: async () => client,
      version: VERSION,
      log,
      principal: keyHash.slice(0, PRINCIPAL_CHARS),
      owner: { user: email, key: keyName },
      ...withLambdaTools(offeredTools({ ...offer, roles }), lambdas),
      hidden: hiddenTools({ ...offer, roles }),
      approvals,
      guard: config.guard,
      means,
      audit,
      command: started ?? 'colloquy',
      changes,
      approveCommand: started === undefined ? undefined : `${started} approve`,
    };
    return {
      createServer: (era: 'legacy' | 'modern') => createServer(assistant, era),
      listening: listenFor(changes),
      close: () => {
        changes.close();
        return client.close();
      },
    };
  }

  // One client serves all requests of a key, wherever they come from; this ties each call to its request's headers.
  const callerHeaders = new AsyncLocalStorage<Record<string, string>>();
  const serving = createHttpServing({ open, log, hosts: hostsOf(config), origins: config.allowedOrigins });
  async function close(): Promise<void> {
    await serving.close();
    await audit?.settled();
  }
  const handle: Mount['handle'] = async (request, response, caller, signal) => {
    await beginning;
    return callerHeaders.run(caller.headers, () => serving.handle(request, response, caller, signal));
  };
  return { path, admit: serving.admit, handle, close, begin };
}

/** Paths on this machine are only useful to the people at it, and nobody else's business. */
function isForOthers({ host, behindTlsProxy, trustProxy }: Config): boolean {
  return behindTlsProxy || trustProxy !== undefined || !isLoopbackHost(inUrl(host));
}

/** A host as written in a URL. */
function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** A host name that the service was told to listen on is one by which it is reached. */
function hostsOf({ host, allowedHosts = [] }: Config): string[] {
  if (WILDCARDS.includes(host)) return allowedHosts;
  return [...allowedHosts, inUrl(host)];
}
