import type { IntegrationKind } from '../../contract/integrations.ts';
import type { JsonObject } from '../../contract/json/json.ts';
import { figuresOf } from './objects-status.ts';
import type { SourceModule } from './source.ts';

/** What is known of a kind of source without loading what reads it. */
export interface Kind {
  load(): Promise<SourceModule>;
  /** What the fields of the kind say about a source at this checkpoint, beside its settings. */
  figuresOf?(checkpoint: JsonObject | null): JsonObject;
}

/** The kinds that are read from here; a source of the kind `segment` is what comes in by itself. */
const KINDS = {
  s3: { load: () => import('./s3.ts'), figuresOf },
  gcs: { load: () => import('./gcs.ts'), figuresOf },
  redshift: { load: () => import('./redshift.ts') },
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
