import * as z from 'zod';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { LATEST, LambdaSql, type QueryLambdaVersion } from '../../contract/lambdas.ts';
import { nearest } from '../../contract/nearest.ts';
import type { Client } from '../../http/client.ts';
import { nearestNames } from '../errors.ts';
import type { Fenced } from '../fence.ts';
import { presentObject } from '../results.ts';
import { handTool } from './hand-tool.ts';
import { type Change, columnDiff, type LambdaColumns, lambdaColumns } from './lambda-columns.ts';
import { type LambdaParameter, lambdaParameters, lambdaVersion, versionBefore, versionNames } from './lambda-lookup.ts';
import { lineDiff } from './line-diff.ts';
import type { Arguments } from './relations.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * What differs between two versions of a Query Lambda, or between a version and a draft. No endpoint tells, and a model
 * that compares two texts by eye overlooks what breaks callers.
 */

const NAME = 'compare_lambda_versions';

interface CompareInput {
  workspace: string;
  lambda: string;
  from?: string | undefined;
  to?: string | undefined;
  sql?: LambdaSql | undefined;
}

async function compareVersions({ client, signal }: ToolContext, input: CompareInput): Promise<Fenced> {
  const place = { workspace: input.workspace, lambda: input.lambda };
  const get = (versionOrTag: string) => lambdaVersion(client, place, versionOrTag, { signal });
  const draft: QueryLambdaVersion | undefined = input.sql && { sql: input.sql };
  const isAlone = input.to === undefined && draft === undefined;
  const since = input.from ?? (isAlone ? await versionBefore(client, place, { signal }) : LATEST);
  const [from, to] = await Promise.all([get(since), draft ?? get(input.to ?? LATEST)]);
  const [before, after] = await Promise.all([from, to].map((version) => lambdaParameters(client, version, { signal })));
  const sql = lineDiff(from.sql?.query ?? '', to.sql?.query ?? '');
  const parameters = parameterDiff(before ?? [], after ?? []);
  const description =
    draft === undefined && (from.description ?? '') !== (to.description ?? '')
      ? { from: from.description ?? '', to: to.description ?? '' }
      : undefined;
  const isChanged = sql !== '' || parameters.length > 0;
  const answers = isChanged ? await Promise.all([from, to].map((one) => lambdaColumns(client, one, signal))) : [];
  const result = resultDiff(answers[0], answers[1]);
  const isSame = !isChanged && description === undefined;
  const { data, next } = presentObject({
    verdict: isSame ? 'same' : verdictOf(parameters, result),
    lambda: `${input.workspace}.${input.lambda}`,
    from: named(since, from),
    to: draft === undefined ? named(input.to ?? LATEST, to) : 'draft',
    ...ageOf(from, to),
    sql_diff: sql,
    parameters,
    ...result,
    ...(description === undefined ? {} : { description }),
  });
  const parts = [next, breakWarning(parameters, result), unknownWarning(result), nullWarning(result)]
    .concat(data['verdict'] === 'compatible' && isChanged ? [SAME_CALLS] : [])
    .filter((part) => part !== undefined);
  return { data, next: parts.join(' ') || undefined };
}

const SAME_CALLS =
  'Compatible means: the same calls work, and columns that were there stay with their types. Changed SQL or defaults can give other rows.';

/** Whether what calls the one can call the other instead. */
type Verdict = 'same' | 'compatible' | 'breaks callers' | 'unknown';

function verdictOf(parameters: readonly Change[], result: ResultDiff): Verdict {
  const isBreaking = [...parameters, ...(result.columns ?? [])].some(({ breaks }) => breaks);
  if (isBreaking || result.does_not_run?.['to'] !== undefined) return 'breaks callers';
  return unknownWarning(result) === undefined ? 'compatible' : 'unknown';
}

/** Which of two versions is the older one: a model may have them the wrong way round. */
function ageOf(from: QueryLambdaVersion, to: QueryLambdaVersion): { to_is?: 'newer' | 'older' } {
  if (from.created_at == null || to.created_at == null || from.created_at === to.created_at) return {};
  return { to_is: from.created_at < to.created_at ? 'newer' : 'older' };
}

interface ResultDiff {
  /** Absent if the columns of either side are not known. */
  columns?: Change[];
  /** The columns in their new order, if those that both have are in another one. */
  columns_in_order?: readonly string[];
  /** Why the SQL of a side does not run now. */
  does_not_run?: Record<string, string>;
  /** Why the columns of a side could not be determined. */
  columns_unknown?: Record<string, string>;
  /** Parameters for which NULL was assumed to determine the columns: types that depend on them are not known. */
  null_taken_for?: string[];
}

