import { RESERVED_WORDS } from '../../../contract/reserved-words.ts';
import { UNNEST_INSTEAD } from './dialects.ts';
import { wordOf } from './forms/edit.ts';
import { quoteName } from './names.ts';
import { type TokenList, tokenList } from './token-list.ts';
import { type Token, tokens } from './tokens.ts';

/** What may follow a field but not the keyword of the same spelling. */
const AFTER_FIELD = /^(?:::|[.,)=<>!+*/|-]|from|as|is|in|like|ilike|between|not|and|or|asc|desc)$/i;

export function isReserved(token: Token): boolean {
  return RESERVED_WORDS.has(wordOf(token));
}

/** A field's name as SQL needs it: in double quotes only where it has to be. */
export function fieldName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !RESERVED_WORDS.has(name.toLowerCase()) ? name : quoteName(name);
}

/** A more helpful message than the parser's own; null if there is none. `at` counts UTF-16 units. */
export function syntaxHint(sql: string, message: string, at: number | undefined): string | null {
  const list = tokenList(sql);
  if (message.includes('errhint NOT IMPLEMENTED')) return limitHint(list);
  if (/^Unknown ordered aggregate "(?:listagg|string_agg|group_concat|array_agg)"/i.test(message)) {
    return `${message} Write string_agg(x, ',' ORDER BY x), listagg or array_agg so, instead of WITHIN GROUP.`;
  }
  if (message.startsWith('RESPECT/IGNORE NULLS')) return `${message}. ${FILTER_INSTEAD}`;
  if (LIKE_SEVERAL.test(message) && likesSeveral(list)) return `${message}. ${LIKE_INSTEAD}`;
  if (/^unterminated quoted string/.test(message) && list.some(isEscaped)) return `${message}. ${QUOTES_INSTEAD}`;
  if (!message.startsWith('syntax error') || at === undefined) return null;
  if (message.endsWith('at end of input') && lacksOn(list)) return `${message}. ${ON_INSTEAD}`;
  const index = list.findIndex((token) => token.start >= at);
  const here = list[index];
  const before = list[index - 1];
  const otherwise = dialectHint(list, index);
  if (otherwise !== null) return `${message}. ${otherwise}`;
  const name = [before, here].find((token, place) => {
    const next = place === 0 ? here : list[index + 1];
    return (
      token !== undefined && RESERVED_WORDS.has(wordOf(token)) && (next === undefined || AFTER_FIELD.test(next.text))
    );
  });
  if (name === undefined) return null;
  return `${message}. "${name.text}" is a reserved word: to name a field, write "${name.text}" in double quotes.`;
}

/** How the message about a PIVOT without a list begins. */
export const PIVOT_UNLISTED = 'PIVOT needs its values listed here';
export const SCRIPT_INSTEAD =
  'Write one SELECT: WITH names the steps, list_transform(l, lambda x: …) computes with each item of a list; the rest belongs into the program that asks.';

const FILTER_INSTEAD = 'Write array_agg(x ORDER BY x) FILTER (WHERE x IS NOT NULL) instead of IGNORE NULLS.';

const LIKE_SEVERAL = /^(?:Unsupported comparison "!?~~\*?" for ANY|syntax error at or near ",")/;
const LIKE_INSTEAD = "Write x LIKE 'a%' OR x LIKE 'b%' instead of LIKE ANY, and AND instead of ALL.";
const QUOTES_INSTEAD = "A quote within a text is two: 'O''Neil'.";
const ON_INSTEAD = 'A JOIN needs ON: LEFT JOIN UNNEST(t.items) AS u(item) ON true, for example.';

const likesSeveral = (list: readonly Token[]) =>
  list.some((token, at) => /^(?:any|all)$/.test(wordOf(token)) && /^i?like$/.test(wordOf(list[at - 1])));

/** Whether a text ends at a quote that another dialect takes for a part of it. */
const isEscaped = (token: Token | undefined) => token?.kind === 'string' && token.text.endsWith("\\'");

const AFTER_JOINS = /^(?:where|group|having|order|limit|qualify)$/;

/** Whether there are joins without ON before an index. */
function lacksOn(list: readonly Token[], index = list.length): boolean {
  const words = list.slice(0, index).map(wordOf);
  const joins = words.filter(
    (word, at) => word === 'join' && !/^(?:cross|natural|positional)$/.test(words[at - 1] ?? ''),
  );
  return joins.length > words.filter((word) => /^(?:on|using)$/.test(word)).length;
}

