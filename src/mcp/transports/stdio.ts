import { once } from 'node:events';
import type { Server, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Client } from '../../http/client.ts';
import type { Assistant } from '../assistant.ts';
import { createChanges } from '../changes.ts';
import { listenFor, listeningTransport, notifierOf } from '../resources/subscriptions.ts';
import { createServer } from '../server.ts';
import { stdioTransport } from './stdio-transport.ts';

/** Most subscription requests that one client can have open. */
const LISTENING_MAX = 64;

/**
 * Serves MCP over this process's stdin and stdout, in the protocol era with which the client begins. Resolves when
 * stdin closes or on SIGTERM, after closing the connection to the service. Handshakes and lists are answered before the
 * first call of `connect`, which starts the service if needed and is called again after a failure.
 */
export async function runStdio(options: Assistant): Promise<void> {
  const service = shared(options.connect);
  const { transport, ended } = stdioTransport({ input: process.stdin, output: process.stdout });
  const serving = serveOver({ ...options, connect: service.get }, transport);
  // Hosts that do not close stdin end this process with SIGTERM.
  await Promise.race([ended, once(process, 'SIGTERM')]);
  await serving.close();
  await service.close();
}

/** Serves one client over the given transport. `lookEveryMs`: pause between polls while there are subscribers. */
export function serveOver(options: Assistant, transport: Transport, lookEveryMs?: number): { close(): Promise<void> } {
  const { connect, log } = options;
  const changes = createChanges({ connect, log, everyMs: lookEveryMs });
  let server: Server | undefined;
  const notify = notifierOf(() => server);
  const listen = listenFor(changes);
  const serve = ({ era }: { era: 'legacy' | 'modern' }) => {
    server = createServer({ ...options, changes }, era);
    return server;
  };
  const handle = serveStdio(serve, {
    transport: listeningTransport(transport, (filter) => listen(filter, notify)),
    maxSubscriptions: LISTENING_MAX,
    onerror: (error) => log.warn({ err: error }, 'MCP connection'),
  });
  return {
    async close() {
      await handle.close();
      changes.close();
    },
  };
}

/** One connection for all calls: opened at the first call, and again after a failed attempt. */
function shared(connect: () => Promise<Client>) {
  let attempt: Promise<Client> | undefined;
  let open: Client | undefined;
  const start = async () => {
    try {
      open = await connect();
      return open;
    } catch (error) {
      attempt = undefined;
      throw error;
    }
  };
  return {
    get(): Promise<Client> {
      attempt ??= start();
      return attempt;
    },
    // Does not wait for an attempt still running: the process ends, and nothing was asked of the service yet.
    close: async (): Promise<void> => open?.close(),
  };
}
