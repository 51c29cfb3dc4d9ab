import type { Collection } from '../../contract/collections.ts';
import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { someOf } from '../../contract/in-words.ts';
import {
  Connection,
  INTEGRATION_KINDS,
  type Integration,
  type IntegrationKind,
  kindsIn,
} from '../../contract/integrations.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { problemOf } from '../../contract/json/measure.ts';
import { sourceControl } from '../../contract/source-control.ts';
import { mapInTurns } from '../../contract/turns/turns.ts';
import { hashKey, newKey } from '../access/auth.ts';
import { parseInput } from '../app/input.ts';
import { type Catalog, put, remove } from '../catalog/catalog.ts';
import { byName, requireIntegration } from '../catalog/not-found.ts';
import type { IntegrationRecord } from '../catalog/records.ts';
import { toCollection } from '../collections/collections.ts';
import { collectionsUsing, refuseWithDependents } from '../collections/dependents.ts';
import { foldedMatch } from '../collections/workspaces.ts';
import type { CallContext, ServiceContext } from '../context.ts';
import { sourcesOf } from '../sources/states.ts';
import { toSource } from '../sources/views.ts';
import { masked } from './integration-masks.ts';
import type { Sealer } from './secrets.ts';

type Given = ParsedInput<'createIntegration'>;
/** An integration's name, and what it has of each kind. */
type Kinds = Pick<Given, 'name' | IntegrationKind> & { description?: string | undefined };

const LISTED_MAX = 20;

/**
 * Stores connection details (docs/api.md #30). Secrets are encrypted before they reach the engine and masked in every
 * answer, the first included. Throws `already_exists`, `invalid_input`, or `internal` if the key file cannot be used.
 */
export async function createIntegration(ctx: CallContext, input: Given): Promise<Integration> {
  const { catalog } = ctx;
  const { kind, config, key } = kindOf(input);
  // One that the caller gave is not told back.
  const madeKey = (input.segment?.connection_string ?? null) === null ? key : undefined;
  refuseTakenName(catalog, input.name);
  const shown = masked(kind, config);
  // A config without secrets needs no key.
  const sealer = shown === config ? undefined : await sealerFor(ctx, input.name);
  return catalog.change(() => {
    refuseTakenName(catalog, input.name);
    if (sealer !== undefined) refuseOtherKey(ctx, input.name, sealer);
    const record: IntegrationRecord = {
      name: input.name,
      description: input.description ?? null,
      createdAt: new Date().toISOString(),
      createdBy: ctx.caller.user.email,
      kind,
      shown,
      sealed: sealer?.seal(config, ownerOf(input.name)) ?? null,
      ...(key === undefined ? {} : { keyHash: hashKey(key) }),
    };
    refuseTakenKey(catalog, record);
    return { changes: [put('integration', record.name, record)], result: withKey(toIntegration(ctx, record), madeKey) };
  });
}

/**
 * Stores other connection details of the same kind, with which its sources go on. Throws `not_found`, `invalid_input`, or
 * `internal` if the key file cannot be used.
 */
export async function updateIntegration(
  ctx: CallContext,
  input: ParsedInput<'updateIntegration'>,
): Promise<Integration> {
  const { catalog } = ctx;
  const before = requireIntegration(catalog, input.integration);
  const row = { ...sourceControl.updateIntegration, body: Connection };
  const body = { [before.kind]: input.connection };
  const given = (await parseInput(row, { params: { integration: before.name }, query: {}, body })) as Kinds;
  const { kind, config, key } = kindOf({ ...given, ...(await keptKey(ctx, before, given)), name: before.name });
  const shown = masked(kind, config);
  const sealer = shown === config ? undefined : await sealerFor(ctx, before.name);
  const updated = await catalog.change(() => {
    const current = requireIntegration(catalog, input.integration);
    if (sealer !== undefined) refuseOtherKey(ctx, current.name, sealer);
    const { keyHash: _, ...rest } = current;
    const sealed = sealer?.seal(config, ownerOf(current.name)) ?? null;
    const record: IntegrationRecord = {
      ...rest,
      shown,
      sealed,
      ...(key === undefined ? {} : { keyHash: hashKey(key) }),
    };
    refuseTakenKey(catalog, record);
    return { changes: [put('integration', record.name, record)], result: toIntegration(ctx, record) };
  });
  ctx.sources.changed();
  return updated;
}

