import { computedOnce } from '../computed-once.ts';

export interface CompatFunction {
  group: string;
  /** As it is documented: upper case. */
  name: string;
  /** The engine's name for it. Neither this nor `macro`: the engine has the function as it is. */
  renamed?: string;
  /** Overloads: parameters with AS and the expression. One `p` struct holds arguments that are used more than once. */
  macro?: readonly string[];
  /** An expression, and what it gives. */
  example: string;
  gives: unknown;
  /** Described together with that one. */
  listedWith?: string;
  /** What differs from what people may expect. */
  note?: string;
}

/** An expression that uses its arguments more than once, as `p.<name>`: each is computed once, and never copied. */
export function once(names: string, expression: string): string {
  const list = names.split(' ');
  return `(${list.join(', ')}) AS ${computedOnce(list, expression)}`;
}
