import type { NamedTable } from '../sql/names.ts';
import type { Missing } from '../sql/references.ts';
import type { Splice } from '../sql/splices.ts';
import type { ColumnName } from './column-names.ts';
import type { FieldReads } from './field-reads.ts';
import type { JsonPath } from './json-paths.ts';
import type { PlainRead } from './plain-read.ts';
import type { Show } from './show.ts';
import type { Uses } from './uses.ts';

/** What the gate found in a statement that it let through. */
export interface Passed extends Uses {
  /** Collections and aliases that the statement names, in order of first use. */
  tables: NamedTable[];
  /** Names in the statement that do not exist, in order of first use; such a statement cannot be run. */
  missing: Missing[];
  /** The macros of `compat.ts` that it calls, and those of `matching.ts` that it needs, by name. */
  macros: ReadonlySet<string>;
  /** Parameters used in LIKE patterns, with how many wildcards their values may have: see `checkPatterns`. */
  patterns: ReadonlyMap<string, number>;
  /** Paths of JSON of which parameters are a part: see `checkJsonPaths`. */
  jsonPaths: readonly JsonPath[];
  /** The text to run: the statement's body with the schema of every collection. To be checked by `isSameTree`. */
  sql: string;
  /** The tree that `sql` must have. */
  tree: unknown;
  /** What the gate changed in the statement's body, by byte offset. */
  splices: ReadonlyMap<number, Splice>;
  /** Maps a byte offset in `sql` to one in the statement's own text. */
  originOf(offset: number): number;
  /** The fields that it computes with. */
  reads: FieldReads;
  /** Set if it only picks fields of one collection that has strays. */
  plain: PlainRead | null;
  /** The collection that it asks the fields of: see `describe-fields.ts`. */
  described: NamedTable | null;
  /** What its columns are called that it does not name. */
  columnNames: readonly ColumnName[];
  /** Whether the outermost query has a LIMIT of its own. */
  hasLimit: boolean;
  /** SHOW TABLES and the like, which are answered without the engine; null for a statement to run. */
  show: Show | null;
}
