import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import { hashKey } from '../access/auth.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { IntegrationRecord } from '../catalog/records.ts';
import { collectionsUsing } from '../collections/dependents.ts';
import { eventTimeMicros } from '../ingest/event-time.ts';
import { BATCH_ITEMS_MAX, REFUSED_TEXT_MAX, type RefusedItem, type SourceBatch, type SourceChange } from './source.ts';
import type { Sources } from './sources.ts';
import { type PlacedSource, sourcesOf, stateOf } from './states.ts';

/*
 * What Segment's libraries, and Segment itself, send to their tracking API is taken here: each message is a document of every
 * collection with a source of the integration whose write key it comes with.
 */

/** What a request may be sent to; the single calls name the type of their message. */
export const SEGMENT_CALLS = ['batch', 'import', 'track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export type SegmentCall = (typeof SEGMENT_CALLS)[number];

export interface SegmentContext {
  catalog: Catalog;
  sources: Sources;
  /** Decrypts the connection of an integration. */
  connectionOf(integration: string): Promise<JsonObject>;
}

const BASIC = /^basic +([A-Za-z0-9+/=_-]{1,400})$/i;

/** The integration whose write key is the user of a Basic `Authorization` header. Throws `unauthorized`. */
export function integrationOf(catalog: Catalog, header: string | undefined): IntegrationRecord {
  const encoded = BASIC.exec(header?.trim() ?? '')?.[1];
  const key = encoded === undefined ? '' : (Buffer.from(encoded, 'base64').toString().split(':')[0] ?? '');
  const found = key === '' ? undefined : catalog.derived('integration', byKey).get(hashKey(key));
  if (found !== undefined) return found;
  throw new ApiError(
    'unauthorized',
    'The write key is not known here. Send that of an integration of the kind segment as the user of HTTP Basic authentication.',
  );
}

function byKey(integrations: ReadonlyMap<string, IntegrationRecord>): Map<string, IntegrationRecord> {
  return new Map([...integrations.values()].flatMap((one) => (one.keyHash === undefined ? [] : [[one.keyHash, one]])));
}

/** Throws `unauthorized` if the integration has a signing secret, and the body another signature, or none. */
export async function requireSignature(
  { connectionOf }: Pick<SegmentContext, 'connectionOf'>,
  integration: IntegrationRecord,
  body: Buffer,
  signature: string | undefined,
): Promise<void> {
  const { signing_secret: secret } = await connectionOf(integration.name);
  if (typeof secret !== 'string') return;
  const expected = createHmac('sha1', secret).update(body).digest();
  const given = Buffer.from(signature ?? '', 'hex');
  if (given.length === expected.length && timingSafeEqual(given, expected)) return;
  throw new ApiError(
    'unauthorized',
    'The request is not signed with the signing secret of the integration (X-Signature).',
  );
}

/**
 * Takes the messages of a request; resolves when they are durable. Throws `invalid_input` for what holds none, and
 * `not_ready` as long as nobody reads them, so that the sender keeps them and comes again.
 */
export async function takeMessages(
  { catalog, sources }: SegmentContext,
  integration: IntegrationRecord,
  { call, body, signal }: { call: SegmentCall; body: JsonValue | undefined; signal: AbortSignal },
): Promise<void> {
  const messages = messagesOf(call, body);
  const placed = collectionsUsing(catalog, integration.name)
    .flatMap(sourcesOf)
    .filter(({ source }) => source.integrationName === integration.name);
  const resting = placed.find((one) => stateOf(catalog, one).isPaused || stateOf(catalog, one).stopped !== null);
  if (placed.length === 0) throw notNow(`no collection has a source of the integration "${integration.name}"`);
  // All or none: a sender that comes again brings every message again, which changes nothing.
  if (resting !== undefined)
    throw notNow(`the source of collection "${resting.collection.name}" is paused, or stands still`);
  for (const one of placed) {
    for (let from = 0; from < messages.length; from += BATCH_ITEMS_MAX) {
      const batch = batchOf(one, messages.slice(from, from + BATCH_ITEMS_MAX));
      await sources.take(one, batch, signal);
    }
  }
}

function notNow(why: string): ApiError {
  return new ApiError('not_ready', `Nothing was stored: ${why}. Send it again later.`, { retryAfterMs: 10_000 });
}

function messagesOf(call: SegmentCall, body: JsonValue | undefined): readonly JsonValue[] {
  if (call !== 'batch' && call !== 'import') {
    if (isObject(body)) return [{ type: call, ...body }];
    throw new ApiError('invalid_input', 'The request body has to be one message, a JSON object.');
  }
  const list = isObject(body) ? body['batch'] : undefined;
  if (Array.isArray(list)) return list;
  throw new ApiError(
    'invalid_input',
    'The request body has to be a JSON object with the messages in the list "batch".',
  );
}

function batchOf({ source }: PlacedSource, messages: readonly JsonValue[]): SourceBatch {
  const changes: SourceChange[] = [];
  const refused: RefusedItem[] = [];
  for (const message of messages) {
    const { messageId: id, ...rest } = isObject(message) ? message : {};
    if (typeof id === 'string' && id !== '')
      changes.push({ id, document: documentOf(id, rest), item: `messages/${id}` });
    else {
      const reason = isObject(message) ? 'has no messageId' : 'is no JSON object';
      refused.push({ item: 'messages', reason, text: stringifyJson(message).slice(0, REFUSED_TEXT_MAX) });
    }
  }
  const times = messages.flatMap((message) => (isObject(message) ? timeOf(message) : []));
  const itemTimeMs = times.length === 0 ? undefined : Math.max(...times);
  return { changes, refused, checkpoint: { since: source.since }, progress: { phase: 'changes', itemTimeMs } };
}

/** A message without the key that some libraries repeat in it. Its time is the document's, if it is one. */
function documentOf(messageId: string, { writeKey: _, ...rest }: JsonObject): JsonObject {
  const time = rest['timestamp'];
  const isTime = typeof time === 'string' && eventTimeMicros(time) !== undefined;
  return { messageId, ...rest, ...(isTime ? { _event_time: time } : {}) };
}

function timeOf({ timestamp }: JsonObject): number[] {
  const ms = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) ? [] : [ms];
}
