import { DuckDBTypeId } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import type { Opened } from '../gate/parse.ts';
import { type ComparedText, ComparedTextError } from '../gate/sql-errors.ts';
import { refusalFor, type TimeComparison } from '../gate/time-comparisons.ts';
import { foldName } from '../sql/names.ts';
import type { Statement } from '../sql/statement.ts';
import { tokens } from '../sql/tokens.ts';
import { INSTANT_IDS } from '../sql/type-kinds.ts';
import type { Typed } from '../values/typed-json.ts';
import { isUnparsed, type Way } from './again.ts';

/** Names of one statement that are cast. */
const CASTS_MAX = 8;

/**
 * The way of a statement that compares text with a time (`requireCasts`): with a cast for a name of text. What was taken for
 * a name may be none: then it cannot be parsed.
 */
export const timeCasts: Way = {
  isFor: ({ error, statement }) =>
    error instanceof ComparedTextError || (isUnparsed(error) && (statement?.timeCasts.length ?? 0) > 0),
  next({ error, statement, errors, ...rest }) {
    if (!(error instanceof ComparedTextError) || statement?.timeCasts.length === CASTS_MAX) return null;
    return statement ? { ...rest, statement: withCast(statement, error.compared), errors: [...errors, error] } : null;
  },
};

/**
 * Throws for text that is compared with a time where the engine would not, to attempt the statement with a cast. `values`
 * are those of its parameters.
 */
export function requireCasts({ statement, passed }: Opened, values: ReadonlyMap<string, Typed>): void {
  for (const comparison of passed.timeComparisons) {
    const typeId = comparison.parameter === undefined ? undefined : typeOfParameter(values, comparison.parameter);
    if (
      comparison.parameter !== undefined &&
      (typeId === undefined || !(typeId === DuckDBTypeId.TIME || INSTANT_IDS.has(typeId)))
    )
      continue;
    const of = typeId === DuckDBTypeId.TIME ? { ...comparison, type: 'TIME' as const } : comparison;
    const compared = nameOf(of, statement.body);
    const position = of.at === undefined ? {} : statement.locate(of.at);
    const told = ['query_error', refusalFor(of), position] as const;
    throw compared === undefined ? new ApiError(...told) : new ComparedTextError(compared, ...told);
  }
}

function typeOfParameter(values: ReadonlyMap<string, Typed>, folded: string): DuckDBTypeId | undefined {
  for (const [name, { type }] of values) if (foldName(name) === folded) return type.typeId;
  return undefined;
}

/** Where a name stands in a statement's body; undefined: it is none, or not written as usual. */
function nameOf({ name, at, type }: TimeComparison, body: string): ComparedText | undefined {
  if (name === undefined || at === undefined) return undefined;
  const start = Buffer.from(body).subarray(0, at).toString().length;
  let parts = 0;
  for (const token of tokens(body)) {
    if (token.start < start) continue;
    if (parts === 0 && token.start !== start) return undefined;
    const isPoint = parts % 2 === 1;
    if (isPoint ? token.text !== '.' : token.kind !== 'word' && token.kind !== 'quoted') return undefined;
    parts += 1;
    if (parts === 2 * name.length - 1) return { name: body.slice(start, token.end), start, end: token.end, type };
  }
  return undefined;
}

/** Says what was compared otherwise than it was written. */
export function castWarnings({ timeCasts }: Statement): string[] {
  const names = [...new Set(timeCasts)];
  if (names.length === 0) return [];
  return [`${names.join(', ')}: text, compared as a time. Text without a zone counts as UTC.`];
}

function withCast(statement: Statement, { name, start, end, type }: ComparedText): Statement {
  const [before, after] = ['CAST(', ` AS ${type})`];
  const { body: was, timeCasts } = statement;
  const body = `${was.slice(0, start)}${before}${name}${after}${was.slice(end)}`;
  const from = Buffer.byteLength(was.slice(0, start));
  const length = Buffer.byteLength(name);
  /** The offset in what was, of one in what is. */
  const originOf = (offset: number) => {
    if (offset <= from) return offset;
    const inName = Math.min(Math.max(0, offset - from - before.length), length);
    return from + inName + Math.max(0, offset - from - before.length - length - after.length);
  };
  return {
    ...statement,
    body,
    timeCasts: [...timeCasts, name],
    locate: (offset) => statement.locate(originOf(offset)),
    offsetOf: (index) => Buffer.byteLength(body.slice(0, index)),
  };
}
