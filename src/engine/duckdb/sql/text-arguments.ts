import { type Token, tokens } from './tokens.ts';

/** Messages that list the forms of a function after a call that fits none of them, with the types of its arguments. */
const NO_MATCH = /^No function matches the given name and argument types '(\S+?)\((.*?)\)'/;
const CANDIDATES_MAX = 6;
const TIME = /^(?:DATE|TIME|TIMESTAMP|INTERVAL)\b/;
const NUMBER = /^(?:DECIMAL|DOUBLE|BIGINT)$/;

const typesIn = (list: string) => (list === '' ? [] : list.split(', '));

/** A message about a call that fits no form of its function: shorter, and with a cast where an argument is text. */
export function shortenCandidates(message: string, sql: string): string {
  const [, name, types] = NO_MATCH.exec(message) ?? [];
  if (name === undefined || types === undefined) return message;
  const [head = '', ...lines] = message.split(/\n\tCandidate functions:|\n(?=\t)/);
  const forms = lines.filter((line) => line.startsWith('\t')).map((line) => line.trim());
  const hint = textHint(name, typesIn(types), forms, sql);
  if (hint !== null) return `${head}\n${hint}`;
  if (forms.length <= CANDIDATES_MAX) return message;
  const shown = forms.slice(0, CANDIDATES_MAX).map((form) => `\n\t${form}`);
  return `${head}\n\tCandidate functions:${shown.join('')}\n\tand ${forms.length - CANDIDATES_MAX} more`;
}

/** What to write for the first argument that is text and that no form takes as text. */
function textHint(name: string, types: readonly string[], forms: readonly string[], sql: string): string | null {
  const taken = forms.map((form) => typesIn(/\((.*?)\) ->/.exec(form)?.[1] ?? ''));
  const at = types.findIndex((type, index) => {
    return (
      type === 'VARCHAR' && taken.some((one) => one[index] !== undefined && !/^(?:VARCHAR|ANY|T)/.test(one[index]))
    );
  });
  if (at === -1 || types.includes('JSON')) return null;
  const same = taken.filter((one) => one.length === types.length).map((one) => one[at] ?? '');
  const isTime = types.some((type) => TIME.test(type)) || !same.some((type) => NUMBER.test(type));
  if (isTime && !same.some((type) => TIME.test(type))) return null;
  const column = argumentIn(sql, name, at) ?? 'x';
  const time = `${column}::TIMESTAMP`;
  const number = `TRY_CAST(${column} AS DOUBLE)`;
  if (name === '-' && !isTime && types.length === 2) return `${column} is text: ${number}; for a time: ${time}`;
  return `${column} is text: ${isTime ? time : number}`;
}

const NAME = String.raw`(?:[A-Za-z_]\w*|"[^"]+")(?:\.(?:[A-Za-z_]\w*|"[^"]+"))*`;
const NAME_ALONE = new RegExp(`^\\s*(${NAME})\\s*$`);
const NAME_BEFORE = new RegExp(`(${NAME})\\s*$`);
const NAME_AFTER = new RegExp(`^\\s*(${NAME})`);

/** Argument `at` of a call if it is just a name; for an operator, the name directly beside it. */
function argumentIn(sql: string, call: string, at: number): string | undefined {
  const list = [...tokens(sql)];
  const isOperator = /^\W/.test(call);
  const index = list.findIndex(
    ({ text }, place) => text.toLowerCase() === call.toLowerCase() && (isOperator || list[place + 1]?.text === '('),
  );
  const found = list[index];
  if (found === undefined) return undefined;
  if (isOperator && at === 0) return NAME_BEFORE.exec(sql.slice(0, found.start))?.[1];
  if (isOperator) return NAME_AFTER.exec(sql.slice(found.end))?.[1];
  return NAME_ALONE.exec(argumentText(sql, list.slice(index + 2), at))?.[1];
}

/** The text of argument `at`, given the tokens after the opening parenthesis of the call. */
function argumentText(sql: string, list: readonly Token[], at: number): string {
  let depth = 0;
  let left = at;
  let start = list[0]?.start ?? 0;
  for (const { text, start: here, end } of list) {
    const isEnd = depth === 0 && (text === ',' || text === ')');
    if (isEnd && left === 0) return sql.slice(start, here);
    if (isEnd && text === ')') break;
    if (isEnd) {
      left -= 1;
      start = end;
    } else if (/^[([{]$/.test(text)) depth += 1;
    else if (/^[)\]}]$/.test(text)) depth -= 1;
  }
  return '';
}
