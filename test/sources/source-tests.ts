import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder, startTestService, type TestService } from '../service/harness.ts';

/** How many items the initial reads have: `SOURCES_ITEMS`, in the long form 100,000. */
export const ITEMS = Number(process.env['SOURCES_ITEMS'] ?? 3_000);

const WS = '/v1/orgs/self/ws/commons';

/** A service with what tests of sources ask it. */
export interface SourceService extends TestService {
  createIntegration(name: string, kind: string, connection: unknown): Promise<unknown>;
  /** Creates a collection with one source; returns the answer, whatever it is. */
  createCollection(
    name: string,
    source: Record<string, unknown>,
    settings?: Record<string, unknown>,
  ): ReturnType<TestService['call']>;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
  source(collection: string): Promise<any>;
  control(collection: string, verb: 'pause' | 'resume' | 'restart'): Promise<unknown>;
  rows(sql: string): Promise<unknown[]>;
  count(collection: string): Promise<number>;
}

export async function startSourceService(
  folder?: string,
  options: { listen?: { host: string; port: number }[] } = {},
): Promise<SourceService> {
  const home = folder ?? (await makeFolder());
  const listen = [{ path: join(home, 'service.sock') }, ...(options.listen ?? [])];
  const service = await startTestService({ listen }, home);
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await service.call(method, path, body);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  if (folder === undefined) await ok('POST', '/v1/orgs/self/ws', { name: 'commons' }).catch(() => undefined);
  const rows = async (sql: string) => (await ok('POST', '/v1/orgs/self/queries', { sql: { query: sql } })).results;
  return {
    ...service,
    createIntegration: (name, kind, connection) =>
      ok('POST', '/v1/orgs/self/integrations', { name, [kind]: connection }),
    createCollection: (name, source, settings = {}) =>
      service.call('POST', `${WS}/collections`, { name, sources: [source], ...settings }),
    source: async (collection) => (await ok('GET', `/v1/colloquy/ws/commons/collections/${collection}/sources/0`)).data,
    control: (collection, verb) =>
      ok('POST', `/v1/colloquy/ws/commons/collections/${collection}/sources/0/${verb}`, {}),
    rows,
    count: async (collection) => Number((await rows(`SELECT count(*) AS n FROM commons."${collection}"`))[0]?.n),
  };
}

/** Waits until `check` is true of what `ask` gives; rejects with what it gave last. */
export async function until<T>(ask: () => Promise<T>, check: (value: T) => boolean, seconds = 60): Promise<T> {
  const end = Date.now() + seconds * 1_000;
  for (;;) {
    const value = await ask();
    if (check(value)) return value;
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${JSON.stringify(value)}`);
    await delay(50);
  }
}
