import type { IntegrationKind } from '../../contract/integrations.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import type { SourceState } from '../catalog/records.ts';
import { statusOf as dynamodbStatus } from './dynamodb-status.ts';
import { statusOf as mongodbStatus } from './mongodb-status.ts';
import { figuresOf as objectFigures } from './objects-status.ts';
import type { SourceModule } from './source.ts';

/** What is known of a kind of source without loading what reads it. */
export interface Kind {
  load(): Promise<SourceModule>;
  /** What the fields of the kind say about a source at this checkpoint, beside its settings. */
  figuresOf?(state: SourceState): JsonObject;
}

function kafkaFigures({ processed, lastItemAt, checkpoint }: SourceState): JsonObject {
  const state = checkpoint === null ? 'DORMANT' : 'ACTIVE';
  return { status: { state, last_consumed_time: lastItemAt, num_documents_processed: processed } };
}

/** The kinds that are read from here; a source of the kind `segment` is what comes in by itself. */
const KINDS = {
  s3: { load: () => import('./s3.ts'), figuresOf: ({ checkpoint }) => objectFigures(checkpoint) },
  gcs: { load: () => import('./gcs.ts'), figuresOf: ({ checkpoint }) => objectFigures(checkpoint) },
  kinesis: { load: () => import('./kinesis.ts') },
  mongodb: {
    load: () => import('./mongodb.ts'),
    figuresOf: ({ checkpoint }) => ({ status: mongodbStatus(checkpoint) }),
  },
  kafka: { load: () => import('./kafka.ts'), figuresOf: kafkaFigures },
  redshift: { load: () => import('./redshift.ts') },
  dynamodb: {
    load: () => import('./dynamodb.ts'),
    figuresOf: ({ checkpoint }) => ({ status: dynamodbStatus(checkpoint) }),
  },
} as const satisfies Partial<Record<IntegrationKind, Kind>>;

export type PulledKind = keyof typeof KINDS;

/** How a kind is read. */
export function kindOf(kind: PulledKind): Kind {
  return KINDS[kind];
}

/** Whether sources of this kind are read from here. */
export function isPulled(kind: IntegrationKind): kind is PulledKind {
  return Object.hasOwn(KINDS, kind);
}
