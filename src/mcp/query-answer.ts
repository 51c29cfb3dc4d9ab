import type { QueryResponse } from '../contract/queries.ts';
import type { Client } from '../http/client.ts';
import type { Fenced } from './fence.ts';
import { profileOf, wholeOf } from './kept.ts';
import { BUDGET, presentRows } from './results.ts';

/** The answer of a statement: its rows; with a profile of the columns if they are only a part of a kept result. */
export async function presentQuery(
  { client, signal }: { client: Client; signal: AbortSignal | undefined },
  response: QueryResponse,
  rowsMax: number,
  limit: number | undefined,
): Promise<Fenced> {
  const budget = { ...BUDGET, rowsMax };
  const whole = wholeOf(response);
  const shown = presentRows(response, budget, limit, whole);
  if (whole?.queryId == null || Number(shown.data['returned']) >= whole.total) return shown;
  const profile = await profileOf(client, whole.queryId, signal);
  return profile === undefined ? shown : presentRows(response, budget, limit, { ...whole, profile });
}