/** Deletes an integration with its secrets (docs/api.md #31). Throws `not_found`, `dependent_resources`. */
export function deleteIntegration(ctx: CallContext, input: { integration: string }): Promise<Integration> {
  const { catalog } = ctx;
  return catalog.change(() => {
    const record = requireIntegration(catalog, input.integration);
    refuseWithDependents(catalog, 'integration', record.name);
    return { changes: [remove('integration', record.name)], result: toIntegration(ctx, record) };
  });
}

/** One integration, masked (docs/api.md #32). */
export function getIntegration(ctx: CallContext, input: { integration: string }): Integration {
  return toIntegration(ctx, requireIntegration(ctx.catalog, input.integration));
}

/** All integrations, masked, by name (docs/api.md #33). */
export function listIntegrations(ctx: CallContext): Promise<Integration[]> {
  const records = [...ctx.catalog.all('integration').values()].sort(byName);
  return mapInTurns(records, (record) => toIntegration(ctx, record));
}

/**
 * The connection details of an integration with its secrets, for connecting to the source; never for an answer or a
 * log. Rejects `not_found`, or `internal` if the key file is lost or another one.
 */
export async function connectionOf(
  ctx: Pick<ServiceContext, 'catalog' | 'secrets'>,
  name: string,
): Promise<{ kind: IntegrationKind; config: JsonObject }> {
  const record = requireIntegration(ctx.catalog, name);
  const config = record.sealed === null ? record.shown : await ctx.secrets.open(record.sealed, ownerOf(record.name));
  return { kind: record.kind, config: config as JsonObject };
}

function ownerOf(name: string): string {
  return `integration "${name}"`;
}

/** The one kind that is given, with its fields; the other kinds are ignored. */
function kindOf(input: Kinds): { kind: IntegrationKind; config: JsonObject; key?: string } {
  const [kind] = kindsIn(input);
  // The contract's schema lets only one kind pass.
  if (kind === undefined) throw new ApiError('internal', 'The integration has no kind.');
  const key = kind === 'segment' ? (input.segment?.connection_string ?? newKey()) : undefined;
  const given = key === undefined ? input[kind] : { ...input[kind], connection_string: key };
  const config = (kind === 'kafka' ? kafkaOf(input.kafka) : { ...NO_KEY_OR_ROLE[kind], ...given }) as JsonObject;
  requireStorable(input.name, 'description', input.description ?? null);
  requireStorable(input.name, kind, config);
  return { kind, config, ...(key === undefined ? {} : { key }) };
}

/** The write key is shown once: when it is made. */
function withKey(shown: Integration, key: string | undefined): Integration {
  return key === undefined ? shown : { ...shown, segment: { ...shown.segment, connection_string: key } };
}

/** A write key goes on, unless another one is given. */
async function keptKey(ctx: CallContext, { name, kind }: IntegrationRecord, { segment }: Pick<Kinds, 'segment'>) {
  if (kind !== 'segment' || (segment ?? null) === null || (segment?.connection_string ?? null) !== null) return {};
  const { connection_string: key } = (await connectionOf(ctx, name)).config;
  return typeof key === 'string' ? { segment: { ...segment, connection_string: key } } : {};
}

function refuseTakenKey(catalog: Catalog, { name, keyHash }: IntegrationRecord): void {
  if (keyHash === undefined) return;
  const other = [...catalog.all('integration').values()].find((one) => one.keyHash === keyHash && one.name !== name);
  if (other === undefined) return;
  throw new ApiError(
    'already_exists',
    `Cannot create integration "${name}": integration "${other.name}" has the same write key. Leave it out, and a new one is made.`,
  );
}

