import * as z from 'zod';
import { Collection } from './collections.ts';
import { AnyObject, NewName, resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';
import { issued, secret } from './secret.ts';

/** The kinds of integration; one integration has exactly one of them. */
export const INTEGRATION_KINDS = [
  's3',
  'kinesis',
  'dynamodb',
  'redshift',
  'gcs',
  'segment',
  'kafka',
  'mongodb',
] as const;

export type IntegrationKind = (typeof INTEGRATION_KINDS)[number];

/** The parts of a MongoDB connection string. */
export interface MongodbUri {
  scheme: string;
  user: string | undefined;
  password: string | undefined;
  hosts: string;
  database: string | undefined;
  options: string | undefined;
}

const MONGODB_URI = /^(mongodb(?:\+srv)?):\/\/([^\s/?#]*)(?:\/([^\s@/?#]*))?(?:\?([^\s@?#]*))?$/;
const MONGODB_HOST = /^(?:[^:[\]]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/**
 * Reads a MongoDB connection string: user and password, both percent-encoded, hosts, database and options; undefined for
 * any other text. Only one `@` is allowed, so that no part of a password can be taken for a host.
 */
export function readMongodbUri(text: string): MongodbUri | undefined {
  const [, scheme, authority = '', database, options] = MONGODB_URI.exec(text) ?? [];
  const [hosts = '', login, ...rest] = authority.split('@').toReversed();
  const [user, password, ...more] = login?.split(':') ?? [];
  if (scheme === undefined || rest.length + more.length > 0 || /[[\]]/.test(login ?? '')) return undefined;
  if (!hosts.split(',').every((host) => MONGODB_HOST.test(host))) return undefined;
  return { scheme, user, password, hosts, database, options };
}

const ShownAccessKey = resource({
  cloud_access_key_id: z.string(),
  cloud_secret_access_key: secret(z.string().describe('Masked')),
});

const ShownKeyOrRole = resource({
  cloud_access_key: ShownAccessKey,
  cloud_role: resource({ cloud_role_arn: z.string(), cloud_external_id: z.string() }),
  endpoint: z.string(),
});

/** The kinds as returned. */
const shown = {
  s3: resource({ ...ShownKeyOrRole.shape, path_style: z.boolean() }),
  kinesis: ShownKeyOrRole,
  dynamodb: ShownKeyOrRole,
  redshift: resource({
    cloud_access_key: ShownAccessKey,
    username: z.string(),
    password: secret(z.string().describe('Masked')),
    host: z.string(),
    port: z.int(),
    s3_bucket_path: z.string(),
    tls: z.boolean(),
    ca_certificate: z.string(),
  }),
  gcs: resource({
    gcp_service_account: AnyObject.describe('Masked but for what names the account'),
    endpoint: z.string(),
  }),
  segment: resource({
    connection_string: secret(z.string().describe('Masked')),
    signing_secret: secret(z.string().describe('Masked')),
  }),
  kafka: resource({
    kafka_topic_names: z.array(z.string()),
    source_status_by_topic: z
      .record(z.string(), z.string())
      .describe('State by topic, e.g. ACTIVE or DORMANT; null while no topic is read'),
    kafka_data_format: z.string().describe('e.g. json'),
    bootstrap_servers: z.string(),
    security_config: resource({
      api_key: secret(z.string().describe('Masked')),
      secret: secret(z.string().describe('Masked')),
    }),
    schema_registry_config: resource({
      url: z.string(),
      key: secret(z.string().describe('Masked')),
      secret: secret(z.string().describe('Masked')),
    }),
    use_v3: z.boolean(),
    sasl_mechanism: z.string(),
    tls: z.boolean(),
    ca_certificate: z.string(),
  }),
  mongodb: resource({
    connection_uri: z.string().describe('Its password is masked'),
    tls: resource({ ca_certificate: z.string() }),
  }),
};

const Text = z.string().min(1);
const SECRET = 'Secret; never returned';

const AccessKey = z.object({
  cloud_access_key_id: Text,
  cloud_secret_access_key: secret(Text.describe(SECRET)),
});

// No message of these schemas may repeat a value, which could be a secret. So rules on texts are refinements: the issue
// of a pattern would contain the text that does not match.
const Endpoint = Text.refine(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !/@/.test(text),
  'an endpoint is an http or https URL without user and password',
).describe('Of another store than the cloud provider');
const Certificate = Text.refine(
  (text) => text.includes('-----BEGIN CERTIFICATE-----'),
  'a certificate is text that begins with -----BEGIN CERTIFICATE-----',
).describe('PEM');

const keyOrRole = {
  cloud_access_key: AccessKey.nullish(),
  cloud_role: z.object({ cloud_role_arn: Text, cloud_external_id: Text.nullish() }).nullish(),
  endpoint: Endpoint.nullish(),
};

function requireOne(
  { cloud_access_key: key, cloud_role: role }: { cloud_access_key?: unknown; cloud_role?: unknown },
  context: z.core.$RefinementCtx,
): void {
  const isKeyGiven = key !== undefined && key !== null;
  const isRoleGiven = role !== undefined && role !== null;
  if (isKeyGiven !== isRoleGiven) return;
  const got = isKeyGiven ? 'both are given' : 'neither is given';
  context.addIssue({ code: 'custom', message: `Exactly one of cloud_access_key and cloud_role is needed, ${got}` });
}

const KeyOrRole = z.object(keyOrRole).superRefine(requireOne);

const isFilled = (value: object) => Object.keys(value).length > 0;

/** The kinds as given by a caller. */
const given = {
  s3: z
    .object({ ...keyOrRole, path_style: z.boolean().nullish().describe('Bucket in the path, not in the host') })
    .superRefine(requireOne)
    .nullish(),
  kinesis: KeyOrRole.nullish(),
  dynamodb: KeyOrRole.nullish(),
  redshift: z
    .object({
      cloud_access_key: AccessKey.nullish(),
      username: Text,
      password: secret(Text.describe('Secret; never returned')),
      host: Text,
      port: z.int().min(1).max(65_535),
      s3_bucket_path: Text.nullish(),
      tls: z.boolean().nullish().describe('Default true'),
      ca_certificate: Certificate.nullish(),
    })
    .nullish(),
  gcs: z
    .object({
      gcp_service_account: secret(
        AnyObject.refine(isFilled, 'the object is empty').describe('Holds a secret; never returned'),
      ),
      endpoint: Endpoint.nullish(),
    })
    .nullish(),
  segment: z
    .object({
      connection_string: secret(
        z
          .string()
          .refine(
            (text) => /^[\x21-\x39\x3b-\x7e]{16,128}$/.test(text),
            'a write key is 16 to 128 characters, without spaces and colons',
          )
          .describe('The write key; default: one is made'),
      ).nullish(),
      signing_secret: secret(Text.describe('Secret; requests signed otherwise are refused')).nullish(),
    })
    .nullish(),
  kafka: z
    .object({
      kafka_topic_names: z.array(Text).min(1),
      kafka_data_format: Text.refine((text) => /^(json|avro)$/i.test(text), 'the formats are json and avro')
        .nullish()
        .describe('Default json'),
      bootstrap_servers: Text.nullish().describe('host:port, separated by commas'),
      security_config: z
        .object({ api_key: secret(Text.describe(SECRET)), secret: secret(Text.describe(SECRET)) })
        .nullish(),
      schema_registry_config: z
        .object({
          url: Endpoint,
          key: secret(Text.describe(SECRET)).nullish(),
          secret: secret(Text.describe(SECRET)).nullish(),
        })
        .nullish(),
      use_v3: z.boolean().nullish(),
      sasl_mechanism: Text.refine(
        (text) => /^(plain|scram-sha-256|scram-sha-512)$/i.test(text),
        'the mechanisms are plain, scram-sha-256 and scram-sha-512',
      )
        .nullish()
        .describe('Default plain'),
      tls: z.boolean().nullish().describe('Default true where there is a security_config'),
      ca_certificate: Certificate.nullish(),
    })
    .nullish(),
  mongodb: z
    .object({
      connection_uri: secret(
        z
          .string()
          .refine(
            (text) => readMongodbUri(text) !== undefined,
            'a MongoDB connection string is mongodb://user:password@host:27017/database, with : / ? # [ ] @ in user and password percent-encoded',
          )
          .describe('Holds a secret; never returned'),
      ),
      tls: z.object({ ca_certificate: Certificate }).nullish(),
    })
    .nullish(),
};

/** Stored credentials and connection details of an external source. */
export const Integration = resource({
  name: z.string(),
  description: z.string(),
  collections: z.array(Collection).describe('Collections that use it'),
  created_by: z.string(),
  created_at: Timestamp,
  ...shown,
});
export type Integration = z.infer<typeof Integration>;

/** The answer that shows a write key, once. */
export const NewIntegration = Integration.extend({
  segment: shown.segment
    .extend({ connection_string: issued(z.string().describe('The write key; never returned again')).nullish() })
    .nullish(),
});
export type NewIntegration = z.infer<typeof NewIntegration>;

/** The kinds that are given; null counts as absent. */
export function kindsIn(body: { readonly [K in IntegrationKind]?: unknown }): IntegrationKind[] {
  return INTEGRATION_KINDS.filter((kind) => body[kind] !== undefined && body[kind] !== null);
}

const hasOneKind = (body: object) => kindsIn(body).length === 1;
const ONE_KIND = {
  // Checked even if there are other issues: whoever gives two kinds should not have to fix one of them first.
  when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null && !Array.isArray(value),
  error: ({ input }: { input?: unknown }) => {
    const kinds = kindsIn(input as Parameters<typeof kindsIn>[0]);
    const got = kinds.length === 0 ? 'none is given' : `${kinds.join(' and ')} are given`;
    return `Exactly one of ${INTEGRATION_KINDS.join(', ')} is needed, ${got}`;
  },
};

/** One kind with its connection details. */
export const Connection = z.object(given).refine(hasOneKind, ONE_KIND);

const path = '/v1/orgs/self/integrations/{integration}';
const params = z.object({ integration: z.string().min(1) });

export const integrations = {
  createIntegration: {
    number: 30,
    method: 'POST',
    path: '/v1/orgs/self/integrations',
    title: 'Create an integration',
    summary:
      'Store how to reach an external source, of one kind. Secrets by reference where the server takes them: env:NAME or file:PATH. See colloquy://docs/integrations',
    effect: 'create',
    role: 'admin',
    body: z
      .object({
        name: NewName,
        description: z.string().optional(),
        ...given,
      })
      .refine(hasOneKind, ONE_KIND),
    result: NewIntegration,
  },
  deleteIntegration: {
    number: 31,
    method: 'DELETE',
    path,
    title: 'Delete an integration',
    summary: 'Delete an integration that no collection uses.',
    effect: 'delete',
    role: 'admin',
    params,
    refuses: { usedIn: 'collections' },
    result: Integration,
  },
  getIntegration: {
    number: 32,
    method: 'GET',
    path,
    title: 'Get an integration',
    summary: 'Get one integration; secrets are masked.',
    effect: 'read',
    role: 'read-only',
    params,
    result: Integration,
  },
  listIntegrations: {
    number: 33,
    method: 'GET',
    path: '/v1/orgs/self/integrations',
    title: 'List integrations',
    summary: 'List the integrations; secrets are masked.',
    effect: 'read',
    role: 'read-only',
    result: z.array(Integration),
  },
} as const satisfies Contract;
