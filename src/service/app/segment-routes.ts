import { createHmac, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DOCUMENTS_MAX, WRITE_BYTES_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import { enterBody } from '../../contract/turns/long-bodies.ts';
import { mapInTurns } from '../../contract/turns/turns.ts';
import { requireAllowed } from '../access/allowlist.ts';
import { hashKey } from '../access/auth.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { IntegrationRecord } from '../catalog/records.ts';
import type { ServiceContext } from '../context.ts';
import { eventTimeMicros } from '../ingest/event-time.ts';
import { MASK } from '../integrations/integration-masks.ts';
import { connectionOf } from '../integrations/integrations.ts';
import type { Messages } from '../sources/segment.ts';
import { REFUSED_TEXT_MAX, type RefusedItem, type SourceChange } from '../sources/source.ts';
import { DEFINITION_BYTES_MAX, RawBody, readBody } from './body.ts';
import { notReady } from './failures.ts';
import { lookAgain } from './knowledge.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { MountVisit } from './mounts.ts';
import { SEGMENT_PATHS } from './paths.ts';

type SegmentContext = Pick<ServiceContext, 'engine' | 'catalog' | 'secrets' | 'sources'> & { lifecycle: Lifecycle };

const CHALLENGE = 'Basic realm="colloquy"';
const BASIC = /^basic +([\w+/=-]+) *$/i;
const HOW = 'Send it as the user of "Authorization: Basic", or as "writeKey" of the body.';
const unzip = promisify(gunzip);

/**
 * The endpoints that take messages as Segment's libraries and webhooks send them. A write key admits, and no API key is
 * needed; the allowlist applies. Answered when what was sent is durable.
 */
export function addSegmentRoutes(
  app: FastifyInstance,
  ctx: SegmentContext,
  visitOf: (request: FastifyRequest) => MountVisit,
): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // The body stays unread, whatever it is said to be: browsers send JSON as text.
    scope.addContentTypeParser('*', async () => undefined);
    for (const url of SEGMENT_PATHS) {
      scope.route({
        method: 'POST',
        url,
        onRequest: async (request, reply) => {
          const visit = visitOf(request);
          visit.operation = 'segment';
          reply.header('www-authenticate', CHALLENGE);
          if (ctx.lifecycle.phase !== 'ready') throw notReady(ctx.lifecycle.phase);
          ctx.lifecycle.called(false);
          // Keys, and sources that are there, or paused, as any node left them.
          await ctx.engine.refresh();
          requireAllowed(ctx.catalog, visit.origin);
          // Before the body is read, which then needs no place in memory.
          integrationFor(ctx.catalog, keyIn(request));
        },
        handler: async (request, reply) => {
          const visit = visitOf(request);
          const { signal } = visit;
          const { integration, messages } = await read(ctx, request, url, visit);
          const isEmpty = messages.changes.length + messages.refused.length === 0;
          if (!isEmpty) await ctx.sources.segment.take(integration, messages, signal);
          reply.removeHeader('www-authenticate');
          return { success: true };
        },
      });
    }
  });
}

/** What a request sends, and the integration whose key it has. Throws `unauthorized`, and as other bodies do. */
async function read(ctx: SegmentContext, request: FastifyRequest, path: string, visit: MountVisit) {
  const inHead = keyIn(request);
  // What somebody sends who may be nobody is bounded closely: real requests have at most 500 kB.
  const bytesMax = inHead === undefined ? DEFINITION_BYTES_MAX : WRITE_BYTES_MAX;
  // What is read waits elsewhere to be stored, with all that comes meanwhile.
  let leave = () => {};
  const raw = await readBody(request.raw, bytesMax, async (length) => {
    leave = await enterBody({ length, isWrite: false, caller: hashKey(inHead ?? ''), signal: visit.signal });
  });
  try {
    const { body, bytes } = await bodyOf(request, raw, bytesMax);
    await lookAgain(ctx.engine, visit);
    const key = inHead ?? (isObject(body) && typeof body['writeKey'] === 'string' ? body['writeKey'] : '');
    const integration = integrationFor(ctx.catalog, key);
    await requireSignature(ctx, integration, request, raw.bytes);
    const messages = await messagesOf(body, path, key);
    return { integration: integration.name, messages: { ...messages, bytes } };
  } finally {
    raw.release();
    leave();
  }
}

/** The write key of the header; undefined: the body may have it. */
function keyIn({ headers }: FastifyRequest): string | undefined {
  const [, code] = BASIC.exec(headers.authorization ?? '') ?? [];
  if (code === undefined) return undefined;
  const [user = ''] = Buffer.from(code, 'base64').toString().split(':', 1);
  return user === '' ? undefined : user;
}

