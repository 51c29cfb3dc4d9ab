import type { QueryResponse } from '../contract/queries.ts';
import { Keeping, type ResultProfile } from '../contract/results.ts';
import { visibleText } from '../contract/visible.ts';
import type { Client } from '../http/client.ts';
import { cutText, Room } from './room.ts';

/** What is known of the whole result of which an answer is a part. */
export interface Whole {
  /** The id under which it is kept; null if it is not kept. */
  queryId: string | null;
  total: number;
  /** False: there are more rows than `total`. */
  isTotalExact: boolean;
  /** How many rows are kept, counted from the first. */
  keptRows: number;
  /** Number of rows before the first one in the answer. */
  offset: number;
  /** The answer is a page from fetch_result, whose call has to be repeated for the next page. */
  isPage?: true;
  /** Why it is not kept although it should be. */
  reason?: string | null | undefined;
  profile?: readonly (readonly unknown[])[] | undefined;
}

/** The id is shown outside the fence, so nothing else is accepted as one. */
const QUERY_ID = /^[0-9A-Za-z-]{1,64}$/;

/** What the service said about keeping this result; undefined if it keeps none. */
export function wholeOf({ query_id, keeping }: QueryResponse): Whole | undefined {
  const { data } = Keeping.safeParse(keeping ?? undefined);
  if (data === undefined || typeof data.total !== 'number') return undefined;
  const isKept = data.is_kept === true && typeof query_id === 'string' && QUERY_ID.test(query_id);
  return {
    queryId: isKept ? query_id : null,
    total: data.total,
    isTotalExact: data.is_total_exact === true,
    keptRows: data.rows_kept ?? data.total,
    offset: 0,
    reason: data.reason,
  };
}

const PROFILE_BUDGET = { bytesMax: 6_000, tokensMax: 2_000 };
const CELL_CHARS_MAX = 60;
const SAMPLES_MAX = 3;
const HEAD = ['column', 'nulls', 'distinct', 'min', 'max', 'frequent'] as const;
const STRAYS_HEAD = 'values that do not fit, beside these';

/**
 * A profile of the columns of a kept result: a table, header first, with as many columns as fit into a quarter of an
 * answer. Undefined if it is not available: it is optional, and its failure must not hide the rows.
 */
export async function profileOf(
  client: Client,
  queryId: string,
  signal: AbortSignal | undefined,
): Promise<readonly (readonly unknown[])[] | undefined> {
  const profile = await client.profileResult({ query_id: queryId }, { signal }).catch(() => undefined);
  return profile && profileTable(profile);
}

export function profileTable({ rows, columns }: ResultProfile): readonly (readonly unknown[])[] {
  const room = new Room(PROFILE_BUDGET);
  const hasStrays = columns?.some(({ strays }) => (strays ?? 0) > 0) === true;
  const table: (readonly unknown[])[] = [hasStrays ? [...HEAD, STRAYS_HEAD] : HEAD];
  for (const { name, nulls, strays, distinct, min, max, samples } of columns ?? []) {
    // If nearly all values are distinct, none is frequent.
    const isUnique = (distinct ?? 0) > 0.8 * ((rows ?? 0) - (nulls ?? 0));
    const frequent = isUnique ? [] : (samples ?? []).slice(0, SAMPLES_MAX).map(short);
    const figures = [nulls ?? 0, distinct ?? null, short(min ?? null), short(max ?? null), frequent];
    const line = [short(name ?? ''), ...figures, ...(hasStrays ? [strays ?? 0] : [])];
    if (!room.take(JSON.stringify(line))) break;
    table.push(line);
  }
  return table;
}

function short(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' ? cutText(visibleText(value), CELL_CHARS_MAX) : value;
}