function resultDiff(before: LambdaColumns | undefined, after: LambdaColumns | undefined): ResultDiff {
  const reasons = (kind: 'invalid' | 'unknown') =>
    Object.entries({ from: before, to: after }).flatMap(([side, one]) =>
      one?.kind === kind ? [[side, one.why] as const] : [],
    );
  const [invalid, unknown] = [reasons('invalid'), reasons('unknown')];
  const found: ResultDiff = {};
  if (before?.kind === 'found' && after?.kind === 'found') {
    const assumed = [...new Set([...before.assumed, ...after.assumed])];
    found.columns = columnDiff(before.columns, after.columns);
    const common = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) =>
      [...one.keys()].filter((name) => other.has(name));
    const [was, is] = [common(before.columns, after.columns), common(after.columns, before.columns)];
    if (was.some((name, index) => name !== is[index])) found.columns_in_order = [...after.columns.keys()];
    if (assumed.length > 0) found.null_taken_for = assumed;
  }
  if (invalid.length > 0) found.does_not_run = Object.fromEntries(invalid);
  if (unknown.length > 0) found.columns_unknown = Object.fromEntries(unknown);
  return found;
}

function breakWarning(parameters: readonly Change[], result: ResultDiff): string | undefined {
  const breaking = (changes: readonly { breaks: boolean }[] = []) => changes.filter(({ breaks }) => breaks).length;
  const [ofParameters, ofColumns] = [breaking(parameters), breaking(result.columns)];
  const what = [
    ...(ofParameters > 0 ? [`${counted(ofParameters, 'changes')} of parameters`] : []),
    ...(ofColumns > 0 ? [`${counted(ofColumns, 'changes')} of result columns`] : []),
    ...(result.does_not_run?.['to'] === undefined ? [] : ['SQL that does not run']),
  ];
  if (what.length === 0) return;
  const isOne = what.length === 1 && ofParameters <= 1 && ofColumns <= 1;
  return `${what.join(' and ')} ${isOne ? 'breaks' : 'break'} callers: ask the human before going on.`;
}

/** What this comparison cannot tell: a model would take silence for "no change". */
function unknownWarning({ does_not_run: invalid, columns_unknown: unknown }: ResultDiff): string | undefined {
  if (invalid === undefined && unknown === undefined) return;
  return 'The result columns could not be compared: whether a column goes or changes its type is not known.';
}

/** NULL has no type of its own, so the type of a column computed from such a parameter is not known. */
function nullWarning({ null_taken_for: assumed, columns }: ResultDiff): string | undefined {
  if (assumed === undefined || !columns?.some(({ change }) => change === 'changed')) return;
  return 'Types were found with NULL for the parameters in null_taken_for: of columns made of these they may be others.';
}

function named(asked: string, { version }: QueryLambdaVersion): string {
  return asked === version ? asked : `${version} (${asked})`;
}

function parameterDiff(before: readonly LambdaParameter[], after: readonly LambdaParameter[]): Change[] {
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  return names.flatMap((name): Change[] => {
    const from = before.find((parameter) => parameter.name === name);
    const to = after.find((parameter) => parameter.name === name);
    if (from === undefined) return [{ name, change: 'added', to: shown(to), breaks: to?.required === true }];
    if (to === undefined) return [{ name, change: 'removed', from: shown(from), breaks: true }];
    if (shown(from) === shown(to)) return [];
    const breaks = from.type !== to.type || (to.required === true && from.required !== true);
    return [{ name, change: 'changed', from: shown(from), to: shown(to), breaks }];
  });
}

function shown(parameter: LambdaParameter | undefined): string {
  const type = parameter?.type ?? 'any type';
  return parameter?.required === true ? `${type}, required` : `${type}, default ${JSON.stringify(parameter?.default)}`;
}

/** The tool; built at its first use, since schemas take time. */
export function compareTool(): Tool {
  const { workspace, queryLambda } = contract.listLambdaVersions.params.shape;
  const shape = {
    workspace,
    lambda: queryLambda,
    from: z.string().min(1).optional().describe('Version or tag (default latest)'),
    to: z.string().min(1).optional().describe('Version or tag, or give sql; with neither: what latest changed'),
    sql: LambdaSql.optional().describe('A draft to compare with'),
  };
  return handTool<CompareInput>({
    name: NAME,
    effect: 'read',
    role: 'read-only',
    toolset: 'lambdas',
    title: 'Compare lambda versions',
    description:
      'Compare a version of a lambda with another or with draft SQL: what differs, and whether it breaks callers.',
    shape,
    output: {
      verdict: { type: 'string' },
      sql_diff: { type: 'string' },
      parameters: { type: 'array' },
      columns: { type: 'array' },
    },
    check: checkCompare,
    run: compareVersions,
    nearest: ({ client, signal }, input, error) => nearestOf(client, input, error, signal),
  });
}

function checkCompare(input: Arguments): void {
  if (input['to'] === undefined || input['sql'] === undefined) return;
  throw new ApiError(
    'invalid_input',
    `Cannot call ${NAME}: both "to" and "sql" are given. Give "to" for a version or tag, or "sql" for a draft.`,
  );
}

async function nearestOf(client: Client, input: Arguments, error: ApiError, signal: AbortSignal | undefined) {
  const near = await nearestNames(
    client,
    contract.listLambdaVersions,
    { ...input, queryLambda: input['lambda'] },
    error,
    signal,
  );
  if (near.length > 0 || error.code !== 'not_found' || error.details.isHinted === true) return near;
  const { workspace, lambda, from, to } = input as unknown as CompareInput;
  const names = await versionNames(client, { workspace, lambda }, { signal }).catch((): string[] => []);
  return [from, to].flatMap((name) => (name === undefined || names.includes(name) ? [] : nearest(name, names)));
}
