import { type Token, tokens } from './tokens.ts';

/**
 * What a statement grows to. The engine copies parts of it: the operand of CASE for each WHEN and a named window for
 * each OVER while it parses; a WITH that is not materialized, an alias of an earlier column and an argument of a macro
 * while it binds. Copies of copies grow exponentially, and neither parsing nor binding can be interrupted.
 */
export interface Size {
  queries: number;
  expressions: number;
}

export const NOTHING: Size = { queries: 0, expressions: 0 };

/** Most expressions of a statement with all copies. */
export const EXPRESSIONS_EXPANDED_MAX = 150_000;

/** Macros, of the engine (a test compares them) and of `guards.ts`, that use an argument more than once: how often. */
export const COPYING_MACROS: ReadonlyMap<string, number> = new Map([
  ['array_join', 2],
  ['array_pop_back', 2],
  ['array_to_string', 2],
  ['fmod', 2],
  ['json_group_array', 2],
  ['json_group_object', 2],
  ['map_contains_entry', 2],
  ['nullif', 2],
  ['regexp_replace', 32],
  ['round_even', 3],
  ['roundbankers', 3],
  ['split_part', 2],
  ['wavg', 2],
  ['weighted_avg', 2],
]);

interface Case {
  bracketDepth: number;
  whens: number;
  operand: number;
  rest: number;
}

/**
 * How many tokens SQL text has after the engine's parser has copied what it copies; 256 KB of text can become
 * terabytes.
 */
export function parsedTokens(sql: string): number {
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
  for (const token of tokens(sql)) {
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
 * Whether SQL text may hold NOT MATERIALIZED, which the tree does not show. Spaces alone between AS and MATERIALIZED
 * leave no room for NOT. Without either the engine copies too, but later, where it can be interrupted.
 */
export function mayCopyWith(sql: string): boolean {
  return (sql.match(/materialized/gi) ?? []).length !== (sql.match(/\bas +materialized\b/gi) ?? []).length;
}
