import { stringifyJson } from '../../contract/json/json.ts';
import type { QueryLambda } from '../../contract/lambdas.ts';
import { cut } from '../../contract/text.ts';
import { visibleText } from '../../contract/visible.ts';
import { oneLine } from '../answer-text.ts';
import { type Fenced, lineText } from '../fence.ts';
import { presentList } from '../results.ts';
import { identifier } from './infer.ts';

/** What lambdas there are, slim: what each is for, its parameters, and as much of its SQL as there is room for. */

/** The characters of the SQL of all lambdas together, and the most and least of one. */
const SQL_CHARS = 8_000;
const SQL_CHARS_MAX = 400;
const SQL_CHARS_MIN = 60;
/** More lambdas are not listed. */
const LISTED_MAX = 200;
const DESCRIPTION_CHARS_MAX = 200;
const DEFAULT_CHARS_MAX = 40;

const OPERATIONS = new Set(['listLambdas', 'listWorkspaceLambdas', 'listCollectionLambdas', 'listAliasLambdas']);

/** Whether an operation answers lambdas, as `presentLambdas` tells them. */
export const listsLambdas = (operation: string): boolean => OPERATIONS.has(operation);

/** The lambdas in one line each. */
export function presentLambdas(lambdas: readonly QueryLambda[]): Fenced {
  const shown = lambdas.slice(0, LISTED_MAX);
  const left = lambdas.length - shown.length;
  const chars = Math.min(SQL_CHARS_MAX, Math.floor(SQL_CHARS / Math.max(1, shown.length)));
  const lines = shown.map((one) => lineOf(one, chars));
  return {
    data: presentList(lambdas).data,
    text: [...lines, left > 0 ? `(${shown.length} of ${lambdas.length})` : `(${shown.length})`].join('\n'),
    next: left > 0 ? `${left} are left out: list_workspace_lambdas has those of one workspace.` : undefined,
  };
}

/** `ws.name (3 versions, changed 2026-11-25T04:44Z): "Sales by day"; :since date = "2026-01-01"; SELECT …`. */
function lineOf({ workspace, name, version_count: versions, latest_version: latest }: QueryLambda, chars: number) {
  const { description, sql, state, created_at: changed } = latest ?? {};
  const facts = [
    `${versions ?? 1} version${versions === 1 ? '' : 's'}`,
    ...(changed ? [`the latest of ${changed.slice(0, 16)}Z`] : []),
    ...(state && state !== 'ACTIVE' ? [state] : []),
  ];
  const defaults = (sql?.default_parameters ?? []).map(({ name: parameter, type, value }) => {
    const given = value === undefined ? '' : ` = ${cut(visibleText(stringifyJson(value)), DEFAULT_CHARS_MAX)}`;
    return `:${parameter} ${type}${given}`;
  });
  const query = sql?.query ?? '';
  const told = [
    ...(description ? [JSON.stringify(lineText(description, DESCRIPTION_CHARS_MAX))] : []),
    ...(defaults.length > 0 ? [lineText(defaults.join(', '))] : []),
    ...(query !== '' && chars >= SQL_CHARS_MIN ? [cut(oneLine(visibleText(query)), chars)] : []),
  ];
  const full = lineText([workspace, name].map((part) => identifier(part ?? '')).join('.'));
  return `${full} (${facts.join(', ')})${told.length > 0 ? `: ${told.join('; ')}` : ''}`;
}
