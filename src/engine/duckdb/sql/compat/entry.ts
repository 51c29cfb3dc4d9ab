import { computedOnce } from '../computed-once.ts';

export interface CompatFunction {
  group: string;
  /** As documented, in upper case. */
  name: string;
  /** The engine's name for it. If neither this nor `macro` is set, the engine has the function as it is. */
  renamed?: string;
  /** Overloads: parameters with AS and the expression. One `p` struct holds arguments that are used more than once. */
  macro?: readonly string[];
  /** An expression; `gives` is its value. */
  example: string;
  gives: unknown;
  /** The function that it is described together with. */
  listedWith?: string;
  /** How it differs from what people may expect. */
  note?: string;
}

/** An expression that uses its arguments more than once, as `p.<name>`: each is computed once, and never copied. */
export function once(names: string, expression: string): string {
  const list = names.split(' ');
  return `(${list.join(', ')}) AS ${computedOnce(list, expression)}`;
}
