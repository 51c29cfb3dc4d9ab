import * as z from 'zod';
import { PartitionSpec } from '../../contract/collections.ts';
import { COLUMN_TYPES } from '../../contract/column-types.ts';
import { AnyObject } from '../../contract/fields.ts';
import { INTEGRATION_KINDS } from '../../contract/integrations.ts';
import { QueryParameter } from '../../contract/queries.ts';
import { ROLES } from '../../contract/row.ts';
import { SIZES } from '../../contract/virtual-instances.ts';
import { Sealed } from '../integrations/secrets.ts';

/** A field mapping with its defaults filled in; otherwise as in docs/api.md. */
const FIELD_MAPPING = z.object({
  name: z.string(),
  is_drop_all_fields: z.boolean(),
  input_fields: z.array(
    z.object({
      field_name: z.string(),
      if_missing: z.enum(['SKIP', 'PASS']),
      is_drop: z.boolean(),
      /** Null if the expression has no parameter. */
      param: z.string().nullable(),
    }),
  ),
  output_field: z
    .object({
      field_name: z.string(),
      /** In the form in which it was given: some clients know objects only. */
      value: z.union([z.string(), z.object({ sql: z.string() })]),
      on_error: z.enum(['SKIP', 'FAIL']),
    })
    .nullable(),
});

/** An uploaded file that is a source of documents, and how to parse it, as in docs/api.md with defaults filled in. */
const FILE_SOURCE = z.object({
  fileName: z.string(),
  fileSize: z.int().nullable(),
  uploadTime: z.string().nullable(),
  since: z.string(),
  format: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('json') }),
      z.object({
        kind: z.literal('csv'),
        firstLineAsColumnNames: z.boolean(),
        separator: z.string(),
        encoding: z.string(),
        columnNames: z.array(z.string()),
        columnTypes: z.array(z.enum(COLUMN_TYPES)),
        quoteChar: z.string(),
        escapeChar: z.string(),
      }),
      z.object({
        kind: z.literal('xml'),
        root_tag: z.string().nullable(),
        encoding: z.string(),
        doc_tag: z.string().nullable(),
        value_tag: z.string(),
        attribute_prefix: z.string(),
      }),
    ])
    .nullable(),
});

/** A source that this service reads. */
const EXTERNAL_SOURCE = z.object({
  kind: z.enum(INTEGRATION_KINDS),
  /** The integration through which it is read. */
  integrationName: z.string(),
  /** The fields of its kind, and `format_params`, as given. */
  settings: AnyObject,
  formatParams: AnyObject.nullable(),
  onError: z.enum(['skip', 'stop']),
  since: z.string(),
});

const SOURCE = z.union([EXTERNAL_SOURCE, FILE_SOURCE]);

/** How far a source is, stored together with what it yields. */
const SOURCE_STATE = z.object({
  /** From where to go on; null: from the beginning. */
  checkpoint: AnyObject.nullable(),
  phase: z.enum(['scan', 'changes']),
  scanned: z.int().nullable(),
  scanTotal: z.int().nullable(),
  /** Items so far, those refused not among them. */
  processed: z.int(),
  refused: z.int(),
  lastItem: z.string().nullable(),
  lastItemAt: z.string().nullable(),
  isPaused: z.boolean(),
  /** Why it does not go on by itself; null: it does. */
  stopped: z.object({ at: z.string(), item: z.string().nullable(), reason: z.string() }).nullable(),
});

const REFUSED_ITEMS = z.object({
  /** The latest, newest first. */
  items: z.array(z.object({ at: z.string(), item: z.string(), reason: z.string(), text: z.string().nullable() })),
});

const COLLECTION = z.object({
  name: z.string(),
  workspace: z.string(),
  /** Name of the engine's table. */
  table: z.string(),
  description: z.string().nullable(),
  createdAt: z.string(),
  createdBy: z.string(),
  clusteringKey: z.array(PartitionSpec),
  fieldSchemas: z.array(z.looseObject({})),
  encodingOptions: AnyObject.nullable(),
  retentionSecs: z.int().nullable(),
  recognizeTimes: z.boolean(),
  eventTimeInfo: z.object({ field: z.string(), format: z.string(), timeZone: z.string() }).nullable(),
  fieldMappings: z.array(FIELD_MAPPING),
  /** SQL that makes a document of each; never beside `fieldMappings`. */
  fieldMappingQuery: z.object({ sql: z.string() }).nullable(),
  sources: z.array(SOURCE),
});

