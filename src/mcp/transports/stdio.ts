import { once } from 'node:events';
import type { Server, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Client } from '../../http/client.ts';
import type { Assistant } from '../assistant.ts';
import { createChanges } from '../changes.ts';
import { listenFor, listeningTransport, notifierOf } from '../resources/subscriptions.ts';
import { createServer } from '../server.ts';
import { stdioTransport } from './stdio-transport.ts';

/** Requests to listen that one client can have open. */
const LISTENING_MAX = 64;
/** Hosts kill a process that takes much longer to end. */
const WITHDRAW_MS = 1_000;

/**
 * Serves MCP over this process's stdin and stdout, in whichever protocol era the client opens with. Resolves when stdin
 * closes, with the client closed. Lists and handshakes are answered before `connect` is ever called, which opens the way
 * to the service, starting it where needed, and is called again after a failure.
 */
export async function runStdio(options: Assistant): Promise<void> {
  const service = shared(options.connect);
  const { transport, ended } = stdioTransport({ input: process.stdin, output: process.stdout });
  const waiting = new Set<string>();
  const serving = serveOver({ ...options, connect: service.get, waiting }, transport);
  // Hosts that do not close standard input end this process so.
  await Promise.race([ended, once(process, 'SIGTERM')]);
  await Promise.all([serving.close(), withdraw(service.opened(), waiting)]);
  await service.close();
}

/** Serves one client over a transport of its own. `lookEveryMs`: how often it is looked for changes somebody listens for. */
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

/** Takes back what nobody will fetch the answer to; a service that is busy or gone is not waited for. */
async function withdraw(client: Client | undefined, codes: ReadonlySet<string>): Promise<void> {
  if (client === undefined || codes.size === 0) return;
  const signal = AbortSignal.timeout(WITHDRAW_MS);
  await Promise.allSettled([...codes].map((code) => client.withdrawApproval({ code }, { signal })));
}

/** One connection for all calls: opened at the first one, and again after an attempt that failed. */
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
    opened: () => open,
    // An attempt that still runs is not waited for: the process ends, and nothing was asked of the service yet.
    close: async (): Promise<void> => open?.close(),
  };
}
