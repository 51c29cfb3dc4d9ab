import { between } from '../../../contract/text.ts';
import { objectValue } from './object-values.ts';
import type { Statement } from './statement.ts';
import { tokenList } from './token-list.ts';
import { type Token, tokens } from './tokens.ts';

/** Messages that list the forms of a function after a call that fits none of them, with the types of its arguments. */
const NO_MATCH = "No function matches the given name and argument types '";
const CANDIDATES_MAX = 6;
const TIME = /^(?:DATE|TIME|TIMESTAMP|INTERVAL)\b/;
const NUMBER = /^(?:DECIMAL|DOUBLE|BIGINT)$/;

const typesIn = (list: string) => (list === '' ? [] : list.split(', '));

/** What the engine was given, and what the caller wrote. */
type Text = Pick<Statement, 'body' | 'written'>;

/**
 * A message about a call that fits no form of its function: shorter, and with a cast where an argument is text. `offset` is
 * that of the call, or of the operator, in bytes.
 */
export function shortenCandidates(message: string, { body: sql, written }: Text, offset = 0): string {
  const call = between(message, NO_MATCH, ")'");
  const bracket = call?.indexOf('(') ?? -1;
  if (call === undefined || bracket === -1) return message;
  const [name, types] = [call.slice(0, bracket), call.slice(bracket + 1)];
  const [whole = '', ...lines] = message.split(/\n\tCandidate functions:|\n(?=\t)/);
  const head = withoutFields(whole);
  const forms = lines.filter((line) => line.startsWith('\t')).map((line) => line.trim());
  const from = Buffer.from(sql).subarray(0, offset).toString().length;
  const argumentAt = (at: number) => {
    const text = argumentIn(sql, from, name, at);
    return text !== undefined && written.includes(text) ? text : undefined;
  };
  const hint =
    mapHint(name, types, argumentAt) ??
    objectHint(name, types, argumentAt) ??
    textHint(name, typesIn(types), forms, argumentAt) ??
    numberHint(name, typesIn(types), forms, argumentAt);
  if (hint !== null) return `${head}\n${hint}`;
  const shown = forms.slice(0, CANDIDATES_MAX).map((form) => `\n\t${form}`);
  const more = forms.length > CANDIDATES_MAX ? `\n\tand ${forms.length - CANDIDATES_MAX} more` : '';
  return `${head}${forms.length === 0 ? '' : `\n\tCandidate functions:${shown.join('')}`}${more}`;
}

/** A message without what is in the types of objects, which may be long. */
function withoutFields(message: string): string {
  let [text, from] = ['', 0];
  for (let at = message.indexOf('STRUCT('); at !== -1; at = message.indexOf('STRUCT(', from)) {
    let [end, depth] = [at + 'STRUCT('.length, 1];
    for (; end < message.length && depth > 0; end++) depth += message[end] === '(' ? 1 : message[end] === ')' ? -1 : 0;
    text += `${message.slice(from, at)}STRUCT(…)`;
    from = end;
  }
  return text + message.slice(from);
}

/** What a message says of an object that a function of maps was given. */
export const OBJECT_NO_MAP = ' is an object, and no map: ';

/** What to write for an object where a map is needed. */
function mapHint(name: string, types: string, argumentAt: (at: number) => string | undefined): string | null {
  if (!name.startsWith('map_') || !types.startsWith('STRUCT(')) return null;
  const object = argumentAt(0) ?? 'x';
  const type = typeOfFields(types);
  const asMap = type === undefined ? '' : ` As a map: to_json(${object})::MAP(VARCHAR, ${type}).`;
  return `${object}${OBJECT_NO_MAP}json_each(${object}) AS e in FROM has e.key and e.value of each field (JSON; as text: e.value->>'$'), json_keys(${object}) their names.${asMap}`;
}

/** Functions and operators of numbers. */
const OF_NUMBERS =
  /^(?:sum|avg|mean|median|stddev\w*|var_\w+|variance|quantile\w*|round|abs|ceil|ceiling|floor|sqrt|fsum|favg|[-+*/%])$/;

/** What to write for an object where a number is needed. */
function objectHint(name: string, types: string, argumentAt: (at: number) => string | undefined): string | null {
  const value = OF_NUMBERS.test(name) ? objectValue(types) : undefined;
  if (value === undefined) return null;
  const object = argumentAt(0) ?? 'x';
  const { number, names } = value;
  return number === undefined
    ? `${object} is an object with the fields ${names.join(', ')}: give one, as in ${object}.${names[0] ?? 'a'}.`
    : `${object} is an object: ${object}.${number}`;
}

/** Types that values have as JSON, too. */
const PLAIN = /^(?:VARCHAR|BOOLEAN|BIGINT|HUGEINT|DOUBLE)$/;

const AS_MAP = ' As a map: to_json(';
const BEFORE_TYPE = ')::MAP(VARCHAR, ';

/** The type of all fields of the object that a message says is no map; undefined: they have several, or one that is not plain. */
export function typeAsMap(message: string): string | undefined {
  const from = message.lastIndexOf(BEFORE_TYPE);
  if (from === -1 || !message.includes(AS_MAP) || !message.endsWith(').')) return undefined;
  const type = message.slice(from + BEFORE_TYPE.length, -2);
  return PLAIN.test(type) ? type : undefined;
}

