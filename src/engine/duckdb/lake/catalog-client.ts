import type { Client, ClientConfig } from 'pg';

/** Nothing that is asked here takes long: there is no other end any more. */
const ANSWER_MS = 15_000;

/** What the client says then. */
const TIMEOUT = 'Query read timeout';

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

export function createCatalogClient(config: ClientConfig, answerMs = ANSWER_MS): CatalogClient {
  let client: Promise<Client> | undefined;

  const connected = () => {
    if (client !== undefined) return client;
    const next: Promise<Client> = connectClient({ ...config, query_timeout: answerMs }, () => {
      if (client === next) client = undefined;
    });
    client = next;
    next.catch(() => {
      if (client === next) client = undefined;
    });
    return next;
  };

  async function ask(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const used = connected();
    const open = await used;
    try {
      return (await open.query(text, [...values])).rows;
    } catch (error) {
      if (error instanceof Error && error.message === TIMEOUT) {
        if (client === used) client = undefined;
        void open.end();
      }
      throw error;
    }
  }

  return {
    async query(text, values = []) {
      const kept = client;
      try {
        return await ask(text, values);
      } catch (error) {
        // A connection that was kept may have been closed at the other end: what is asked here changes nothing.
        if (kept === undefined || client === kept) throw error;
        return await ask(text, values);
      }
    },
    async close() {
      const before = await client?.catch(() => undefined);
      client = undefined;
      await before?.end().catch(() => undefined);
    },
  };
}
