import { StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { openLegacy, openModern } from './drivers.ts';
import { type Served, startServe } from './served.ts';
import type { Driver } from './session.ts';

const running = new Map<string, Served>();

async function serve(dataDir: string): Promise<() => Promise<void>> {
  const served = await startServe(dataDir);
  running.set(dataDir, served);
  return async () => {
    running.delete(dataDir);
    await served.stop();
  };
}

function connectionTo(dataDir: string) {
  const served = running.get(dataDir);
  if (served === undefined) throw new Error(`nothing serves ${dataDir}`);
  const { url, key } = served;
  return { url, options: { requestInit: { headers: { authorization: `Bearer ${key}` } } } };
}

/** The legacy client, in a session. */
export const legacyHttp: Driver = {
  name: 'HTTP, 2025-11-25',
  serve,
  open: ({ dataDir, human }) => {
    const { url, options } = connectionTo(dataDir);
    const transport = new LegacyHttp(url, options);
    return openLegacy(transport, human, async () => {
      await transport.terminateSession();
    });
  },
};

/** The modern client, pinned to the modern era, which has no sessions. */
export const modernHttp: Driver = {
  name: 'HTTP, 2026-07-28',
  serve,
  open: ({ dataDir, human }) => {
    const { url, options } = connectionTo(dataDir);
    return openModern(new ModernHttp(url, options), human);
  },
};