/** The plain type that all fields have of the object whose type a list of types begins with; undefined: there is none. */
function typeOfFields(types: string): string | undefined {
  const list = tokenList(types);
  if (list[1]?.text !== '(' || list[list.closeOf(1)]?.text !== ')') return undefined;
  // Of each field: its name, and its type, which is one word if it is plain.
  const ends = list.endsOf(1);
  const found = ends.map((end, index) => {
    const name = index === 0 ? 2 : (ends[index - 1] ?? 0) + 1;
    return end === name + 2 && isName(list[name]) ? list[name + 1]?.text : undefined;
  });
  const [type, ...others] = new Set(found);
  return others.length === 0 && type !== undefined && PLAIN.test(type) ? type : undefined;
}

const takenBy = (form: string) => typesIn(between(form.slice(form.indexOf('(')), '(', ') ->') ?? '');

/** What to write for the first argument that is a number or a time and that all forms take as text. */
function numberHint(
  name: string,
  types: readonly string[],
  forms: readonly string[],
  argumentAt: (at: number) => string | undefined,
): string | null {
  // What they take as text is the part of a time, which then stands elsewhere.
  if (name.startsWith('date')) return null;
  const taken = forms.map(takenBy).filter((one) => one.length === types.length);
  const at = types.findIndex((type, index) => {
    return (
      /^(?:\w*INT|DOUBLE|DECIMAL.*|DATE|TIMESTAMP.*)$/.test(type) && taken.every((one) => one[index] === 'VARCHAR')
    );
  });
  const column = argumentAt(at);
  return taken.length === 0 || at === -1 || column === undefined
    ? null
    : `${column} is ${types[at]}: CAST(${column} AS VARCHAR)`;
}

/** What to write for the first argument that is text and that no form takes as text. */
function textHint(
  name: string,
  types: readonly string[],
  forms: readonly string[],
  argumentAt: (at: number) => string | undefined,
): string | null {
  if (name === '+' && types.every((type) => /^(?:VARCHAR|STRING_LITERAL)$/.test(type)))
    return 'Texts are joined by ||.';
  const taken = forms.map(takenBy);
  const at = types.findIndex((type, index) => {
    return (
      type === 'VARCHAR' &&
      taken.some((one) => one[index] !== undefined && !/^(?:VARCHAR|ANY|T)(?!\[)/.test(one[index]))
    );
  });
  if (at === -1 || types.includes('JSON')) return null;
  const same = taken.filter((one) => one.length === types.length).map((one) => one[at] ?? '');
  const isList = taken.every((one) => one[at]?.endsWith('[]'));
  if (isList) return `${argumentAt(at) ?? 'x'} is text, and no list.`;
  const isTime = types.some((type) => TIME.test(type)) || !same.some((type) => NUMBER.test(type));
  if (isTime && !same.some((type) => TIME.test(type))) return null;
  const column = argumentAt(at) ?? 'x';
  const time = `${column}::TIMESTAMPTZ`;
  const isWhole = same.includes('BIGINT') && !same.some((type) => /^(?:DOUBLE|DECIMAL)/.test(type));
  const number = `CAST(${column} AS ${isWhole ? 'BIGINT' : 'DOUBLE'})`;
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

/** So much of an argument is repeated in a hint. */
const ARGUMENT_CHARS_MAX = 100;

/** Argument `at` of the first call from a place on; for an operator, the name directly beside it. */
function argumentIn(sql: string, from: number, call: string, at: number): string | undefined {
  const list = [...tokens(sql)];
  const isOperator = /^\W/.test(call);
  const isCall = (place: number) => isOperator || list[place + 1]?.text === '(';
  const word = LIKES.get(call) ?? call.toLowerCase();
  const index = list.findIndex(
    ({ text, start }, place) => start >= from && text.toLowerCase() === word && isCall(place),
  );
  if (index === -1) return undefined;
  const first = isOperator
    ? at === 0
      ? endOfName(list, index - 1, -1)
      : index + 1
    : argumentStart(list, index + 2, at);
  return isOperator
    ? textOf(sql, list, first, endOfName(list, first, 1))
    : textOf(sql, list, DISTINCT.test(list[first]?.text ?? '') ? first + 1 : first, argumentEnd(list, first) - 1);
}

/** The words of operators. */
const LIKES: ReadonlyMap<string, string> = new Map([
  ['~~', 'like'],
  ['~~*', 'ilike'],
  ['!~~', 'not'],
  ['!~~*', 'not'],
]);

const DISTINCT = /^(?:distinct|all)$/i;

function textOf(sql: string, list: readonly Token[], first: number, last: number): string | undefined {
  const text = first < 0 || last < first ? undefined : sql.slice(list[first]?.start, list[last]?.end);
  return text === undefined || text.length > ARGUMENT_CHARS_MAX ? undefined : text;
}

/** Index of the first token of argument `at`, given that of the first token of the first one; -1 without such an argument. */
function argumentStart(list: readonly Token[], first: number, at: number): number {
  let start = first;
  for (let left = at; left > 0; left--) {
    const end = argumentEnd(list, start);
    if (list[end]?.text !== ',') return -1;
    start = end + 1;
  }
  return start;
}

/** Index of the token behind an argument: a comma, the bracket that closes the call, or the ORDER of an aggregate. */
function argumentEnd(list: readonly Token[], first: number): number {
  let depth = 0;
  for (let index = first; index < list.length; index++) {
    const text = list[index]?.text ?? '';
    if (depth === 0 && (text === ',' || /^order$/i.test(text))) return index;
    if (/^[([{]$/.test(text)) depth += 1;
    else if (/^[)\]}]$/.test(text)) depth -= 1;
    if (depth < 0) return index;
  }
  return list.length;
}
