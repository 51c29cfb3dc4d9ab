import { INTEGRATION_KINDS, type IntegrationKind } from '../../contract/integrations.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import type { Source } from '../../contract/sources.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { ExternalSource } from '../catalog/records.ts';
import type { Refuse } from '../ingest/field-mappings.ts';

/** What a kind needs, and which of its fields only the service fills in. */
interface Fields {
  required: readonly string[];
  shown: readonly string[];
}

const OBJECTS = [
  'object_count_total',
  'object_count_downloaded',
  'object_bytes_total',
  'object_bytes_downloaded',
] as const;

const FIELDS: Readonly<Record<IntegrationKind, Fields>> = {
  s3: { required: ['bucket'], shown: OBJECTS },
  gcs: { required: ['bucket'], shown: OBJECTS },
  kinesis: { required: ['stream_name'], shown: [] },
  dynamodb: { required: ['table_name'], shown: ['status'] },
  redshift: { required: ['database', 'table_name'], shown: [] },
  kafka: { required: ['kafka_topic_name'], shown: ['status'] },
  mongodb: { required: ['database_name', 'collection_name'], shown: ['status'] },
  segment: { required: [], shown: [] },
};

/** The kinds of external sources that a source names. */
export function externalKinds(given: Source): IntegrationKind[] {
  return INTEGRATION_KINDS.filter((kind) => (given[kind] ?? null) !== null);
}

/** A source of this kind, checked as far as that is possible without asking it. Throws the error that `refuse` makes. */
export function readExternal(
  catalog: Pick<Catalog, 'all'>,
  given: Source,
  kind: IntegrationKind,
  since: string,
  refuse: Refuse,
): ExternalSource {
  const { required, shown } = FIELDS[kind];
  const settings = Object.fromEntries(
    Object.entries((given[kind] ?? {}) as JsonObject).filter(
      ([name, value]) => value !== null && !shown.includes(name),
    ),
  );
  const missing = required.filter((name) => (settings[name] ?? '') === '');
  if (missing.length > 0) throw refuse(`has no ${missing.map((name) => `"${kind}.${name}"`).join(', ')}`);
  requireValues(settings, kind, refuse);
  const integrationName = given.integration_name ?? '';
  if (integrationName === '')
    throw refuse(`has no "integration_name": an integration of the kind ${kind} says how to connect`);
  const integration = catalog.all('integration').get(integrationName);
  if (integration === undefined) throw refuse(`uses the integration "${integrationName}", which does not exist`);
  if (integration.kind !== kind) {
    throw refuse(
      `is of the kind "${kind}" and uses the integration "${integrationName}" of the kind "${integration.kind}"`,
    );
  }
  const formatParams = given.format_params ?? null;
  return {
    kind,
    integrationName,
    settings,
    formatParams: formatParams as JsonObject | null,
    onError: given.on_error ?? 'skip',
    since,
  };
}

function requireValues(settings: JsonObject, kind: IntegrationKind, refuse: Refuse): void {
  const { offset_reset_policy: policy, rcu, access_key: key, secret_access: secret, mappings } = settings;
  if (policy !== undefined && !/^(earliest|latest)$/i.test(String(policy))) {
    throw refuse(`has the ${kind}.offset_reset_policy "${String(policy)}"; it is EARLIEST or LATEST`);
  }
  if (typeof rcu === 'number' && rcu < 1) throw refuse(`has the ${kind}.rcu ${rcu}; it is at least 1`);
  if (key !== undefined || secret !== undefined) {
    throw refuse(`has a key in "${kind}"; keys are given in an integration, which keeps them encrypted`);
  }
  if (Array.isArray(mappings) && mappings.length > 0) {
    throw refuse(`has "${kind}.mappings"; use the collection's "field_mappings" or "field_mapping_query"`);
  }
}
