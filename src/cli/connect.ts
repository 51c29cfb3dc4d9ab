import type { Logger } from 'pino';
import { serviceEnvironment, VERSION } from '../config.ts';
import type { Client } from '../http/client.ts';
import type { Config } from '../settings.ts';

/**
 * A client of the remote service that the settings name, or else of the shared local one, which is started from `bin`
 * if nobody listens. Rejects `connection_failed` when it cannot be started.
 */
export async function connectService(config: Config, bin: string, log: Logger): Promise<Client> {
  const { url, apiKey, requestTimeoutMs: timeoutMs, readOnly } = config;
  if (url !== undefined && apiKey !== undefined) {
    const { createClient } = await import('../http/client.ts');
    return createClient({ target: { url }, apiKey, timeoutMs, readOnly });
  }
  const { connectLocal } = await import('../local/connect.ts');
  const env = serviceEnvironment(config);
  return connectLocal({ dataDir: config.dataDir, bin, version: VERSION, env, log, timeoutMs, readOnly });
}
