import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { LATEST } from '../../contract/lambdas.ts';
import type { EmptiedTrash, RestoredEntry, TrashEntry } from '../../contract/trash.ts';
import type { Change, FieldNews, Kept, Restored } from '../../engine/engine.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { aliasesOf, collectionKey, collectionsOf, findCollection } from '../catalog/not-found.ts';
import type { CollectionRecord, LambdaRecord, TrashRecord } from '../catalog/records.ts';
import { foldedMatch } from '../collections/workspaces.ts';
import type { CallContext, ServiceContext } from '../context.ts';
import { fieldWarnings } from '../ingest/write-warnings.ts';
import { findLambda, lambdaKey, lambdasOf, versionKey } from '../lambdas/lambda-records.ts';
import { sourceRemovals } from '../sources/states.ts';
import { documentsIn } from './trash-entries.ts';

type TrashContext = Pick<ServiceContext, 'engine' | 'catalog' | 'trash' | 'log'>;
type What<K extends TrashRecord['what']['kind']> = Extract<TrashRecord['what'], { kind: K }>;

/** Most entries, and most documents in them, removed for good in one step, since other changes wait for it. */
const STEP_ENTRIES_MAX = 100;
const STEP_DOCUMENTS_MAX = 100_000;

/** What can be restored, newest first. */
export async function listTrash(ctx: CallContext): Promise<TrashEntry[]> {
  const entries: TrashEntry[] = [];
  for (const [id, record] of [...ctx.catalog.all('trash')].reverse()) {
    // An entry may have been restored or removed while others were read.
    if (ctx.catalog.all('trash').has(id)) entries.push(await toEntry(ctx, id, record));
  }
  return entries.sort((a, b) => ((a.deleted_at ?? '') < (b.deleted_at ?? '') ? 1 : -1));
}

/**
 * Restores one entry. Nothing that exists is overwritten: documents whose `_id` exists again stay in the trash, as do those
 * past the retention. Throws
 * `not_found` for the entry or for what it belongs to, `already_exists` if the name is taken, and `dependent_resources`
 * while something else is done to the entry.
 */
