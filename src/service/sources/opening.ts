import type { Logger } from 'pino';
import type { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CollectionRecord, ExternalSource } from '../catalog/records.ts';
import { takesAsGiven } from '../ingest/intake.ts';
import { isPulled, kindOf } from './kinds.ts';
import { SourceError, type SourceReader } from './source.ts';

export interface OpeningContext {
  engine: Engine;
  /** The connection details of an integration, with secrets. */
  connectionOf(integration: string): Promise<JsonObject>;
  log: Logger;
}

const CHECK_MS = 30_000;

/** Connects to a source, with the integration's details as they are now; without a collection only to look whether that can be. */
export async function openReader(
  context: OpeningContext,
  source: ExternalSource,
  signal: AbortSignal,
  collection?: CollectionRecord,
  index = 0,
): Promise<SourceReader> {
  const { engine, log } = context;
  const { kind, integrationName, settings, formatParams, since } = source;
  if (!isPulled(kind)) throw new SourceError('settings', `Sources of the kind ${kind} are not read from here.`);
  const config = await unlessAborted(context.connectionOf(integrationName), signal);
  const { openSource } = await kindOf(kind).load();
  return await openSource({
    connection: withoutNulls(config),
    settings,
    formatParams,
    createdMs: Date.parse(since),
    memory: {
      after: async (after, max) =>
        collection === undefined ? [] : engine.memoryOf(collection.table, index, after, max),
    },
    files: {
      takesRows: collection !== undefined && takesAsGiven(collection),
      spool: engine.spool,
      openRows: (rows, signal) => engine.openRows(collection?.table ?? '', rows, signal),
    },
    log,
  });
}

/** Whether a source can be read with these settings, before its collection is made. Throws the error that `refuse` makes. */
export async function checkSource(
  context: OpeningContext,
  source: ExternalSource,
  signal: AbortSignal,
  refuse: (why: string) => ApiError,
): Promise<void> {
  if (source.kind === 'segment') return;
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]);
    const reader = await openReader(context, source, soon);
    try {
      await reader.check(soon);
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof SourceError) throw refuse(`cannot be read: ${error.message.replace(/[.]$/, '')}`);
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      throw refuse(`cannot be read: it did not answer within ${CHECK_MS / 1_000} seconds`);
    }
    throw error;
  }
}

/** Rejects as soon as the signal aborts, even while the work goes on. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** Without the fields that were not given. */
function withoutNulls(config: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== null));
}