const LAMBDA = z.object({
  name: z.string(),
  workspace: z.string(),
  /** When and by whom the version that `latest` names was last posted. */
  updatedAt: z.string(),
  updatedBy: z.string(),
  /** Oldest first; never empty. */
  versions: z.array(z.string()),
  /** The version tagged `latest`. */
  latest: z.string(),
  tags: z.array(z.object({ name: z.string(), version: z.string() })),
});

const LAMBDA_VERSION = z.object({
  lambda: z.string(),
  workspace: z.string(),
  version: z.string(),
  description: z.string().nullable(),
  query: z.string(),
  defaultParameters: z.array(QueryParameter),
  /** The names in the SQL, as `workspace.name`: collections, aliases, and whatever did not exist when it was posted. */
  names: z.array(z.string()),
  /** Why the SQL did not bind when that was last stored; null if it did. */
  unbound: z.string().nullable(),
  /** What that depends on, as it was then (`LambdaStates.basisOf`); null: not known. */
  boundOn: z.string().nullable(),
  createdAt: z.string(),
  createdBy: z.string(),
});

const LAMBDA_STATS = z.object({
  lastExecuted: z.string().nullable(),
  lastExecutedBy: z.string().nullable(),
  lastError: z.string().nullable(),
  lastErrorMessage: z.string().nullable(),
});

const USAGE = z.object({
  bytesInserted: z.number(),
  bytesOverwritten: z.number(),
  lastQueriedMs: z.number(),
  lastUpdatedMs: z.number(),
  purgedDocCount: z.number(),
  /** Estimated size as JSON text. */
  purgedBytes: z.number(),
  /** By the condition of `fieldMappingQuery`. */
  droppedDocCount: z.number(),
  /** What loads of files told of their documents, the latest last; `where` is not true of so many documents. */
  notes: z.array(z.object({ at: z.string(), text: z.string(), where: z.string().optional(), count: z.number() })),
  /** Documents that came from the text of the collection's file. */
  file: z
    .object({
      taken: z.number(),
      takenAt: z.string().nullable(),
      refused: z.number(),
      refusedAt: z.string().nullable(),
      refusedWhy: z.string().nullable(),
    })
    .nullable(),
});

/** What a trash entry restores. */
const TRASHED = z.discriminatedUnion('kind', [
  /** The engine keeps its table. */
  z.object({ kind: z.literal('collection'), collection: COLLECTION, usage: USAGE }),
  /** The engine keeps the documents under the entry's id. */
  z.object({
    kind: z.literal('documents'),
    collection: z.string(),
    /** The engine's table that they were in. */
    table: z.string(),
    documents: z.int(),
    /** Estimated size as JSON text. */
    bytes: z.int(),
    /** Some of them. */
    ids: z.array(z.string()),
  }),
  z.object({
    kind: z.literal('lambda'),
    lambda: LAMBDA,
    versions: z.array(z.object({ version: LAMBDA_VERSION, stats: LAMBDA_STATS })),
  }),
  z.object({
    kind: z.literal('lambda_version'),
    version: LAMBDA_VERSION,
    stats: LAMBDA_STATS,
    tags: z.array(z.string()),
    /** The version that `latest` moved to; null if `latest` did not name this version. */
    latestAfter: z.string().nullable(),
  }),
]);