/** Words of other SQL dialects, with what to write instead: the parser stops at them or soon after. */
const DIALECTS: readonly [word: RegExp, instead: string][] = [
  [/^top$/, 'There is no TOP: end the query with LIMIT 5, for example.'],
  [/^separator$/, "Write string_agg(x, ', ')."],
  [/^(?:regexp|rlike)$/, "Write regexp_matches(x, 'pattern')."],
  [/^ignore$/, FILTER_INSTEAD],
  [
    /^option$/,
    'There is no OPTION(…): leave it out. It is about text search, which is not available, or about how a query runs.',
  ],
  [/^script$/, `Scripts are not available. ${SCRIPT_INSTEAD}`],
  [/^minus$/, 'Write EXCEPT instead of MINUS.'],
  [/^apply$/, UNNEST_INSTEAD],
  [/^columns$/, UNNEST_INSTEAD],
  [/^lateral$/, 'Write FROM t, UNNEST(t.items) AS u(item) instead of LATERAL VIEW.'],
];
/** The same for calls with an AS in them, at which the parser stops. */
const CALLS: readonly [word: RegExp, instead: string][] = [
  [/^(?:safe_cast|try_convert)$/, 'Write TRY_CAST(x AS DOUBLE), for example.'],
  [/^struct$/, "Write {'a': x, 'b': y} instead of STRUCT(…)."],
];

/** Instead of a path behind a colon. */
export const COLON_INSTEAD = "A field of an object is x.a, and of JSON x->>'$.a', instead of x:a.";

function hasColonPath(list: readonly Token[]): boolean {
  if (list.some(({ text }) => text === '{' || text === '[')) return false;
  return list.some(({ text }, index) => {
    return text === ':' && /[\w")]$/.test(list[index - 1]?.text ?? '') && wordOf(list[index + 1]) !== '';
  });
}

/** What to write instead of the words before or at `index`. */
function dialectHint(list: TokenList, index: number): string | null {
  const [here, before] = [list[index], list[index - 1]];
  if (before?.text === '[' && /^(?:offset|ordinal)$/.test(wordOf(here))) {
    return 'Items of a list count from 1: write x[1] instead of x[OFFSET(0)].';
  }
  if (before?.text === '(' && /^timestamp$/.test(wordOf(list[index - 2]))) {
    return 'Write x::TIMESTAMP instead of TIMESTAMP(x).';
  }
  if (wordOf(here) === 'table' && list[index + 1]?.text === '(' && list[index + 2]?.kind === 'string') {
    return "Write the name of the collection instead of TABLE('…'), in double quotes if it has odd characters.";
  }
  if (wordOf(here) === 'array' && wordOf(before) === 'as') return 'There is no type array: write JSON[], or VARCHAR[].';
  if (wordOf(here) === 'with' && wordOf(list[index + 1]) === 'offset') {
    return 'Write UNNEST(x) WITH ORDINALITY AS u(item, nr) instead of WITH OFFSET: nr counts from 1.';
  }
  if (list.some((token) => wordOf(token) === 'flatten')) return UNNEST_INSTEAD;
  if (hasColonPath(list.slice(Math.max(0, index - 6), index + 2))) return COLON_INSTEAD;
  if (here?.text === '#' && list[index + 1]?.text === '>') return "Write o->>'$.a.b' instead of o #>> '{a,b}'.";
  if (isEscaped(before)) return QUOTES_INSTEAD;
  if (wordOf(here) === 'limit' && /_agg$/.test(wordOf(list[list.openOf(index + 2) - 1]))) {
    return 'An aggregate has no LIMIT: write (array_agg(x ORDER BY y))[:5].';
  }
  if (AFTER_JOINS.test(wordOf(here)) && lacksOn(list, index)) return ON_INSTEAD;
  if (here?.text.startsWith('$')) return 'A parameter stands for a value, and not for a name or a word of SQL.';
  const words = list.slice(0, index + 1).map(wordOf);
  const hintOf = (known: typeof DIALECTS, some: readonly string[]) =>
    known.find(([word]) => some.some((one) => word.test(one)))?.[1];
  return hintOf(DIALECTS, words.slice(-4)) ?? (wordOf(here) === 'as' ? hintOf(CALLS, words) : undefined) ?? null;
}

function limitHint(list: readonly Token[]): string | null {
  const index = list.findIndex((token, place) => wordOf(token) === 'limit' && list[place + 2]?.text === ',');
  const [skip, take] = [list[index + 1]?.text, list[index + 3]?.text];
  if (index === -1 || skip === undefined || take === undefined) return null;
  return `LIMIT ${skip}, ${take} is not available: write LIMIT ${take} OFFSET ${skip}.`;
}

/** What is special about a statement that the engine cannot serialize although it only reads. */
export function unreadableHint(sql: string): string | null {
  const list = [...tokens(sql)];
  const isSymmetric = list.some(
    (token, index) => wordOf(token) === 'symmetric' && wordOf(list[index - 1]) === 'between',
  );
  return isSymmetric ? 'BETWEEN SYMMETRIC is not available: write x BETWEEN least(a, b) AND greatest(a, b).' : null;
}
