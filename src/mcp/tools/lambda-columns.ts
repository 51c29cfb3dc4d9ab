import { ApiError } from '../../contract/errors.ts';
import type { QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { QueryParameter } from '../../contract/queries.ts';
import type { Client } from '../../http/client.ts';

/** The result columns of SQL, or why they cannot be told. */
export type LambdaColumns =
  /** `assumed`: parameters without a value, for which NULL was taken. */
  | { kind: 'found'; columns: ReadonlyMap<string, string>; assumed: readonly string[] }
  | { kind: 'invalid'; why: string }
  | { kind: 'unknown'; why: string };

/**
 * The names and types of the columns that a version answers now, with its default parameters, without a row of it: the
 * service is asked for none. Rejects only where the call was aborted.
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
    const assumed = (used ?? []).filter((name) => !defaults.some((parameter) => parameter.name === name));
    return await columnsOf(client, query, { defaults, assumed }, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    const isInvalid = error.code === 'query_error' || error.code === 'invalid_input';
    return { kind: isInvalid ? 'invalid' : 'unknown', why: error.message };
  }
}

type Defaults = NonNullable<NonNullable<QueryLambdaVersion['sql']>['default_parameters']>;

async function columnsOf(
  client: Client,
  query: string,
  { defaults, assumed }: { defaults: Defaults; assumed: string[] },
  signal: AbortSignal | undefined,
): Promise<LambdaColumns> {
  const given = defaults.flatMap(({ name, type, value }) =>
    name ? [{ name, type: type ?? '', value: value ?? null }] : [],
  );
  const parameters: QueryParameter[] = [...given, ...assumed.map((name) => ({ name, type: 'null' as const }))];
  // On a line of its own, a comment at the end does not take the bracket along.
  const none = `SELECT * FROM (\n${query.replace(/[\s;]+$/, '')}\n) AS answer LIMIT 0`;
  try {
    const { column_fields: fields } = await client.runQuery({ sql: { query: none, parameters } }, { signal });
    if (!fields) return { kind: 'unknown', why: 'The service tells no columns of a result without rows.' };
    const columns = new Map(fields.map(({ name, type }) => [name ?? '', type ?? 'any type']));
    return { kind: 'found', columns, assumed };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    // The SQL itself binds: it may be that it cannot stand in brackets, or wants a value.
    const wants = assumed.length === 0 ? '' : `No value is known for ${assumed.map((name) => `:${name}`).join(', ')}. `;
    return { kind: 'unknown', why: `${wants}${error.message}` };
  }
}

export interface ColumnChange {
  name: string;
  change: 'added' | 'removed' | 'changed';
  from?: string | undefined;
  to?: string | undefined;
  /** Whether a caller that reads this column gets none or another type. */
  breaks: boolean;
}

/** What differs between the columns of two results, by name: rows are objects, so the order is nothing to callers. */
export function columnDiff(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ColumnChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name): ColumnChange[] => {
    const [from, to] = [before.get(name), after.get(name)];
    if (from === to) return [];
    if (from === undefined) return [{ name, change: 'added', to, breaks: false }];
    return [{ name, change: to === undefined ? 'removed' : 'changed', from, to, breaks: true }];
  });
}
