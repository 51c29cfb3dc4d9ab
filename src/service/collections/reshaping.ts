import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { cut } from '../../contract/text.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Backups } from '../backups/backups.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { collectionKey } from '../catalog/not-found.ts';
import { lastKey } from '../ingest/write-warnings.ts';
import { lambdasReading } from './dependents.ts';

/** Fields whose new type is in the log, the lambdas that read them, and how much of a type is. */
const FIELDS_MAX = 20;
const LAMBDAS_MAX = 50;
const TYPE_CHARS_MAX = 60;

export interface ReshapingContext {
  engine: Pick<Engine, 'outdated' | 'reshape'>;
  catalog: Catalog;
  backups: Backups;
  databaseFile: string;
  log: Logger;
}

/**
 * Brings collections of an earlier version over to the columns of this one, in the background: first a backup of
 * everything, then one collection after the other. What is not done when the service ends is done at the next start.
 */
export interface Reshaping {
  /** Stops after the current collection. */
  stop(): Promise<void>;
}

export function startReshaping({ engine, catalog, backups, databaseFile, log }: ReshapingContext): Reshaping {
  const stopping = new AbortController();

  async function reshapeAll(): Promise<void> {
    const tables = engine.outdated();
    if (tables.length === 0) return;
    const backup = await makeBackup();
    for (const table of tables) {
      if (stopping.signal.aborted) return;
      const record = [...catalog.all('collection').values()].find((one) => one.table === table);
      const collection = record === undefined ? table : collectionKey(record.workspace, record.name);
      try {
        const changes = await engine.reshape(table);
        if (changes.length > 0) {
          const fields = changes
            .slice(0, FIELDS_MAX)
            .map(
              ({ path, before, after }) => `${path}: ${cut(before, TYPE_CHARS_MAX)} is ${cut(after, TYPE_CHARS_MAX)}`,
            );
          const keys = changes.map(({ path }) => lastKey(path));
          const lambdas = (record === undefined ? [] : lambdasReading(catalog, record, keys))
            .map(({ workspace, name }) => collectionKey(workspace, name))
            .slice(0, LAMBDAS_MAX);
          const told = { collection, changed: changes.length, fields, lambdas, backup };
          log.warn(told, 'fields have other types than before: the lambdas may fail or answer otherwise now');
        }
      } catch (error) {
        log.error({ err: error, collection }, 'a collection keeps the columns of an earlier version');
      }
    }
  }

  /** A folder for "colloquy restore". */
  async function makeBackup(): Promise<string> {
    const folder = join(dirname(databaseFile), 'backups');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `before-other-columns-${new Date().toISOString().replace(/[:.]/g, '-')}`);
    await backups.create(path, stopping.signal);
    return path;
  }

  const done = reshapeAll().catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    log.error({ err: error }, 'collections keep the columns of an earlier version: there is no backup');
  });
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
