import type { QueryResponse } from '../contract/queries.ts';
import type { Client } from '../http/client.ts';
import type { Fenced } from './fence.ts';
import { profileOf, wholeOf } from './kept.ts';
import { BUDGET, presentRows } from './results.ts';
import { estimateTokens } from './room.ts';

/** Of rows that are cut anyway, so many are shown at least, and more up to so many tokens: they are examples. */
const EXAMPLES_MIN = 10;
const EXAMPLES_TOKENS = 1_500;

/** The answer of a statement: its rows; with a profile of the columns if they are only a part of a kept result. */
export async function presentQuery(
  { client, signal }: { client: Client; signal: AbortSignal | undefined },
  response: QueryResponse,
  rowsMax: number,
  limit: number | undefined,
): Promise<Fenced> {
  const whole = wholeOf(response);
  const results = response.results ?? [];
  const isCut = limit !== rowsMax && (whole?.total ?? results.length) > rowsMax;
  const budget = { ...BUDGET, rowsMax: isCut ? Math.min(rowsMax, examplesOf(results)) : rowsMax };
  const shown = presentRows(response, budget, limit, whole);
  if (whole?.queryId == null || Number(shown.data['returned']) >= whole.total) return shown;
  const profile = await profileOf(client, whole.queryId, signal);
  return profile === undefined ? shown : presentRows(response, budget, limit, { ...whole, profile });
}

/** How many rows to show of those that are cut anyway. */
function examplesOf(results: readonly Readonly<Record<string, unknown>>[]): number {
  const some = results.slice(0, EXAMPLES_MIN).map((row) => Object.values(row));
  const fitting = Math.floor((EXAMPLES_TOKENS * EXAMPLES_MIN) / Math.max(1, estimateTokens(JSON.stringify(some))));
  return Math.max(EXAMPLES_MIN, fitting);
}