export function restoreTrash(ctx: CallContext, { id }: { id: string }): Promise<RestoredEntry> {
  return ctx.trash.holding([id], async (held) => {
    const { workspace, what } = requireEntry(ctx.catalog, id);
    if (held.length === 0) throw busy('restore', id);
    const restored = what.kind === 'documents' ? await restoreDocuments(ctx, id, workspace, what) : undefined;
    const warnings =
      what.kind === 'documents' ? (restored?.warnings ?? []) : await restoreThing(ctx, id, workspace, what);
    return {
      id,
      kind: what.kind,
      workspace,
      name: nameOf(what),
      documents: what.kind === 'collection' ? await countOf(ctx, what.collection) : (restored?.docCount ?? null),
      skipped: restored === undefined ? 0 : restored.left.docCount - restored.pastCount,
      skipped_ids: restored?.leftIds ?? [],
      past_retention: restored?.pastCount ?? 0,
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  });
}

/** Removes one entry for good. Throws `not_found`, and `dependent_resources` while something else is done to it. */
export function removeTrash(ctx: CallContext, { id }: { id: string }): Promise<TrashEntry> {
  return ctx.trash.holding([id], async (held) => {
    const record = requireEntry(ctx.catalog, id);
    if (held.length === 0) throw busy('remove', id);
    const entry = await toEntry(ctx, id, record);
    await removeForGood(ctx, [id]);
    return entry;
  });
}

/** Removes all entries for good, but those to which something else is done at this moment. */
export async function emptyTrash(ctx: CallContext): Promise<EmptiedTrash> {
  const emptied = { entries: 0, bytes: 0 };
  for (const step of stepsOf(ctx.catalog, [...ctx.catalog.all('trash').keys()])) {
    await ctx.trash.holding(step, async (held) => {
      const entries: TrashEntry[] = [];
      for (const id of held) {
        const record = ctx.catalog.all('trash').get(id);
        if (record !== undefined) entries.push(await toEntry(ctx, id, record));
      }
      await removeForGood(ctx, held);
      emptied.entries += entries.length;
      for (const { bytes } of entries) emptied.bytes += bytes ?? 0;
    });
  }
  return emptied;
}

/** Removes entries that have expired by `nowMs` for good. Never rejects: what fails is tried again next time. */
export async function purgeTrash(ctx: TrashContext, nowMs: number): Promise<void> {
  try {
    const expired = [...ctx.catalog.all('trash')].filter(([, { expiresAt }]) => Date.parse(expiresAt) <= nowMs);
    const ids = expired.map(([id]) => id);
    for (const step of stepsOf(ctx.catalog, ids)) await ctx.trash.holding(step, (held) => removeForGood(ctx, held));
  } catch (error) {
    ctx.log.error({ err: error }, 'cannot remove what is past its time in the trash; trying again later');
  }
}

/** Removes entries that are held, not more than a step of them. */
async function removeForGood({ catalog }: TrashContext, ids: readonly string[]): Promise<void> {
  await catalog.change(() => {
    const changes: Change[] = [];
    const documents = new Map<string, string[]>();
    for (const id of ids) {
      const { what } = catalog.all('trash').get(id) ?? {};
      // Another node may have been faster.
      if (what === undefined) continue;
      if (what.kind === 'collection') {
        changes.push(...sourceRemovals(catalog, what.collection), {
          do: 'dropCollection',
          table: what.collection.table,
        });
      }
      if (what.kind === 'documents') documents.set(what.table, [...(documents.get(what.table) ?? []), id]);
      changes.push(remove('trash', id));
    }
    // Before the collections: those that are left when their collection goes have to be copied.
    const drops = [...documents].map(([table, trash]): Change => ({ do: 'dropDocuments', trash, table }));
    return { changes: [...drops, ...changes], result: undefined };
  });
}

/** Documents come before collections, as in a step; those of one table lie together, since it is read once per step. */
function stepsOf(catalog: Catalog, ids: readonly string[]): string[][] {
  const whatOf = (id: string) => catalog.all('trash').get(id)?.what;
  const documentsIn = (id: string) => {
    const what = whatOf(id);
    return what?.kind === 'documents' ? what.documents : 0;
  };
  const placeOf = (id: string) => {
    const what = whatOf(id);
    // After every table's id.
    return what?.kind === 'documents' ? what.table : '~';
  };
  const sorted = [...ids].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : Number(placeOf(a) > placeOf(b))));
  const steps: string[][] = [];
  let documents = 0;
  for (const id of sorted) {
    const step = steps.at(-1);
    documents += documentsIn(id);
    if (step !== undefined && step.length < STEP_ENTRIES_MAX && documents <= STEP_DOCUMENTS_MAX) step.push(id);
    else {
      steps.push([id]);
      documents = documentsIn(id);
    }
  }
  return steps;
}

/** Puts a thing back with each part of it that can be; returns which could not. */
async function restoreThing(
  { catalog }: CallContext,
  id: string,
  workspace: string,
  what: Exclude<TrashRecord['what'], What<'documents'>>,
): Promise<string[]> {
  const changesFor = { collection: collectionChanges, lambda: lambdaChanges, lambda_version: versionChanges };
  // Each function takes its own kind, which the compiler cannot follow through the table.
  const changesOf = changesFor[what.kind] as (catalog: Catalog, own: typeof what, warnings: string[]) => Change[];
  return await catalog.change(() => {
    // Another node may have been faster.
    requireEntry(catalog, id);
    requireWorkspaceFor(catalog, nounOf(what), workspace);
    const warnings: string[] = [];
    return { changes: [...changesOf(catalog, what, warnings), remove('trash', id)], result: warnings };
  });
}

async function restoreDocuments(
  ctx: CallContext,
  id: string,
  workspace: string,
  { collection: name, table }: What<'documents'>,
): Promise<Restored & { warnings: string[] }> {
  const total: Restored = { docCount: 0, left: { docCount: 0, bytes: 0, ids: [] }, leftIds: [], pastCount: 0 };
  const news: FieldNews[] = [];
  for (;;) {
    const collection = collectionFor(ctx.catalog, workspace, name, table);
    const after = (left: Kept) => {
      const record = { ...requireEntry(ctx.catalog, id), what: documentsIn(name, table, left) };
      return [left.docCount === 0 ? remove('trash', id) : put('trash', id, record)];
    };
    const step = await ctx.engine.restoreDocuments(id, collection.table, after, (one) => news.push(one));
    total.docCount += step.docCount;
    Object.assign(total, { left: step.left, leftIds: step.leftIds, pastCount: step.pastCount });
    if (step.docCount > 0) ctx.usage.wrote(collection, { inserted: 0, overwritten: 0 });
    if (step.docCount === 0 || step.left.docCount === 0) {
      const warnings = [...fieldWarnings(ctx.catalog, collection, news), ...pastWarnings(collection, step.pastCount)];
      return { ...total, warnings };
    }
  }
}

