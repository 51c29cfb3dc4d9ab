import type { Client, ClientConfig } from 'pg';

/** A connection to the catalog's PostgreSQL, made when it is first needed and again after it broke. */
export interface CatalogClient {
  /** Rows of a statement. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Opens a connection; `onEnd` is called once it is over, however that comes. */
export async function connectClient(config: ClientConfig, onEnd: () => void): Promise<Client> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(config);
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    onEnd();
  };
  client.on('error', end);
  client.on('end', end);
  await client.connect();
  return client;
}

export function createCatalogClient(config: ClientConfig): CatalogClient {
  let client: Promise<Client> | undefined;

  const connected = () => {
    if (client !== undefined) return client;
    const next: Promise<Client> = connectClient(config, () => {
      if (client === next) client = undefined;
    });
    client = next;
    next.catch(() => {
      if (client === next) client = undefined;
    });
    return next;
  };

  return {
    async query(text, values = []) {
      const isKept = client !== undefined;
      try {
        return (await (await connected()).query(text, [...values])).rows;
      } catch (error) {
        // A connection that was kept may have been closed at the other end: what is asked here changes nothing.
        if (!isKept || client !== undefined) throw error;
        return (await (await connected()).query(text, [...values])).rows;
      }
    },
    async close() {
      const before = await client?.catch(() => undefined);
      client = undefined;
      await before?.end().catch(() => undefined);
    },
  };
}
