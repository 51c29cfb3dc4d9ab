import type { JsonValue } from '../../../../contract/json/json.ts';
import type { Other } from '../../gate/text-alike.ts';
import type { ValueUses } from '../../gate/value-uses.ts';
import { foldName } from '../../sql/names.ts';
import type { Typed } from '../../values/typed-json.ts';
import type { Data, Sample, SeenText } from './samples.ts';

/** An answer that is looked at. */
export interface Asked {
  /** As it was sent. */
  sql: string;
  /** As it ran. */
  ran: string;
  columns: readonly { name: string; type: string }[];
  rows: readonly (readonly JsonValue[])[];
  /** The parameters. */
  values: ReadonlyMap<string, Typed>;
  data: Data;
}

/** What a warning is about; of each a few are said. */
export type Kind = 'alike' | 'null' | 'order' | 'lost' | 'time' | 'zone' | 'json' | 'fanOut' | 'sentinel' | 'farTime';

/** What something that a statement does may have wrong, as its values will tell. */
export interface Question {
  kind: Kind;
  /** The fields whose texts it is answered by. */
  samples: readonly Sample[];
  /** What to say, given these texts; undefined: nothing is wrong. */
  said(texts: readonly (readonly SeenText[])[]): Promise<string | undefined> | string | undefined;
}

/** What in a statement, or its answer, raises a question, and which. */
export type Look = (uses: ValueUses, asked: Asked) => Question[];

/** The text that a field is compared with; undefined: it is none. */
export function otherText(other: Other | undefined, values: Asked['values']): string | undefined {
  if (other === undefined || 'text' in other) return other?.text;
  for (const [name, { value }] of values)
    if (foldName(name) === other.parameter && typeof value === 'string') return value;
  return undefined;
}