function pastWarnings({ workspace, name, retentionSecs }: CollectionRecord, pastCount: number): string[] {
  if (pastCount === 0) return [];
  const [stay, they] = pastCount === 1 ? ['stays', 'it is'] : ['stay', 'they are'];
  return [
    `${counted(pastCount, 'documents')} ${stay} in the trash: by the _event_time ${they} past the retention of ${collectionKey(workspace, name)} (${retentionSecs} seconds), so no query would see them before they are removed.`,
  ];
}

/** Where to restore documents: the collection that they were in or, if it is gone for good, the one with its name. */
function collectionFor(catalog: Catalog, workspace: string, name: string, table: string): CollectionRecord {
  const found = findCollection(catalog, workspace, name);
  if (found?.table === table) return found;
  const trashed = [...catalog.all('trash')].find(
    ([, { what }]) => what.kind === 'collection' && what.collection.table === table,
  );
  const what = `Cannot restore documents of collection "${name}"`;
  if (trashed !== undefined) {
    throw new ApiError('not_found', `${what}: the collection is in the trash itself. Restore "${trashed[0]}" first.`);
  }
  requireWorkspaceFor(catalog, `documents of collection "${name}"`, workspace);
  if (found !== undefined) return found;
  throw new ApiError(
    'not_found',
    `${what}: workspace "${workspace}" has no such collection any more. Create it first, then restore again.`,
    { messageKey: 'COLLECTION_DOES_NOT_EXIST' },
  );
}

function collectionChanges(catalog: Catalog, { collection, usage }: What<'collection'>): Change[] {
  const { workspace, name, table } = collection;
  const what = `Cannot restore collection "${name}"`;
  const others = [
    ...collectionsOf(catalog, workspace).map((one) => ['collection', one.name] as const),
    ...aliasesOf(catalog, workspace).map((one) => ['alias', one.name] as const),
  ];
  const taken = others.find(([, other]) => other.toLowerCase() === name.toLowerCase());
  if (taken !== undefined) {
    throw new ApiError(
      'already_exists',
      `${what}: workspace "${workspace}" has the ${taken[0]} "${taken[1]}" now. Delete that one first, then restore again.`,
    );
  }
  return [
    { do: 'restoreCollection', table },
    put('collection', collectionKey(workspace, name), collection),
    put('usage', table, usage),
  ];
}

function lambdaChanges(catalog: Catalog, { lambda, versions }: What<'lambda'>): Change[] {
  const names = lambdasOf(catalog, lambda.workspace).map((one) => one.name);
  const taken = foldedMatch(names, lambda.name);
  if (taken !== undefined) {
    throw new ApiError(
      'already_exists',
      `Cannot restore Query Lambda "${lambda.name}": workspace "${lambda.workspace}" has the Query Lambda "${taken}" now. Delete that one first, then restore again.`,
    );
  }
  return [
    put('lambda', lambdaKey(lambda.workspace, lambda.name), lambda),
    ...versions.flatMap(({ version, stats }) => [
      put('lambdaVersion', versionKey(version), version),
      put('lambdaStats', versionKey(version), stats),
    ]),
  ];
}

/**
 * A tag that was set again since then stays where it is; `latest` moves back if nobody has moved it since. Of a version that
 * was posted again, its tags are what there is to restore. `warnings` receives what does not come back.
 */