/** The integration with this write key; without one, any. Throws `unauthorized`. */
function integrationFor(catalog: Catalog, key: string | undefined): IntegrationRecord {
  const all = catalog.derived('integration', byKeyHash);
  // A lookup's timing could only reveal something about the hash, which a caller cannot choose.
  const [found] = key === undefined ? all.values() : [all.get(hashKey(key))];
  if (found !== undefined) return found;
  const why = key === undefined || key === '' ? 'The request has no write key.' : 'The write key is not known here.';
  throw new ApiError('unauthorized', `${why} ${HOW}`);
}

function byKeyHash(integrations: ReadonlyMap<string, IntegrationRecord>): Map<string, IntegrationRecord> {
  return new Map(
    [...integrations.values()].flatMap((one) => (one.keyHash === undefined ? [] : [[one.keyHash, one] as const])),
  );
}

async function bodyOf(request: FastifyRequest, raw: RawBody, bytesMax: number) {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return { body: await raw.parse(), bytes: raw.bytes.length };
  if (encoding !== 'gzip') {
    const why = `The request body has the Content-Encoding "${encoding}". Send it without, or as gzip.`;
    throw new ApiError('unsupported_media_type', why);
  }
  const unzipped = await unzip(raw.bytes, { maxOutputLength: bytesMax }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_BUFFER_TOO_LARGE')
      throw new ApiError('invalid_input', 'The request body is no gzip.', { cause: error });
    throw new ApiError('content_too_large', `The request body is larger than ${bytesMax} bytes. Send smaller batches.`);
  });
  return { body: await new RawBody(unzipped).parse(), bytes: unzipped.length };
}

/** Throws `unauthorized` if the integration has a signing secret, and the body is not signed with it. */
async function requireSignature(
  ctx: SegmentContext,
  { name, shown }: IntegrationRecord,
  { headers }: FastifyRequest,
  bytes: Buffer,
): Promise<void> {
  if ((shown['signing_secret'] ?? null) === null) return;
  const secret = String((await connectionOf(ctx, name)).config['signing_secret']);
  const given = Buffer.from(String(headers['x-signature'] ?? '').toLowerCase());
  const expected = Buffer.from(createHmac('sha1', secret).update(bytes).digest('hex'));
  if (given.length === expected.length && timingSafeEqual(given, expected)) return;
  throw new ApiError(
    'unauthorized',
    'The header "X-Signature" is not the signature of this body with the signing secret of the integration.',
  );
}

/** The messages of a body, of which those without an id are refused. */
async function messagesOf(body: JsonValue | undefined, path: string, key: string): Promise<Omit<Messages, 'bytes'>> {
  const type = /^\/v1\/(?:batch|import)$/.test(path) ? undefined : path.slice('/v1/'.length);
  const all = listOf(body, type);
  if (all.length > DOCUMENTS_MAX) {
    const why = `The request has ${all.length} messages, and ${DOCUMENTS_MAX} are the most. Send smaller batches.`;
    throw new ApiError('content_too_large', why);
  }
  const changes: SourceChange[] = [];
  const refused: RefusedItem[] = [];
  await mapInTurns(all, (one, index) => {
    const message = isObject(one) ? withoutKey({ ...(type === undefined ? {} : { type }), ...one }) : one;
    const read = changeOf(message);
    if (typeof read !== 'string') changes.push(read);
    else {
      const text = stringifyJson(message).replaceAll(key, MASK).slice(0, REFUSED_TEXT_MAX);
      refused.push({ item: `batch[${index}]`, reason: read, text });
    }
  });
  return { changes, refused };
}

/** Several at once, with what the body says of all, or one. `sentAt` is of the request: it is another when it is repeated. */
function listOf(body: JsonValue | undefined, type: string | undefined): readonly JsonValue[] {
  if (Array.isArray(body)) return body;
  if (!isObject(body)) throw new ApiError('invalid_input', 'The request body is no message: send a JSON object.');
  const { batch, context, integrations } = body;
  if (batch === undefined) {
    if (type !== undefined || typeof body['type'] === 'string') return [body];
    throw new ApiError('invalid_input', 'The request body has no "batch": send the list of messages.');
  }
  if (!Array.isArray(batch)) throw new ApiError('invalid_input', '"batch" of the request body is no list.');
  const shared = Object.fromEntries(Object.entries({ context, integrations }).filter(([, value]) => value != null));
  return batch.map((one) => (isObject(one) ? { ...shared, ...one } : one));
}

function withoutKey({ writeKey: _, ...message }: JsonObject): JsonObject {
  return message;
}

/** A message as a document, or why it is none. Nothing is added that would be another at its next delivery. */
function changeOf(message: JsonValue): SourceChange | string {
  if (!isObject(message)) return 'is no JSON object';
  const { messageId: id, timestamp } = message;
  if (id === undefined || id === null || id === '') return 'has no "messageId"';
  if (typeof id !== 'string') return 'has a "messageId" that is no text';
  const hasTime = typeof timestamp === 'string' && eventTimeMicros(timestamp) !== undefined;
  const document = hasTime ? { _event_time: timestamp, ...message } : message;
  return { id, document, item: id };
}
