import { type IntegrationKind, readMongodbUri } from '../../contract/integrations.ts';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';

/** Replaces a secret. Its length is fixed, so it does not reveal the secret's. */
export const MASK = '********';

/** Fields that identify a service account and where it is used; any other field of the object may be a secret. */
const ACCOUNT_SHOWN: ReadonlySet<string> = new Set([
  'type',
  'project_id',
  'client_email',
  'client_id',
  'auth_uri',
  'token_uri',
  'auth_provider_x509_cert_url',
  'client_x509_cert_url',
  'universe_domain',
]);

/** Options of a MongoDB connection string that contain no secret, in lower case. */
const OPTIONS_SHOWN: ReadonlySet<string> = new Set([
  'appname',
  'authmechanism',
  'authsource',
  'compressors',
  'connecttimeoutms',
  'directconnection',
  'heartbeatfrequencyms',
  'journal',
  'loadbalanced',
  'localthresholdms',
  'maxidletimems',
  'maxpoolsize',
  'maxstalenessseconds',
  'minpoolsize',
  'readconcernlevel',
  'readpreference',
  'replicaset',
  'retryreads',
  'retrywrites',
  'serverselectiontimeoutms',
  'sockettimeoutms',
  'srvmaxhosts',
  'srvservicename',
  'ssl',
  'tls',
  'w',
  'waitqueuetimeoutms',
  'wtimeoutms',
]);

const MASKS: Readonly<Record<IntegrationKind, (config: JsonObject) => JsonObject>> = {
  s3: maskAccessKey,
  kinesis: maskAccessKey,
  dynamodb: maskAccessKey,
  redshift: (config) => ({ ...maskAccessKey(config), password: MASK }),
  gcs: (config) => ({ ...config, gcp_service_account: maskAccount(config['gcp_service_account'] ?? null) }),
  segment: (config) => maskAll(config) as JsonObject,
  kafka: (config) => {
    const shown = { ...config };
    for (const name of ['security_config', 'schema_registry_config']) {
      const part = config[name];
      if (!isObject(part)) continue;
      const { url, ...secrets } = part;
      // Its key is often a name, and as often not.
      shown[name] = { ...(url === undefined ? {} : { url }), ...(maskAll(secrets) as JsonObject) };
    }
    const isSecret = Object.keys(shown).some((name) => shown[name] !== config[name]);
    return isSecret ? shown : config;
  },
  mongodb: (config) => ({ ...config, connection_uri: maskUri(String(config['connection_uri'])) }),
};

/** A kind's fields as they may be shown, with each secret masked; the same object if there is none. */
export function masked(kind: IntegrationKind, config: JsonObject): JsonObject {
  return MASKS[kind](config);
}

function maskAccessKey(config: JsonObject): JsonObject {
  const key = config['cloud_access_key'];
  if (!isObject(key)) return config;
  return { ...config, cloud_access_key: { ...key, cloud_secret_access_key: MASK } };
}

function maskAccount(account: JsonValue): JsonValue {
  if (!isObject(account)) return MASK;
  const fields = Object.entries(account).map(([name, value]) => {
    const isShown = value === null || (ACCOUNT_SHOWN.has(name) && typeof value === 'string');
    return [name, isShown ? value : MASK] as const;
  });
  return Object.fromEntries(fields);
}

/** The fields are unknown, so any text or number may be a secret; only the structure is kept. */
function maskAll(value: JsonValue): JsonValue {
  if (value === null || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(maskAll);
  if (!isObject(value)) return MASK;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, maskAll(field)] as const));
}

function maskUri(uri: string): string {
  const { scheme, user, password, hosts, database, options } = readMongodbUri(uri) ?? {};
  // Cannot happen, since URIs are checked before they are stored; if it did, nothing would be shown.
  if (scheme === undefined) return MASK;
  const login = user === undefined ? '' : `${user}${password === undefined ? '' : `:${MASK}`}@`;
  const path = database === undefined ? '' : `/${database}`;
  return `${scheme}://${login}${hosts}${path}${options === undefined ? '' : `?${options.split('&').map(maskOption).join('&')}`}`;
}

function maskOption(option: string): string {
  const equals = option.indexOf('=');
  if (equals === -1) return option === '' ? '' : MASK;
  const name = option.slice(0, equals);
  return OPTIONS_SHOWN.has(name.toLowerCase()) ? option : `${name}=${MASK}`;
}