function versionChanges(
  catalog: Catalog,
  { version, stats, tags, latestAfter }: What<'lambda_version'>,
  warnings: string[],
): Change[] {
  const lambda = findLambda(catalog, version.workspace, version.lambda);
  const what = `Cannot restore version "${version.version}" of Query Lambda "${version.lambda}"`;
  if (lambda === undefined) {
    throw new ApiError(
      'not_found',
      `${what}: the Query Lambda does not exist in workspace "${version.workspace}". Restore or create it first.`,
      { messageKey: 'QUERY_NOT_FOUND' },
    );
  }
  const isThere = lambda.versions.includes(version.version);
  const placeOf = (tag: string) => lambda.tags.find(({ name }) => name === tag)?.version;
  const free = tags.filter((tag) => placeOf(tag) === undefined);
  const taken = tags.flatMap((tag) => {
    const on = placeOf(tag);
    return on === undefined || on === version.version ? [] : [`"${tag}" is on version "${on}" now, and stays there.`];
  });
  if (isThere && free.length === 0) {
    const others = taken.map((one) => ` The tag ${one}`).join('');
    throw new ApiError(
      'already_exists',
      `${what}: it was posted again and exists.${others} There is nothing to restore.`,
    );
  }
  const movesBack = latestAfter === lambda.latest;
  if (isThere) warnings.push(`The version was posted again and exists; restored: its tags ${inQuotesEach(free)}.`);
  warnings.push(...taken.map((one) => `The tag ${one}`));
  if (latestAfter !== null && !movesBack && lambda.latest !== version.version)
    warnings.push(`The tag "${LATEST}" is on version "${lambda.latest}" now, which was posted since, and stays there.`);
  const tagged = [...lambda.tags, ...free.map((name) => ({ name, version: version.version }))];
  const key = lambdaKey(lambda.workspace, lambda.name);
  if (isThere) return [put('lambda', key, { ...lambda, tags: tagged })];
  const createdAt = (name: string) =>
    name === version.version
      ? version.createdAt
      : (catalog.all('lambdaVersion').get(versionKey({ ...version, version: name }))?.createdAt ?? '');
  const record: LambdaRecord = {
    ...lambda,
    // Oldest first; of those created in the same moment, the existing ones first.
    versions: [...lambda.versions, version.version].sort((a, b) =>
      createdAt(a) < createdAt(b) ? -1 : Number(createdAt(a) > createdAt(b)),
    ),
    latest: movesBack ? version.version : lambda.latest,
    tags: tagged,
  };
  return [
    put('lambda', key, record),
    put('lambdaVersion', versionKey(version), version),
    put('lambdaStats', versionKey(version), stats),
  ];
}

function inQuotesEach(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}

function requireEntry(catalog: Catalog, id: string): TrashRecord {
  const entry = catalog.all('trash').get(id);
  if (entry !== undefined) return entry;
  throw new ApiError(
    'not_found',
    `There is nothing with the id ${JSON.stringify(id.slice(0, 100))} in the trash. "colloquy trash list" shows what there is.`,
  );
}

function busy(action: string, id: string): ApiError {
  return new ApiError(
    'dependent_resources',
    `Cannot ${action} entry "${id}" of the trash now: documents are still being deleted into it, restored or removed from it. Try again once that is done.`,
  );
}

function requireWorkspaceFor(catalog: Catalog, what: string, workspace: string): void {
  if (catalog.all('workspace').has(workspace)) return;
  throw new ApiError(
    'not_found',
    `Cannot restore ${what}: workspace "${workspace}" does not exist any more. Create the workspace first, then restore again.`,
    { messageKey: 'WORKSPACE_NOT_FOUND' },
  );
}

async function toEntry(ctx: CallContext, id: string, record: TrashRecord): Promise<TrashEntry> {
  const { what } = record;
  return {
    id,
    kind: what.kind,
    workspace: record.workspace,
    name: nameOf(what),
    deleted_at: record.deletedAt,
    deleted_by: record.deletedBy,
    expires_at: record.expiresAt,
    ...(await spaceOf(ctx, what)),
  };
}

async function spaceOf(ctx: CallContext, what: TrashRecord['what']) {
  if (what.kind === 'documents') return { documents: what.documents, ids: what.ids, bytes: what.bytes };
  if (what.kind !== 'collection') return { documents: null, bytes: Buffer.byteLength(stringifyJson(what as never)) };
  // The table may have been removed meanwhile, and takes no space then.
  const stats = await ctx.engine.stats(what.collection.table).catch(() => undefined);
  return { documents: stats?.docCount ?? null, bytes: stats?.totalBytes ?? 0 };
}

async function countOf(ctx: CallContext, { table }: CollectionRecord): Promise<number | null> {
  // The collection is restored even if its documents cannot be counted.
  return ctx.engine.stats(table).then(
    ({ docCount }) => docCount,
    () => null,
  );
}

function nameOf(what: TrashRecord['what']): string {
  if (what.kind === 'collection') return what.collection.name;
  if (what.kind === 'documents') return what.collection;
  if (what.kind === 'lambda') return what.lambda.name;
  return `${what.version.lambda}::${what.version.version}`;
}

function nounOf(what: TrashRecord['what']): string {
  const noun = {
    collection: 'collection',
    documents: 'documents of',
    lambda: 'Query Lambda',
    lambda_version: 'version',
  };
  return `${noun[what.kind]} "${nameOf(what)}"`;
}
