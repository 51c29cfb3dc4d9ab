import type { ParsedInput } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import type { QueryParameter, QueryResponse } from '../../contract/queries.ts';
import type { LambdaVersionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import { checkParameters, runStatement } from '../queries/queries.ts';
import { foldedName, withDefaults } from './lambda-content.ts';
import { requireTagged, requireVersionOrLatest, versionKey } from './lambda-records.ts';

/**
 * Runs one version of a Query Lambda (docs/api.md #41). SQL that does not bind now is a `query_error` with the reason,
 * whatever state is recorded. Throws `not_found`, or like `runQuery`.
 */
export async function executeLambdaVersion(
  ctx: CallContext,
  input: ParsedInput<'executeLambdaVersion'>,
): Promise<QueryResponse> {
  const { version } = requireVersionOrLatest(ctx.catalog, input.workspace, input.queryLambda, input.version);
  return run(ctx, version, input);
}

/** Runs the version with a tag, for example `latest` (docs/api.md #46). Throws like `executeLambdaVersion`. */
export async function executeLambdaTag(
  ctx: CallContext,
  input: ParsedInput<'executeLambdaTag'>,
): Promise<QueryResponse> {
  const { version } = requireTagged(ctx.catalog, input.workspace, input.queryLambda, input.tag);
  return run(ctx, version, input);
}

type Execution = Pick<ParsedInput<'executeLambdaVersion'>, 'parameters' | 'default_row_limit' | 'generate_warnings'>;

async function run(ctx: CallContext, version: LambdaVersionRecord, input: Execution): Promise<QueryResponse> {
  const { email } = ctx.caller.user;
  await checkParameters(`run Query Lambda "${version.lambda}"`, 'parameters', input.parameters);
  const parameters = withDefaults(version.defaultParameters, input.parameters);
  try {
    const sql = {
      query: version.query,
      parameters,
      default_row_limit: input.default_row_limit,
      generate_warnings: input.generate_warnings,
    };
    // A misspelt one may be all that filters.
    const response = await runStatement(ctx, sql, (input.parameters ?? []).length > 0);
    ctx.lambdaStats.ran(version, email);
    return { ...response, query_lambda_path: versionKey(version) };
  } catch (error) {
    const told = await whyUnbound(ctx, version, parameters, error);
    if (isFailure(told)) ctx.lambdaStats.ran(version, email, told);
    throw told;
  }
}

/** The error of a run; where SQL that does not bind has parameters without a value, why it does not, which no value would change. */
async function whyUnbound(
  { engine, lambdaStates }: CallContext,
  version: LambdaVersionRecord,
  given: readonly QueryParameter[],
  error: unknown,
): Promise<unknown> {
  const unbound =
    error instanceof ApiError && error.code === 'query_error' ? await lambdaStates.unboundOf(version) : null;
  if (unbound === null) return error;
  const all = { allowMissingParameters: true, allowUnbound: true };
  const used = await engine.inspect({ sql: version.query, parameters: given, ...all }).catch(() => undefined);
  const named = new Set(given.map(foldedName));
  const isMissing = used?.parameters.some((name) => !named.has(foldedName({ name }))) === true;
  return isMissing ? new ApiError('query_error', unbound, { cause: error }) : error;
}

const NO_FAILURE: readonly string[] = ['aborted', 'not_ready', 'query_stopped'];

/** Whether the run itself failed: not if its caller hung up, a person stopped it, or the service is closing. */
function isFailure(error: unknown): error is ApiError {
  return error instanceof ApiError && !NO_FAILURE.includes(error.code);
}
