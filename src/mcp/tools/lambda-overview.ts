import { counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { QueryLambda, QueryLambdaVersion } from '../../contract/lambdas.ts';
import { cut } from '../../contract/text.ts';
import { visibleText } from '../../contract/visible.ts';
import { oneLine } from '../answer-text.ts';
import { type Fenced, lineText } from '../fence.ts';
import { BUDGET, presentList } from '../results.ts';
import { listWithin, Room } from '../room.ts';
import { identifier } from './infer.ts';

/** What lambdas there are, slim: what each is for, its parameters, and as much of its SQL as there is room for. */

/** The characters of the SQL of all lambdas together, and the most and least of one. */
const SQL_CHARS = 8_000;
const SQL_CHARS_MAX = 400;
const SQL_CHARS_MIN = 60;
/** More lambdas are not listed, nor more than an answer may have. */
const LISTED_MAX = 200;
const DESCRIPTION_CHARS_MAX = 200;
const DEFAULT_CHARS_MAX = 40;
/** Of those that are left out, as many names as this allows. */
const NAMES_TOKENS = 1_000;

const OPERATIONS = new Set(['listLambdas', 'listWorkspaceLambdas', 'listCollectionLambdas', 'listAliasLambdas']);

/** Whether an operation answers lambdas, as `presentLambdas` tells them. */
export const listsLambdas = (operation: string): boolean => OPERATIONS.has(operation);

type Listed = QueryLambda | QueryLambdaVersion;

/** The lambdas, or the versions, in one line each. */
export function presentLambdas(lambdas: readonly Listed[]): Fenced {
  const chars = Math.min(SQL_CHARS_MAX, Math.floor(SQL_CHARS / Math.max(1, Math.min(LISTED_MAX, lambdas.length))));
  const room = new Room(BUDGET);
  const lines: string[] = [];
  for (const one of lambdas.slice(0, LISTED_MAX)) {
    const line = lineOf(one, chars);
    if (!room.take(line)) break;
    lines.push(line);
  }
  const left = lambdas.slice(lines.length);
  const others = left.length === 0 ? '' : ` of ${lambdas.length}; then ${listWithin(left.map(fullName), NAMES_TOKENS)}`;
  return {
    data: presentList(lambdas).data,
    text: [...lines, `(${lines.length}${others})`].join('\n'),
    next:
      left.length > 0
        ? `${left.length} are left out: list_workspace_lambdas has those of one workspace, get_lambda_tag with the tag "latest" one.`
        : undefined,
  };
}

function fullName({ workspace, name }: Listed): string {
  return lineText([workspace, name].map((part) => identifier(part ?? '')).join('.'));
}

/**
 * `ws.name (3 versions, the latest of 2026-11-25T04:44Z): "Sales by day"; :since date = "2026-01-01"; SELECT …`; of a version
 * `ws.name (version 0a1b2c3d, of 2026-11-25T04:44Z): …`.
 */
function lineOf(lambda: Listed, chars: number): string {
  const { version_count: versions, latest_version: latest } = lambda as QueryLambda;
  const isVersion = latest === undefined && 'version' in lambda;
  const shown: Partial<QueryLambdaVersion> = isVersion ? lambda : (latest ?? {});
  const { description, sql, state, created_at: changed } = shown;
  const facts = [
    isVersion ? `version ${lineText(shown.version ?? '')}` : counted(versions ?? 1, 'versions'),
    ...(changed ? [`${isVersion ? '' : 'the latest '}of ${changed.slice(0, 16)}Z`] : []),
    ...(state && state !== 'ACTIVE' ? [state] : []),
  ];
  const defaults = (sql?.default_parameters ?? []).map(({ name: parameter, type, value }) => {
    const given = value === undefined ? '' : ` = ${cut(visibleText(stringifyJson(value)), DEFAULT_CHARS_MAX)}`;
    return `:${parameter} ${type ?? ''}${given}`;
  });
  const query = sql?.query ?? '';
  const told = [
    ...(description ? [JSON.stringify(lineText(description, DESCRIPTION_CHARS_MAX))] : []),
    ...(defaults.length > 0 ? [lineText(defaults.join(', '))] : []),
    ...(query !== '' && chars >= SQL_CHARS_MIN ? [cut(oneLine(visibleText(query)), chars)] : []),
  ];
  return `${fullName(lambda)} (${facts.join(', ')})${told.length > 0 ? `: ${told.join('; ')}` : ''}`;
}
