import type { Token } from './tokens.ts';
import { USES_MAX, WITHOUT_NULLS } from './without-nulls.ts';

/**
 * The size that a statement grows to. The engine copies parts of it: while parsing, the operand of CASE for each WHEN
 * and a named window for each OVER; while binding, a WITH that is not materialized, an alias of an earlier column and
 * an argument of a macro. Copies of copies grow exponentially, and neither parsing nor binding can be interrupted.
 */
export interface Size {
  queries: number;
  expressions: number;
}

export const NOTHING: Size = { queries: 0, expressions: 0 };

/** Maximum number of expressions in a statement, including all copies. */
export const EXPRESSIONS_EXPANDED_MAX = 150_000;

/**
 * Macros of the engine (a test compares them), of `guards.ts` and of `without-nulls.ts` that use an argument more than
 * once, with how often.
 */
export const COPYING_MACROS: ReadonlyMap<string, number> = new Map([
  ...[...WITHOUT_NULLS.keys()].map((name) => [name, USES_MAX] as const),
  ['format_iso8601', 3],
  ['to_int_', 11],
  ['try_to_int_', 11],
  ['time_of_', 3],
  ['try_time_of_', 3],
  ['typeof', 16],
  ['greatest', 2],
  ['least', 2],
  ['array_join', 2],
  ['array_pop_back', 2],
  ['array_to_string', 2],
  ['fmod', 2],
  ['json_group_array', 2 * USES_MAX],
  ['json_group_object', 2 * USES_MAX],
  ['map_contains_entry', 2],
  ['nullif', 2],
  ['regexp_replace', 32],
  ['round_even', 3],
  ['roundbankers', 3],
  ['split_part', 2],
  ['wavg', 2],
  ['weighted_avg', 2],
]);

/** Macros that take long to bind for their size, copies included, by the number of expressions that they count as. */
export const LARGE_MACROS: ReadonlyMap<string, number> = new Map([
  ['to_int_', 200],
  ['try_to_int_', 200],
  ['typeof', 300],
  ['sha512', 10_000],
  ['sha512_of_hex_', 10_000],
  ['hmac_sha512', 20_000],
  ['hmac', 25_000],
]);

interface Case {
  bracketDepth: number;
  whens: number;
  operand: number;
  rest: number;
}

/** Number of tokens of SQL text after the parser has made its copies; 256 KB of text can become terabytes. */
export function parsedTokens(list: readonly Token[]): number {
  const open: Case[] = [{ bracketDepth: -1, whens: 1, operand: 0, rest: 0 }];
  let bracketDepth = 0;
  let last: Token | undefined;
  let namedWindows = 0;
  let afterWindow = 0;
  const add = (count: number) => {
    const at = open.at(-1);
    if (at !== undefined && at.whens === 0) at.operand += count;
    else if (at !== undefined) at.rest += count;
  };
  const close = () => {
    const done = open.pop();
    if (done !== undefined) add(done.operand * Math.max(1, done.whens) + done.rest);
  };
  for (const token of list) {
    const word = token.kind === 'word' && last?.text !== '.' ? token.text.toLowerCase() : '';
    const at = open.at(-1);
    add(1);
    if (token.kind === 'punctuation' && '([{'.includes(token.text)) bracketDepth += 1;
    else if (token.kind === 'punctuation' && ')]}'.includes(token.text)) bracketDepth -= 1;
    else if (word === 'case') open.push({ bracketDepth, whens: 0, operand: 0, rest: 0 });
    else if (word === 'when' && at?.bracketDepth === bracketDepth) at.whens += 1;
    else if (word === 'end' && at?.bracketDepth === bracketDepth) close();
    if (last?.text.toLowerCase() === 'over' && token.text !== '(') namedWindows += 1;
    if (afterWindow > 0 || word === 'window') afterWindow += 1;
    last = token;
  }
  while (open.length > 1) close();
  const total = open[0]?.rest ?? 0;
  return total + namedWindows * afterWindow;
}

/**
 * Whether SQL text may contain NOT MATERIALIZED, which the tree does not show. If there is only space between AS and
 * MATERIALIZED, there is no room for NOT. With neither keyword the engine copies too, but later, where it can be
 * interrupted.
 */
export function mayCopyWith(sql: string): boolean {
  return (sql.match(/materialized/gi) ?? []).length !== (sql.match(/\bas +materialized\b/gi) ?? []).length;
}
