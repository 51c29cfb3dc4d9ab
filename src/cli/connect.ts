import { BUILD, serviceEnvironment, VERSION } from '../config.ts';
import { ApiError } from '../contract/errors.ts';
import type { Client } from '../http/client.ts';
import type { Logger } from '../mcp/assistant.ts';
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
  const program = { version: VERSION, build: BUILD };
  return connectLocal({ dataDir: config.dataDir, bin, program, env, log, timeoutMs, readOnly });
}

/** Throws where the settings name a remote service: `what`, e.g. "The trash is reached", is for those at its machine. */
export function requireLocalService({ url }: Pick<Config, 'url'>, what: string): void {
  if (url === undefined) return;
  throw new ApiError(
    'invalid_input',
    `${what} at the machine of the service only, and COLLOQUY_URL points at ${url}. Run this there, without COLLOQUY_URL.`,
  );
}