function requireStorable(name: string, field: string, value: JsonValue): void {
  const problem = problemOf(value);
  if (problem === undefined) return;
  throw new ApiError('invalid_input', `Cannot create integration "${name}": "${field}" ${problem}.`);
}

const NEITHER = { cloud_access_key: null, cloud_role: null };
const NO_KEY_OR_ROLE: { readonly [K in IntegrationKind]?: JsonObject } = {
  s3: NEITHER,
  kinesis: NEITHER,
  dynamodb: NEITHER,
};

function kafkaOf(given: Given['kafka']): JsonObject {
  return {
    ...(given as JsonObject),
    kafka_topic_names: [...new Set(given?.kafka_topic_names)],
    kafka_data_format: given?.kafka_data_format ?? 'json',
  };
}

function refuseTakenName(catalog: Catalog, name: string): void {
  const taken = foldedMatch(catalog.all('integration').keys(), name);
  if (taken === undefined) return;
  const why =
    taken === name
      ? 'it exists already. Delete it first, or choose another name.'
      : `integration "${taken}" exists, and two names may not differ only in case. Choose another name.`;
  throw new ApiError('already_exists', `Cannot create integration "${name}": ${why}`);
}

async function sealerFor(ctx: CallContext, name: string): Promise<Sealer> {
  const isFirst = [...ctx.catalog.all('integration').values()].every((record) => record.sealed === null);
  const sealer = await ctx.secrets.sealer({ make: isFirst });
  refuseOtherKey(ctx, name, sealer);
  if (sealer === undefined) throw new ApiError('internal', `Cannot create integration "${name}": its key is missing.`);
  return sealer;
}

/**
 * All secrets have the same key: if a lost key file were replaced by a new one, restoring the old file would lose what
 * was stored in the meantime.
 */
function refuseOtherKey({ catalog, secrets }: CallContext, name: string, sealer: Sealer | undefined): void {
  const others = [...catalog.all('integration').values()]
    .filter((record) => record.sealed !== null && record.sealed.keyId !== sealer?.keyId)
    .sort(byName)
    .map((record) => `"${record.name}"`);
  if (others.length === 0) return;
  const list = someOf(others, LISTED_MAX);
  const state = sealer === undefined ? 'is missing' : 'is another one';
  throw new ApiError(
    'internal',
    `Cannot create integration "${name}": the key file "${secrets.file}" ${state}, and the secrets of ${list} were encrypted with the one before. Put that file back (of a lake: copy it from the node that has it), or delete these integrations first.`,
  );
}

/** The states of the topics that are read through an integration of Kafka. */
function topicStates(ctx: CallContext, { kind, name, shown }: IntegrationRecord): JsonObject {
  if (kind !== 'kafka') return {};
  const sources = collectionsUsing(ctx.catalog, name).flatMap(sourcesOf);
  const stateOfTopic = (topic: string) =>
    sources
      .filter(({ source }) => source.settings['kafka_topic_name'] === topic)
      .map((placed) => toSource(ctx, placed).status?.state ?? 'DORMANT')
      .at(0) ?? 'DORMANT';
  if (sources.length === 0) return { source_status_by_topic: null };
  const topics = shown['kafka_topic_names'] as string[];
  return { source_status_by_topic: Object.fromEntries(topics.map((topic) => [topic, stateOfTopic(topic)])) };
}

function toIntegration(ctx: CallContext, record: IntegrationRecord): Integration {
  const kinds = INTEGRATION_KINDS.map((kind): [string, JsonValue] => [
    kind,
    kind === record.kind ? { ...record.shown, ...topicStates(ctx, record) } : null,
  ]);
  const collections: Collection[] = collectionsUsing(ctx.catalog, record.name).map((collection) =>
    toCollection(ctx, collection, 'READY'),
  );
  return {
    name: record.name,
    description: record.description,
    collections,
    created_by: record.createdBy,
    created_at: record.createdAt,
    ...Object.fromEntries(kinds),
  };
}
