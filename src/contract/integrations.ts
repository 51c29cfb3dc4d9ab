import * as z from 'zod';
import { Collection } from './collections.ts';
import { AnyObject, NewName, resource, Timestamp } from './fields.ts';
import type { Contract } from './row.ts';
import { secret } from './secret.ts';

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
  cloud_role: resource({ cloud_role_arn: z.string() }),
});

/** The kinds as returned. */
const shown = {
  s3: ShownKeyOrRole,
  kinesis: ShownKeyOrRole,
  dynamodb: ShownKeyOrRole,
  redshift: resource({
    cloud_access_key: ShownAccessKey,
    username: z.string(),
    password: secret(z.string().describe('Masked')),
    host: z.string(),
    port: z.int(),
    s3_bucket_path: z.string(),
  }),
  gcs: resource({ gcp_service_account: AnyObject.describe('Masked but for what names the account') }),
  segment: AnyObject.describe('All values masked'),
  kafka: resource({
    kafka_topic_names: z.array(z.string()),
    source_status_by_topic: z
      .record(z.string(), z.string())
      .describe('State by topic, e.g. DORMANT; null while no topic is read'),
    kafka_data_format: z.string().describe('e.g. json'),
  }),
  mongodb: resource({ connection_uri: z.string().describe('Its password is masked') }),
};

const Text = z.string().min(1);

const AccessKey = z.object({
  cloud_access_key_id: Text,
  cloud_secret_access_key: secret(Text.describe('Secret; never returned')),
});

// No message of these schemas may repeat a value, which could be a secret. So rules on texts are refinements: the issue
// of a pattern would contain the text that does not match.
const KeyOrRole = z
  .object({ cloud_access_key: AccessKey.nullish(), cloud_role: z.object({ cloud_role_arn: Text }).nullish() })
  .superRefine(({ cloud_access_key: key, cloud_role: role }, context) => {
    const isKeyGiven = key !== undefined && key !== null;
    const isRoleGiven = role !== undefined && role !== null;
    if (isKeyGiven !== isRoleGiven) return;
    const got = isKeyGiven ? 'both are given' : 'neither is given';
    context.addIssue({ code: 'custom', message: `Exactly one of cloud_access_key and cloud_role is needed, ${got}` });
  });

const isFilled = (value: object) => Object.keys(value).length > 0;

/** The kinds as given by a caller. */
const given = {
  s3: KeyOrRole.nullish(),
  kinesis: KeyOrRole.nullish(),
  dynamodb: KeyOrRole.nullish(),
  redshift: z
    .object({
      cloud_access_key: AccessKey,
      username: Text,
      password: secret(Text.describe('Secret; never returned')),
      host: Text,
      port: z.int().min(1).max(65_535),
      s3_bucket_path: Text,
    })
    .nullish(),
  gcs: z
    .object({
      gcp_service_account: secret(
        AnyObject.refine(isFilled, 'the object is empty').describe('Holds a secret; never returned'),
      ),
    })
    .nullish(),
  segment: secret(AnyObject.describe('Holds secrets; never returned')).nullish(),
  kafka: z
    .object({
      kafka_topic_names: z.array(Text).min(1),
      kafka_data_format: Text.refine((text) => /^(json|avro)$/i.test(text), 'the formats are json and avro')
        .nullish()
        .describe('Default json'),
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

/** The kinds that are given; null counts as absent. */
export function kindsIn(body: { readonly [K in IntegrationKind]?: unknown }): IntegrationKind[] {
  return INTEGRATION_KINDS.filter((kind) => body[kind] !== undefined && body[kind] !== null);
}

const path = '/v1/orgs/self/integrations/{integration}';
const params = z.object({ integration: z.string().min(1) });

export const integrations = {
  createIntegration: {
    number: 30,
    method: 'POST',
    path: '/v1/orgs/self/integrations',
    title: 'Create an integration',
    summary:
      'Store the connection details of an external source; exactly one kind. Secrets by reference, env:NAME or file:PATH, stay out of your sight. See colloquy://docs/sources',
    effect: 'create',
    role: 'admin',
    params: z.object({}),
    body: z
      .object({
        name: NewName,
        description: z.string().optional(),
        ...given,
      })
      .refine((body) => kindsIn(body).length === 1, {
        // Checked even if there are other issues: whoever gives two kinds should not have to fix one of them first.
        when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
        error: ({ input }) => {
          const kinds = kindsIn(input as Parameters<typeof kindsIn>[0]);
          const got = kinds.length === 0 ? 'none is given' : `${kinds.join(' and ')} are given`;
          return `Exactly one of ${INTEGRATION_KINDS.join(', ')} is needed, ${got}`;
        },
      }),
    result: Integration,
    envelope: 'data',
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
    envelope: 'data',
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
    envelope: 'data',
  },
  listIntegrations: {
    number: 33,
    method: 'GET',
    path: '/v1/orgs/self/integrations',
    title: 'List integrations',
    summary: 'List the integrations; secrets are masked.',
    effect: 'read',
    role: 'read-only',
    params: z.object({}),
    result: z.array(Integration),
    envelope: 'data',
  },
} as const satisfies Contract;
