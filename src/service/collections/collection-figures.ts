import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Engine } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { recordsIn, recordsOfAll } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';

/** A collection and how much it contains; null if not known yet. */
export interface CollectionFigures {
  workspace: string;
  name: string;
  documents: number | null;
  bytes: number | null;
}

export interface WorkspaceFigures {
  workspace: string;
  /** By name; at most `COLLECTIONS_MAX` over all workspaces. */
  collections: CollectionFigures[];
  /** Number of further collections. */
  left: number;
}

const COLLECTIONS_MAX = 500;
const FRESH_MS = 5_000;
const WAIT_MS = 500;

/**
 * The collections by workspace with their figures, for a page that refreshes every few seconds. Figures older than five
 * seconds are read again in the background; if that takes more than half a second, the next call has them.
 */
export function createCollectionFigures(engine: Pick<Engine, 'stats'>, catalog: Catalog, log: Logger) {
  let known = new Map<string, { documents: number; bytes: number }>();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(records: readonly CollectionRecord[]): Promise<void> {
    const found: typeof known = new Map();
    for (const { table, workspace, name } of records) {
      try {
        const { docCount, totalBytes } = await engine.stats(table);
        found.set(table, { documents: docCount, bytes: totalBytes });
      } catch (error) {
        // Most likely it was deleted meanwhile.
        log.debug({ err: error, workspace, name }, 'the figures of a collection cannot be read');
      }
    }
    known = found;
    readAt = performance.now();
  }

  return async function figures(): Promise<WorkspaceFigures[]> {
    const workspaces = [...catalog.all('workspace').keys()].sort();
    const ordered = recordsOfAll(catalog, 'collection');
    const shown = new Set(ordered.slice(0, COLLECTIONS_MAX));
    if (performance.now() - readAt >= FRESH_MS) {
      reading ??= read([...shown]).finally(() => {
        reading = undefined;
      });
    }
    if (reading !== undefined) await Promise.race([reading, delay(WAIT_MS, undefined, { ref: false })]);
    return workspaces.map((workspace) => {
      const mine = recordsIn(catalog, 'collection', workspace);
      const collections = mine
        .filter((one) => shown.has(one))
        .map(({ name, table }) => {
          const { documents = null, bytes = null } = known.get(table) ?? {};
          return { workspace, name, documents, bytes };
        });
      return { workspace, collections, left: mine.length - collections.length };
    });
  };
}
