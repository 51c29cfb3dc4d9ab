import type { JsonObject } from '../../contract/json/json.ts';
import type { Source } from '../../contract/sources.ts';
import { sentence } from '../../contract/text.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { SourceState } from '../catalog/records.ts';
import { NO_KIND } from '../ingest/sources.ts';
import { isPulled, kindOf } from './kinds.ts';
import type { LiveSource } from './runner.ts';
import { type PlacedSource, refusedItemsOf, stateOf } from './states.ts';

interface ViewContext {
  catalog: Pick<Catalog, 'all'>;
  sources: { liveOf(placed: PlacedSource): Readonly<LiveSource> | undefined };
}

/** A source as the API returns it: with all kinds, of which the others are null. */
export function toSource(ctx: ViewContext, placed: PlacedSource): Source {
  const { kind, integrationName, settings, formatParams, onError } = placed.source;
  const { scanned, scanTotal, phase } = stateOf(ctx.catalog, placed);
  const figures = isPulled(kind) ? kindOf(kind).figuresOf?.(stateOf(ctx.catalog, placed)) : undefined;
  const scan: JsonObject =
    phase === 'scan' && scanTotal !== null ? { scan_records_processed: scanned, scan_total_records: scanTotal } : {};
  const own: JsonObject = { ...settings, ...withStatus(figures, scan) };
  return {
    integration_name: integrationName,
    on_error: onError,
    ...NO_KIND,
    [kind]: own,
    status: statusOf(ctx, placed),
    format_params: formatParams,
  };
}

/** What the kind's own `status` says, with the progress of the initial read where it has it. */
function withStatus(figures: JsonObject | undefined, scan: JsonObject): JsonObject {
  const { status, ...others } = figures ?? {};
  return status === undefined || status === null
    ? others
    : { ...others, status: { ...scan, ...(status as JsonObject) } };
}

function statusOf(ctx: ViewContext, placed: PlacedSource): NonNullable<Source['status']> {
  const state = stateOf(ctx.catalog, placed);
  const live = ctx.sources.liveOf(placed);
  const [refused] = refusedItemsOf(ctx.catalog, placed);
  const failed = live?.lastError ?? null;
  const isFailureLast = failed !== null && (refused === undefined || failed.at > refused.at);
  const last =
    state.stopped ?? (isFailureLast ? { at: failed.at, item: null, reason: failed.reason } : (refused ?? null));
  return {
    ...(missingIntegration(ctx, placed) ?? stateAndMessage(state, live, placed)),
    last_processed_at: state.lastItemAt,
    last_processed_item: state.lastItem,
    total_processed_items: state.processed,
    last_error_at: last?.at ?? null,
    last_error_item: last?.item ?? null,
    last_error_reason: last?.reason ?? null,
    total_error_items: state.refused,
    behind_items: live?.behindItems ?? null,
    behind_ms: live?.behindMs ?? null,
  };
}

/** A collection that comes back from the trash may name one that is gone. */
function missingIntegration({ catalog }: ViewContext, { source: { integrationName } }: PlacedSource) {
  if (catalog.all('integration').has(integrationName)) return undefined;
  const message = `Integration "${integrationName}" does not exist any more: create it again, under the same name.`;
  return { state: 'ERROR' as const, since: null, message };
}

/** Of one that is not read here: it has yet to be, or another node does. */
function restingState(
  checkpoint: SourceState['checkpoint'],
  phase: SourceState['phase'],
): ['INITIALIZING' | 'SCANNING' | 'ACTIVE', message: string] {
  if (checkpoint === null) return ['INITIALIZING', 'About to be read.'];
  return [phase === 'scan' ? 'SCANNING' : 'ACTIVE', 'About to be read on, or read by another node.'];
}

function stateAndMessage(
  { isPaused, stopped, checkpoint, phase, scanned, scanTotal }: ReturnType<typeof stateOf>,
  live: Readonly<LiveSource> | undefined,
  { source }: PlacedSource,
): Pick<NonNullable<Source['status']>, 'state' | 'since' | 'message'> {
  if (stopped !== null) {
    const next =
      stopped.item === null
        ? 'Read it anew (restart), which replaces the documents by what is there now.'
        : 'Mend the item at the source, then resume; or resume after it is gone.';
    return { state: 'ERROR', since: stopped.at, message: `${sentence(stopped.reason)} ${next}` };
  }
  if (isPaused) return { state: 'PAUSED', since: null, message: 'Paused; resume it to go on.' };
  if (source.kind === 'segment') {
    return {
      state: 'ACTIVE',
      since: source.since,
      message: 'Takes what is sent with the write key of its integration.',
    };
  }
  if (live === undefined) {
    const [state, message] = restingState(checkpoint, phase);
    return { state, since: source.since, message };
  }
  if (live.message !== null) return { state: live.state, since: live.since, message: live.message };
  const total = scanTotal === null ? '' : ` of ${scanTotal}`;
  const message = {
    INITIALIZING: 'Connecting.',
    SCANNING: `Reading what is there: ${scanned ?? 0}${total} items so far.`,
    ACTIVE: 'All that was there is read; changes are followed.',
    WAITING: checkpoint === null ? 'Connecting.' : 'Waiting.',
  }[live.state];
  return { state: live.state, since: live.since, message };
}
