import type { Logger } from 'pino';
import { type Catalog, put } from '../catalog/catalog.ts';
import { createLateRecords } from '../catalog/late-records.ts';
import type { ApiKeyRecord } from '../catalog/records.ts';

const STORE_DELAY_MS = 5_000;

/** When each API key was last used, stored some seconds late: a durable write per request would cost more than most do. */
export interface KeyAccess {
  /** To be called for each request with the key of this hash. */
  used(hash: string): void;
  /** ISO-8601; null: never. */
  lastOf(key: ApiKeyRecord): string | null;
  /** Stores what is not stored yet; nothing is stored after it. */
  close(): Promise<void>;
}

export function openKeyAccess(catalog: Catalog, log: Logger): KeyAccess {
  const late = createLateRecords<string>({
    catalog,
    log,
    what: 'when API keys were used',
    delayMs: STORE_DELAY_MS,
    changesOf: (values) =>
      [...values].flatMap(([hash, lastAccessAt]) => {
        // A key deleted in the meantime must not come back.
        const key = catalog.all('apiKey').get(hash);
        if (key === undefined || (key.lastAccessAt ?? '') >= lastAccessAt) return [];
        return [put('apiKey', hash, { ...key, lastAccessAt })];
      }),
  });
  return {
    used: (hash) => late.set(hash, new Date().toISOString()),
    lastOf: (key) => late.get(key.hash) ?? key.lastAccessAt ?? null,
    close: late.close,
  };
}