/** The metadata as stored: one schema per kind of record. Times are ISO-8601, UTC. */
export const RECORDS = {
  /** A single record, `self`: the version of this layout. */
  schema: z.object({ version: z.int() }),
  /** A single record, `self`. */
  organization: z.object({ id: z.string(), createdAt: z.string(), displayName: z.string() }),
  /** A single record, `self`: how often the service was started on this data. */
  starts: z.object({ count: z.int() }),
  /** By e-mail. */
  user: z.object({
    email: z.string(),
    createdAt: z.string(),
    roles: z.array(z.enum(ROLES)),
    state: z.enum(['NEW', 'ACTIVE']),
    inviteState: z.enum(['PENDING', 'ACCEPTED']),
  }),
  /** By the hexadecimal SHA-256 of the key; the key itself is stored nowhere. */
  apiKey: z.object({
    hash: z.string(),
    user: z.string(),
    name: z.string(),
    /** The key's first four characters, to tell keys apart in lists. */
    prefix: z.string(),
    createdAt: z.string(),
    /** E-mail; absent if it is the key's own user. */
    createdBy: z.string().optional(),
    /** A few seconds late; absent: never used. */
    lastAccessAt: z.string().optional(),
  }),
  /** By name. */
  allowlist: z.object({
    name: z.string(),
    description: z.string().nullable(),
    /** As given: an address, or a range in CIDR notation. */
    ipAddress: z.string(),
    creatorEmail: z.string(),
    createdAt: z.string(),
  }),
  /** A single record, `self`: the compute of the organization, with the requested size. */
  virtualInstance: z.object({ id: z.string(), createdAt: z.string(), createdBy: z.string(), size: z.enum(SIZES) }),
  /** By name. */
  workspace: z.object({
    name: z.string(),
    description: z.string().nullable(),
    createdAt: z.string(),
    createdBy: z.string(),
  }),
  /** By `workspace.name`. */
  collection: COLLECTION,
  /** By name. */
  integration: z.object({
    name: z.string(),
    description: z.string().nullable(),
    createdAt: z.string(),
    createdBy: z.string(),
    kind: z.enum(INTEGRATION_KINDS),
    /** The kind's fields as shown, with secrets masked. */
    shown: AnyObject,
    /** The kind's fields as given, encrypted; null if none is secret. */
    sealed: Sealed.nullable(),
    /** Of a key that callers come with: its hash. */
    keyHash: z.string().optional(),
  }),
  /** By table and place, `table/0`: how far a source of a collection is. */
  source: SOURCE_STATE,
  /** By the same: its items that are no documents. */
  refusedItems: REFUSED_ITEMS,
  /** By `workspace.name`. */
  alias: z.object({
    name: z.string(),
    workspace: z.string(),
    description: z.string().nullable(),
    createdAt: z.string(),
    createdBy: z.string(),
    modifiedAt: z.string(),
    /** Fully qualified names in the given order; at least one. */
    collections: z.array(z.string()),
  }),
  /** By `workspace.name`: a Query Lambda, its tags, and the names of its versions. */
  lambda: LAMBDA,
  /** By `workspace.name::version`; a version never changes. */
  lambdaVersion: LAMBDA_VERSION,
  /** By the key of its `lambdaVersion`: what is known of its runs. */
  lambdaStats: LAMBDA_STATS,
  /** By the engine's table: usage figures of a collection. */
  usage: USAGE,
  /** By the hash of its token: a browser that may answer questions, and since when, in milliseconds since 1970. */
  browser: z.object({ pairedAt: z.number() }),
  /**
   * A single record, `self`: what the clock and the one that nobody sets showed, with the machine's start that the latter
   * counts from, and since when the clock is in doubt, in milliseconds since 1970, and how long it has held since.
   */
  clock: z.object({
    seenMs: z.number(),
    steadyMs: z.number(),
    boot: z.string(),
    doubt: z.object({ sinceMs: z.number(), beforeMs: z.number(), heldMs: z.number() }).nullable(),
  }),
  /** By id: something deleted that can be restored. */
  trash: z.object({
    workspace: z.string(),
    deletedAt: z.string(),
    deletedBy: z.string(),
    expiresAt: z.string(),
    what: TRASHED,
  }),
} as const;

export type Kind = keyof typeof RECORDS;
export type RecordOf<K extends Kind> = z.output<(typeof RECORDS)[K]>;
export type UserRecord = RecordOf<'user'>;
export type ApiKeyRecord = RecordOf<'apiKey'>;
export type AllowlistRecord = RecordOf<'allowlist'>;
export type VirtualInstanceRecord = RecordOf<'virtualInstance'>;
export type WorkspaceRecord = RecordOf<'workspace'>;
export type CollectionRecord = RecordOf<'collection'>;
export type IntegrationRecord = RecordOf<'integration'>;
export type LambdaRecord = RecordOf<'lambda'>;
export type LambdaVersionRecord = RecordOf<'lambdaVersion'>;
export type TrashRecord = RecordOf<'trash'>;
export type AliasRecord = RecordOf<'alias'>;
export type FieldMappingRecord = z.output<typeof FIELD_MAPPING>;
export type EventTimeRecord = NonNullable<CollectionRecord['eventTimeInfo']>;
export type SourceRecord = z.output<typeof SOURCE>;
export type ExternalSource = z.output<typeof EXTERNAL_SOURCE>;
export type FileSource = z.output<typeof FILE_SOURCE>;
export type SourceState = z.output<typeof SOURCE_STATE>;
export type FileFormat = NonNullable<FileSource['format']>;

/** Record key for kinds with a single record. */
export const SELF = 'self';
