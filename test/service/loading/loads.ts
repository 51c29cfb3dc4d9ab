import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/contract/json/json.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { type Catalog, openCatalog } from '../../../src/service/catalog/catalog.ts';
import type { CollectionRecord } from '../../../src/service/catalog/records.ts';
import { addDocuments } from '../../../src/service/collections/documents.ts';
import { openUsage, type Usage } from '../../../src/service/compute/usage.ts';
import type { CallContext } from '../../../src/service/context.ts';
import { loadRows } from '../../../src/service/loading/load-rows.ts';
import type { LoadOptions, LoadOutcome } from '../../../src/service/loading/loading.ts';
import { columnsOf, openSmall, rowsOf, temporaryFolder } from '../../engine/harness.ts';

/** A real engine with collections of `commons`, and what loading needs of the service. */
export interface Loads {
  engine: Engine;
  catalog: Catalog;
  usage: Usage;
  /** The files in the spool, which is private. */
  spooled(): string[];
  /** Creates a collection; times are recognized unless said otherwise. */
  create(name: string, settings?: Partial<CollectionRecord>): Promise<CollectionRecord>;
  load(
    collection: CollectionRecord,
    body: string | Buffer | Iterable<Buffer> | AsyncIterable<Buffer>,
    options?: Partial<LoadOptions>,
    /** Whose load it is. */
    key?: string,
  ): Promise<LoadOutcome>;
  /** Loads a file into the collection `docs`, which is made; its columns and rows are without `_id`. */
  loadOwn(
    text: string | Buffer,
    options?: Partial<LoadOptions>,
  ): Promise<{ outcome: LoadOutcome; columns: string[]; rows: unknown[][] }>;
  /** Adds documents as a request does; returns the warnings of its answer. */
  add(collection: CollectionRecord, documents: readonly JsonObject[]): Promise<string[]>;
  /** What SQL sees: the columns, and the rows in order of `_id`, without their event times. */
  seen(name: string): Promise<{ columns: string[]; rows: unknown[] }>;
  dispose(): Promise<void>;
}

export async function openLoads(signal = new AbortController().signal): Promise<Loads> {
  const folder = temporaryFolder();
  const engine = await openSmall(folder.file);
  const catalog = openCatalog(engine);
  const usage = openUsage(catalog, pino({ level: 'silent' }));
  const shared = { engine, catalog, usage, signal, nextOffset: () => 'offset' };
  const callerOf = (key: string) => ({ ...shared, caller: { keyHash: key } }) as unknown as CallContext;
  const ctx = callerOf('key');
  await engine.commit([{ do: 'createWorkspace', workspace: 'commons' }]);
  const workspace = { name: 'commons', description: null, createdAt: '', createdBy: '' };
  await catalog.change(() => ({
    changes: [{ do: 'putRecord', kind: 'workspace', key: 'commons', value: workspace }],
    result: null,
  }));
  const loads: Loads = {
    engine,
    catalog,
    usage,
    spooled() {
      const spool = join(dirname(folder.file), 'spool');
      if (!existsSync(spool)) return [];
      expect(statSync(spool).mode & 0o777).toBe(0o700);
      return readdirSync(spool);
    },
    async create(name, settings = {}) {
      const record: CollectionRecord = {
        name,
        workspace: 'commons',
        table: `c_${name}`,
        description: null,
        createdAt: '',
        createdBy: '',
        clusteringKey: [],
        fieldSchemas: [],
        encodingOptions: null,
        retentionSecs: null,
        recognizeTimes: true,
        eventTimeInfo: null,
        fieldMappings: [],
        fieldMappingQuery: null,
        sources: [],
        ...settings,
      };
      const { table, retentionSecs, recognizeTimes } = record;
      await catalog.change(() => ({
        changes: [
          { do: 'putRecord', kind: 'collection', key: `commons.${name}`, value: record as unknown as JsonObject },
          { do: 'createCollection', table, workspace: 'commons', name, retentionSecs, recognizeTimes },
        ],
        result: null,
      }));
      return record;
    },
    load: (collection, body, options = {}, key = 'key') =>
      loadRows(callerOf(key), collection, piecesOf(body), {
        format: 'csv',
        skip: 0,
        onError: 'skip',
        tell: () => undefined,
        ...options,
      }),
    async loadOwn(text, options) {
      const outcome = await loads.load(await loads.create('docs'), text, options);
      const { columns } = await loads.seen('docs');
      const rows = await rowsOf(engine, 'SELECT * EXCLUDE (_id, _event_time) FROM docs ORDER BY _id');
      return { outcome, columns: columns.slice(1), rows };
    },
    add: async ({ name }, documents) =>
      (await addDocuments(ctx, { workspace: 'commons', collection: name, data: documents })).warnings ?? [],
    async seen(name) {
      const columns = (await columnsOf(engine, name)).filter((one) => !one.startsWith('_event_time'));
      return { columns, rows: await rowsOf(engine, `SELECT * EXCLUDE (_event_time) FROM ${name} ORDER BY _id`) };
    },
    async dispose() {
      await usage.close();
      await engine.close();
      folder.dispose();
    },
  };
  return loads;
}

async function* piecesOf(body: string | Buffer | Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (typeof body === 'string') yield Buffer.from(body);
  else if (Buffer.isBuffer(body)) yield body;
  else yield* body;
}
