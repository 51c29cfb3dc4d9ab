import { between } from '../../../contract/text.ts';
import { type Token, tokens } from './tokens.ts';

/** Messages that list the forms of a function after a call that fits none of them, with the types of its arguments. */
const NO_MATCH = "No function matches the given name and argument types '";
const CANDIDATES_MAX = 6;
const TIME = /^(?:DATE|TIME|TIMESTAMP|INTERVAL)\b/;
const NUMBER = /^(?:DECIMAL|DOUBLE|BIGINT)$/;

const typesIn = (list: string) => (list === '' ? [] : list.split(', '));

/**
 * A message about a call that fits no form of its function: shorter, and with a cast where an argument is text. `offset` is
 * that of the call, or of the operator, in bytes.
 */
export function shortenCandidates(message: string, sql: string, offset = 0): string {
  const call = between(message, NO_MATCH, ")'");
  const bracket = call?.indexOf('(') ?? -1;
  if (call === undefined || bracket === -1) return message;
  const [name, types] = [call.slice(0, bracket), call.slice(bracket + 1)];
  const [head = '', ...lines] = message.split(/\n\tCandidate functions:|\n(?=\t)/);
  const forms = lines.filter((line) => line.startsWith('\t')).map((line) => line.trim());
  const argumentAt = (at: number) => argumentIn(sql, Buffer.from(sql).subarray(0, offset).toString().length, name, at);
  const hint = textHint(name, typesIn(types), forms, argumentAt);
  if (hint !== null) return `${head}\n${hint}`;
  if (forms.length <= CANDIDATES_MAX) return message;
  const shown = forms.slice(0, CANDIDATES_MAX).map((form) => `\n\t${form}`);
  return `${head}\n\tCandidate functions:${shown.join('')}\n\tand ${forms.length - CANDIDATES_MAX} more`;
}

/** What to write for the first argument that is text and that no form takes as text. */
function textHint(
  name: string,
  types: readonly string[],
  forms: readonly string[],
  argumentAt: (at: number) => string | undefined,
): string | null {
  const taken = forms.map((form) => typesIn(between(form.slice(form.indexOf('(')), '(', ') ->') ?? ''));
  const at = types.findIndex((type, index) => {
    return (
      type === 'VARCHAR' && taken.some((one) => one[index] !== undefined && !/^(?:VARCHAR|ANY|T)/.test(one[index]))
    );
  });
  if (at === -1 || types.includes('JSON')) return null;
  const same = taken.filter((one) => one.length === types.length).map((one) => one[at] ?? '');
  const isTime = types.some((type) => TIME.test(type)) || !same.some((type) => NUMBER.test(type));
  if (isTime && !same.some((type) => TIME.test(type))) return null;
  const column = argumentAt(at) ?? 'x';
  const time = `${column}::TIMESTAMP`;
  const number = `TRY_CAST(${column} AS DOUBLE)`;
  if (name === '-' && !isTime && types.length === 2) return `${column} is text: ${number}; for a time: ${time}`;
  return `${column} is text: ${isTime ? time : number}`;
}

const isName = (token: Token | undefined) => token?.kind === 'word' || token?.kind === 'quoted';

/**
 * The last token, in a direction, of the name with dots of which `first` is one; -1 if there is no name. `isPart`: what its
 * parts may be.
 */
export function endOfName(
  list: readonly Token[],
  first: number,
  step: 1 | -1,
  isPart: (token: Token | undefined) => boolean = isName,
): number {
  if (!isPart(list[first])) return -1;
  let last = first;
  while (list[last + step]?.text === '.' && isPart(list[last + 2 * step])) last += 2 * step;
  return last;
}

/** Argument `at` of the first call from a place on, if it is just a name; for an operator, the name directly beside it. */
function argumentIn(sql: string, from: number, call: string, at: number): string | undefined {
  const list = [...tokens(sql)];
  const isOperator = /^\W/.test(call);
  const isCall = (place: number) => isOperator || list[place + 1]?.text === '(';
  const index = list.findIndex(
    ({ text, start }, place) => start >= from && text.toLowerCase() === call.toLowerCase() && isCall(place),
  );
  if (index === -1) return undefined;
  const first = isOperator
    ? at === 0
      ? endOfName(list, index - 1, -1)
      : index + 1
    : argumentStart(list, index + 2, at);
  const last = endOfName(list, first, 1);
  const isAlone = isOperator || list[last + 1]?.text === ',' || list[last + 1]?.text === ')';
  return last === -1 || !isAlone ? undefined : sql.slice(list[first]?.start, list[last]?.end);
}

/** Index of the first token of argument `at`, given that of the first token of the first one; -1 without such an argument. */
function argumentStart(list: readonly Token[], first: number, at: number): number {
  let depth = 0;
  let left = at;
  let index = first;
  for (; left > 0 && index < list.length; index++) {
    const text = list[index]?.text ?? '';
    if (text === ',' && depth === 0) left -= 1;
    else if (/^[([{]$/.test(text)) depth += 1;
    else if (/^[)\]}]$/.test(text)) depth -= 1;
    if (depth < 0) return -1;
  }
  return left === 0 ? index : -1;
}
