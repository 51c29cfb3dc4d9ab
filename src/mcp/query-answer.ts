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
  const budget = { ...BUDGET, rowsMax: limit === rowsMax ? rowsMax : examplesOf(response, rowsMax) };
  const whole = wholeOf(response);
  const shown = presentRows(response, budget, limit, whole);
  if (whole?.queryId == null || Number(shown.data['returned']) >= whole.total) return shown;
  const profile = await profileOf(client, whole.queryId, signal);
  return profile === undefined ? shown : presentRows(response, budget, limit, { ...whole, profile });
}

/** How many rows to show of an answer, which is cut to `rowsMax` if it has more. */
function examplesOf(response: QueryResponse, rowsMax: number): number {
  const results = response.results ?? [];
  if (results.length <= rowsMax) return rowsMax;
  const tokens = estimateTokens(JSON.stringify(results.slice(0, EXAMPLES_MIN).map((row) => Object.values(row))));
  const fitting = Math.floor((EXAMPLES_TOKENS * EXAMPLES_MIN) / Math.max(1, tokens));
  return Math.max(EXAMPLES_MIN, Math.min(rowsMax, fitting));
}
