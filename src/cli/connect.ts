import { BUILD, serviceEnvironment, VERSION } from '../config.ts';
import { ApiError } from '../contract/errors.ts';
import type { Client } from '../http/client.ts';
import type { Logger } from '../mcp/logger.ts';
import type { Config } from '../settings.ts';

const loadRemote = () => import('../http/client.ts');
const loadLocal = () => import('../local/connect.ts');
const loadSettings = () => import('./serve/service-settings.ts');

/** Loads a connection's code ahead of its first use. Here, since another file's import would be resolved again. */
export function loadConnection({ url }: Pick<Config, 'url'>): Promise<unknown> {
  return url === undefined ? Promise.all([loadLocal(), loadSettings()]) : loadRemote();
}

/**
 * A client of the remote service named in the settings, or else of the shared local one, which is started from `bin` if
 * nobody listens. Rejects `connection_failed` if it cannot be started.
 *
 * `command`: the caller needs the service for a moment; if it is started for that, it leaves when nothing else calls.
 */
export async function connectService(config: Config, bin: string, log: Logger, command?: string): Promise<Client> {
  const { url, apiKey, requestTimeoutMs: timeoutMs, readOnly } = config;
  if (url !== undefined && apiKey !== undefined) {
    const { createClient } = await loadRemote();
    return createClient({ target: { url }, apiKey, timeoutMs, readOnly });
  }
  const { connectLocal } = await loadLocal();
  const env = serviceEnvironment(config);
  const program = { version: VERSION, build: BUILD };
  const client = await connectLocal({ dataDir: config.dataDir, bin, program, env, log, timeoutMs, readOnly, command });
  await warnOfUnheeded(client, config, log);
  return client;
}

/** Settings of the service apply only where it is started. A failure to find them out is not an error. */
async function warnOfUnheeded(client: Client, config: Config, log: Logger): Promise<void> {
  const { givenSettings, unheededSettings } = await loadSettings();
  const given = givenSettings(config);
  if (Object.keys(given).length === 0) return;
  const text = await unheededSettings(client, given).catch(() => undefined);
  if (text !== undefined) log.warn({}, text);
}

/** Throws if the settings name a remote service; `what`, e.g. "The trash is reached", needs its own machine. */
export function requireLocalService({ url }: Pick<Config, 'url'>, what: string): void {
  if (url === undefined) return;
  throw new ApiError(
    'invalid_input',
    `${what} at the machine of the service only, and COLLOQUY_URL points at ${url}. Run this there, without COLLOQUY_URL.`,
  );
}
