import { ApiError } from '../../contract/errors.ts';
import type { SourceReport } from '../../contract/source-control.ts';
import type { Change } from '../../engine/engine.ts';
import { remove } from '../catalog/catalog.ts';
import { requireCollection } from '../catalog/not-found.ts';
import type { SourceState } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { NEW_STATE, type PlacedSource, putState, refusedItemsOf, sourceKey, sourcesOf, stateOf } from './states.ts';
import { toSource } from './views.ts';

interface Target {
  workspace: string;
  collection: string;
  source: string;
}

/** How far a source is, and its latest items that are no documents. Throws `not_found`. */
export function getSource(ctx: CallContext, input: Target): SourceReport {
  return reportOf(ctx, find(ctx, input));
}

/** Stops reading a source, until it is resumed. Throws `not_found`. */
export function pauseSource(ctx: CallContext, input: Target): Promise<SourceReport> {
  return change(ctx, input, (state) => ({ ...state, isPaused: true }));
}

/** Lets a source go on where it was. Throws `not_found`, `invalid_input` if it has lost its place. */
export function resumeSource(ctx: CallContext, input: Target): Promise<SourceReport> {
  return change(ctx, input, (state) => ({ ...state, isPaused: false, stopped: null }));
}

/** Lets a source begin anew; what it had counted is forgotten. Throws `not_found`. */
export function restartSource(ctx: CallContext, input: Target): Promise<SourceReport> {
  return change(
    ctx,
    input,
    () => NEW_STATE,
    (placed) => [
      { do: 'forgetMemory', table: placed.collection.table, source: placed.index },
      ...(ctx.catalog.all('refusedItems').has(sourceKey(placed)) ? [remove('refusedItems', sourceKey(placed))] : []),
    ],
  );
}

async function change(
  ctx: CallContext,
  input: Target,
  next: (state: SourceState) => SourceState,
  more: (placed: PlacedSource) => readonly Change[] = () => [],
): Promise<SourceReport> {
  const placed = find(ctx, input);
  await ctx.sources.holding(placed, () =>
    ctx.catalog.change(() => {
      const current = find(ctx, input);
      const changes = [putState(current, next(stateOf(ctx.catalog, current))), ...more(current)];
      return { changes, result: undefined };
    }),
  );
  return reportOf(ctx, find(ctx, input));
}

function find({ catalog }: CallContext, { workspace, collection, source }: Target): PlacedSource {
  const record = requireCollection(catalog, workspace, collection);
  const all = sourcesOf(record);
  const found = all.find(({ index }) => index === Number(source));
  if (found !== undefined) return found;
  const has =
    all.length === 0
      ? 'it has none that this service reads'
      : `it has ${all.map(({ index, source: one }) => `${index} (${one.kind})`).join(', ')}`;
  throw new ApiError(
    'not_found',
    `Collection "${record.name}" in workspace "${record.workspace}" has no source ${source}: ${has}.`,
  );
}

function reportOf(ctx: CallContext, placed: PlacedSource): SourceReport {
  return { source: toSource(ctx, placed), refused: refusedItemsOf(ctx.catalog, placed).map((one) => ({ ...one })) };
}
