import { randomBytes } from 'node:crypto';
import type { Trashed } from '../../contract/trash.ts';
import type { Change, Engine, Keep, Kept, RecordChange } from '../../engine/engine.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { collectionKey } from '../catalog/not-found.ts';
import type { CollectionRecord, LambdaRecord, LambdaVersionRecord, RecordOf, TrashRecord } from '../catalog/records.ts';
import { lambdaKey, versionKey } from '../lambdas/lambda-records.ts';
import type { RunFigures } from '../lambdas/lambda-stats.ts';
import { sourceRemovals } from '../sources/states.ts';

/** Whether and how deleted things are kept. */
export interface Trash {
  /** How many days each can be restored; 0: nothing is kept. */
  readonly days: number;
  /** The time from which they are counted, in milliseconds since 1970. */
  readonly nowMs: () => number;
  /**
   * Runs `work` on those of these entries that nobody else holds, while nobody else can, on any node: deleting into one,
   * restoring and removing take as long as there are documents, and whoever comes meanwhile is told, and does not wait. A
   * hundred entries at most: the nodes of a lake have few locks.
   */
  holding<T>(ids: readonly string[], work: (held: readonly string[]) => Promise<T>): Promise<T>;
}

/** A deletion about to be made. */
export interface Deletion {
  trash: Trash;
  workspace: string;
  /** E-mail of the user who deletes. */
  by: string;
  told?: Told | undefined;
}

/** Told under which id a deletion is kept, and until when. */
export type Told = (entry: Trashed) => void;

/** The deletion that a call makes in a workspace. */
export function deletionBy(
  { trash, caller, trashed: told }: { trash: Trash; caller: { user: { email: string } }; trashed?: Told | undefined },
  workspace: string,
): Deletion {
  return { trash, workspace, by: caller.user.email, told };
}

const DAY_MS = 86_400_000;

export function createTrash(days: number, nowMs: () => number, { claim }: Pick<Engine, 'claim'>): Trash {
  const nameOf = (id: string) => `trash ${id}`;
  return {
    days,
    nowMs,
    holding: (ids, work) =>
      claim(ids.map(nameOf), (names) => {
        const held = new Set(names);
        return work(ids.filter((id) => held.has(nameOf(id))));
      }),
  };
}

function newId(): string {
  return randomBytes(6).toString('hex');
}

function entryOf(
  { trash, workspace, by, told }: Deletion,
  what: TrashRecord['what'],
  id: string = newId(),
): RecordChange {
  const now = trash.nowMs();
  const expiresAt = new Date(now + trash.days * DAY_MS).toISOString();
  told?.({ id, expires_at: expiresAt });
  return put('trash', id, { workspace, deletedAt: new Date(now).toISOString(), deletedBy: by, expiresAt, what });
}

/** The changes that delete a collection, into the trash if there is one. `usage`: its figures as of now. */
export function collectionDeletion(
  catalog: Catalog,
  collection: CollectionRecord,
  usage: RecordOf<'usage'>,
  deletion: Deletion,
): Change[] {
  const { table, workspace, name } = collection;
  const changes: Change[] = [remove('collection', collectionKey(workspace, name))];
  if (catalog.all('usage').has(table)) changes.push(remove('usage', table));
  if (deletion.trash.days === 0) {
    return [...changes, ...sourceRemovals(catalog, collection), { do: 'dropCollection', table }];
  }
  return [...changes, { do: 'trashCollection', table }, entryOf(deletion, { kind: 'collection', collection, usage })];
}

/** How many of its documents an entry names. */
const IDS_NAMED = 3;

/**
 * How to keep the documents of a collection that are about to be deleted; undefined without a trash. `idsOf` gives those of
 * the step that runs.
 */
export function documentsDeletion(
  collection: CollectionRecord,
  deletion: Deletion,
  idsOf: () => readonly string[],
): Keep | undefined {
  if (deletion.trash.days === 0) return undefined;
  const id = newId();
  let named: string[] | undefined;
  return {
    trash: id,
    record(kept) {
      // Some of the first step's may not have been there.
      const ids = [...new Set(idsOf())];
      named ??= kept.docCount === ids.length ? ids.slice(0, IDS_NAMED) : kept.ids;
      const what = { ...documentsIn(collection.name, collection.table, kept), ids: named };
      return entryOf(deletion, what, id);
    },
  };
}

export function documentsIn(collection: string, table: string, { docCount, bytes, ids }: Kept) {
  return { kind: 'documents' as const, collection, table, documents: docCount, bytes, ids };
}

/** The changes that delete a Query Lambda with all its versions, into the trash if there is one. */
export function lambdaDeletion(
  catalog: Catalog,
  lambda: LambdaRecord,
  versions: readonly { version: LambdaVersionRecord; stats: RunFigures }[],
  deletion: Deletion,
): Change[] {
  const changes: Change[] = [
    remove('lambda', lambdaKey(lambda.workspace, lambda.name)),
    ...versions.flatMap(({ version }) => versionRemoval(catalog, version)),
  ];
  if (deletion.trash.days === 0) return changes;
  return [...changes, entryOf(deletion, { kind: 'lambda', lambda, versions: [...versions] })];
}

/** The changes that delete one version, into the trash if there is one. `after` is the lambda without the version. */
export function versionDeletion(
  catalog: Catalog,
  lambda: { before: LambdaRecord; after: LambdaRecord },
  { version, stats }: { version: LambdaVersionRecord; stats: RunFigures },
  deletion: Deletion,
): Change[] {
  const { before, after } = lambda;
  const changes: Change[] = [
    put('lambda', lambdaKey(after.workspace, after.name), after),
    ...versionRemoval(catalog, version),
  ];
  if (deletion.trash.days === 0) return changes;
  const tags = before.tags.filter((tag) => tag.version === version.version).map((tag) => tag.name);
  const latestAfter = before.latest === version.version ? after.latest : null;
  const what = { kind: 'lambda_version' as const, version, stats, tags, latestAfter };
  return [...changes, entryOf(deletion, what)];
}

function versionRemoval(catalog: Catalog, version: LambdaVersionRecord): Change[] {
  const key = versionKey(version);
  return [remove('lambdaVersion', key), ...(catalog.all('lambdaStats').has(key) ? [remove('lambdaStats', key)] : [])];
}
