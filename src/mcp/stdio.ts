import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Client } from '../http/client.ts';
import { createApprovals } from './approvals.ts';
import { createServer, type Logger } from './server.ts';
import { stdioTransport } from './stdio-transport.ts';

export interface StdioOptions {
  /** Opens the way to the service, starting it where needed; called at the first use, and again after a failure. */
  connect: () => Promise<Client>;
  version: string;
  log: Logger;
  /** How a human starts this program in a shell, with the flags that lead to the same service (default `colloquy`). */
  command?: string | undefined;
}

/**
 * Serves MCP over this process's stdin and stdout, in whichever protocol era the client opens with. Resolves when stdin
 * closes, with the client closed. Lists and handshakes are answered before `connect` is ever called.
 */
export async function runStdio({ connect, version, log, command }: StdioOptions): Promise<void> {
  const service = shared(connect);
  const approvals = createApprovals();
  const { transport, ended } = stdioTransport({ input: process.stdin, output: process.stdout });
  const handle = serveStdio(
    ({ era }) => createServer({ connect: service.get, version, log, approvals, era, command }),
    {
      transport,
      onerror: (error) => log.warn({ err: error }, 'MCP connection'),
    },
  );
  await ended;
  await handle.close();
  await service.close();
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
    // An attempt that still runs is not waited for: the process ends, and nothing was asked of the service yet.
    close: async (): Promise<void> => open?.close(),
  };
}
