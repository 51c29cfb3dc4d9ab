import { ApiError } from '../../contract/errors.ts';
import type { QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { QueryParameter } from '../../contract/queries.ts';
import { withoutTrailing } from '../../contract/text.ts';
import type { Client } from '../../http/client.ts';
import { type Declared, hasDefault, isRequired } from './lambda-lookup.ts';

/** The result columns of a statement, or why they cannot be determined. */
export type LambdaColumns =
  /** `assumed`: parameters without a value, for which NULL was assumed. */
  | { kind: 'found'; columns: ReadonlyMap<string, string>; assumed: readonly string[] }
  | { kind: 'invalid'; why: string }
  | { kind: 'unknown'; why: string };

/**
 * The names and types of the columns that a version returns now, with its default parameters, found by asking the
 * service for none of its rows. Rejects only if the call was aborted.
 */
export async function lambdaColumns(
  client: Client,
  { sql }: QueryLambdaVersion,
  signal: AbortSignal | undefined,
): Promise<LambdaColumns> {
  const query = sql?.query ?? '';
  try {
    const { parameters: used } = await client.validateQuery({ parameters: true, sql: { query } }, { signal });
    const defaults = sql?.default_parameters ?? [];
    const assumed = (used ?? []).filter((name) => isRequired(defaults, name));
    return await columnsOf(client, query, { defaults, assumed }, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    const isInvalid = error.code === 'query_error' || error.code === 'invalid_input';
    return { kind: isInvalid ? 'invalid' : 'unknown', why: error.message };
  }
}

/** As `lambdaColumns`, of SQL that is valid. `assumed`: the parameters that have no value. */
export async function columnsOf(
  client: Client,
  query: string,
  { defaults, assumed }: { defaults: Declared; assumed: string[] },
  signal: AbortSignal | undefined,
): Promise<LambdaColumns> {
  const given = defaults.flatMap((one) =>
    one.name && hasDefault(one) ? [{ name: one.name, type: one.type ?? '', value: one.value ?? null }] : [],
  );
  const parameters: QueryParameter[] = [...given, ...assumed.map((name) => ({ name, type: 'null' as const }))];
  // The bracket is on a line of its own, so that a comment at the end of the SQL does not swallow it.
  const none = `SELECT * FROM (\n${withoutTrailing(query, ';')}\n) AS answer LIMIT 0`;
  try {
    const { column_fields: fields } = await client.runQuery({ sql: { query: none, parameters } }, { signal });
    if (!fields) return { kind: 'unknown', why: 'The service tells no columns of a result without rows.' };
    const columns = new Map(fields.map(({ name, type }) => [name ?? '', type ?? 'any type']));
    return { kind: 'found', columns, assumed };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    // The SQL by itself is valid; perhaps it cannot be a subquery, or needs a value.
    const wants = assumed.length === 0 ? '' : `No value is known for ${assumed.map((name) => `:${name}`).join(', ')}. `;
    return { kind: 'unknown', why: `${wants}${error.message}` };
  }
}

/** A column, or a parameter, that differs. */
export interface Change {
  name: string;
  change: 'added' | 'removed' | 'changed';
  from?: string | undefined;
  to?: string | undefined;
  /** Whether a call that worked before can fail now, or mean something else. */
  breaks: boolean;
}

/** What differs between the columns of two results, by name: rows are objects, so the order does not matter. */
export function columnDiff(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Change[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name): Change[] => {
    const [from, to] = [before.get(name), after.get(name)];
    if (from === to) return [];
    if (from === undefined) return [{ name, change: 'added', to, breaks: false }];
    return [{ name, change: to === undefined ? 'removed' : 'changed', from, to, breaks: true }];
  });
}
