import type { Logger } from 'pino';
import { type Catalog, put } from '../catalog/catalog.ts';
import type { ApiKeyRecord } from '../catalog/records.ts';

const STORE_DELAY_MS = 5_000;

/**
 * When each API key was last used. Like the usage figures of collections, the times are stored some seconds late, and
 * on close: a durable write per request would cost more than most requests do. A service that is killed loses those of
 * the last few seconds.
 */
export interface KeyAccess {
  /** To be called for each request with the key of this hash. */
  used(hash: string): void;
  /** ISO-8601; null: never. */
  lastOf(key: ApiKeyRecord): string | null;
  /** Stores what is not stored yet. */
  flush(): Promise<void>;
}

export function openKeyAccess(catalog: Catalog, log: Logger): KeyAccess {
  const pending = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await catalog.change(() => {
      const changes = [...pending].flatMap(([hash, lastAccessAt]) => {
        // A key deleted in the meantime must not come back.
        const key = catalog.all('apiKey').get(hash);
        return key === undefined ? [] : [put('apiKey', hash, { ...key, lastAccessAt })];
      });
      pending.clear();
      return { changes, result: undefined };
    });
  }

  return {
    used(hash) {
      pending.set(hash, new Date().toISOString());
      timer ??= setTimeout(() => {
        flush().catch((error: unknown) => log.error({ err: error }, 'cannot store when API keys were used'));
      }, STORE_DELAY_MS).unref();
    },
    lastOf: (key) => pending.get(key.hash) ?? key.lastAccessAt ?? null,
    flush,
  };
}
