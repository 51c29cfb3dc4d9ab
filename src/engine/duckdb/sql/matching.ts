import { computedOnce } from './computed-once.ts';
import { failing, replacing } from './guards.ts';

/*
 * LIKE and its relatives with a pattern that is known only for each row. For each `%` with something after it the
 * engine tries every position of the text, nested in the tries for the `%` before: hours for one row.
 *
 * The engine looks operators up by name, so that a macro of an operator's name stands in its place. It leaves what is
 * cheap to the engine, and matches the rest with a regular expression, in time linear in the text's length.
 *
 * A regular expression that is known only for each row is compiled for each: macros of the functions' names refuse what
 * takes long.
 */

/** Bytes of the longest text in which that many `%` with something after them are cheap to try. */
const TEXT_MAX = { one: 1_000, two: 100 };
/** Most wildcards with something after them: with more, the tries grow without a bound, however short the text. */
export const WILDCARDS_MAX = 3;
/** Most bytes that are compared where each position of the text is compared with the whole pattern. */
const TRIED_MAX = 1_000_000;
/** Longest pattern, in bytes, that becomes a regular expression for every text, and most bytes of both multiplied. */
const PATTERN_MAX = 100;
const COMPARED_MAX = 100_000_000;
/** Most wildcards in one of them, `_` included: each takes some microseconds to prepare, for each of 2,048 texts at once. */
const PREPARED_MAX = 200;

const [TEXT, PATTERN] = ['p.a::VARCHAR', 'p.b::VARCHAR'];
const PRODUCT = `strlen(${TEXT})::HUGEINT * strlen(${PATTERN})`;

/** SQL for the number of wildcards, one with nothing after it included. */
function wildcardsIn(any: '%' | '*'): string {
  return `strlen(${PATTERN}) - strlen(system.main.replace(${PATTERN}, '${any}', ''))`;
}

/**
 * SQL for whether the engine might take long. Texts are cast, since the engine itself should say that something is none.
 * The last wildcard may have nothing after it; that it is counted all the same matters only for long texts.
 */
const IS_SLOW = `strlen(${PATTERN}) > 3 AND (${wildcardsIn('%')} >
    CASE WHEN strlen(${TEXT}) > ${TEXT_MAX.one} AND NOT suffix(${PATTERN}, '%') THEN 1
      WHEN strlen(${TEXT}) > ${TEXT_MAX.two} THEN 2 ELSE ${WILDCARDS_MAX} END
    OR (${PRODUCT} > ${TRIED_MAX} AND ${wildcardsIn('%')} > suffix(${PATTERN}, '%')::INTEGER))`;
/** SQL for whether a regular expression of the pattern would be too large for the text. */
const IS_LONG = `strlen(${PATTERN}) > ${PATTERN_MAX} AND ${PRODUCT} > ${COMPARED_MAX}`;

/** What the engine does for ILIKE: it compares the lower case of both. */
function expression(ignoresCase: boolean): string {
  const [text, pattern] = ignoresCase ? ['lower(p.a)', 'lower(p.b)'] : [TEXT, PATTERN];
  const escaped = `system.main.replace(system.main.replace(regexp_escape(${pattern}), '\\%', '.*'), '_', '.')`;
  return `regexp_full_match(${text}, ${escaped}, 's')`;
}

const TOO_LONG = `error('A pattern of more than ${PATTERN_MAX} bytes that is computed is too long for this text: the product of their lengths may be ${COMPARED_MAX}.')`;

const TOO_MANY = `error('At most ${PREPARED_MAX} "%" and "_" may be in a pattern that is computed. Use contains(text, part) or regexp_matches(text, pattern).')`;
const IS_TOO_MANY = `strlen(${PATTERN}) - strlen(system.main.replace(system.main.replace(${PATTERN}, '%', ''), '_', '')) > ${PREPARED_MAX}`;

/** Both are computed once: what changes from call to call, as random() does, must not be checked with another value. */
const macro = (name: string, parameters: string[], body: string) =>
  [name, `"${name}"(${parameters.join(', ')}) AS ${computedOnce(parameters, body)}`] as const;

const matching = (name: string, instead: string) =>
  macro(
    name,
    ['a', 'b'],
    `CASE WHEN ${IS_LONG} THEN ${TOO_LONG} WHEN ${IS_SLOW} THEN CASE WHEN ${IS_TOO_MANY} THEN ${TOO_MANY} ELSE ${instead} END
      ELSE system.main."${name}"(p.a, p.b) END`,
  );

const refusing = (name: string, any: '%' | '*', ...parameters: string[]) => {
  const message = `At most ${WILDCARDS_MAX} "${any}" may be in a pattern that is computed. Use regexp_matches(text, pattern).`;
  const own = `system.main."${name}"(${parameters.map((one) => `p.${one}`).join(', ')})`;
  return macro(
    name,
    parameters,
    `CASE WHEN ${wildcardsIn(any)} > ${WILDCARDS_MAX} + 1 THEN error('${message}') ELSE ${own} END`,
  );
};

/** Appended to an operator's name: the macro for statements with collations, which regular expressions do not know. */
export const COLLATED = ' COLLATE';

/** Appended to the name of a function: the macro for statements in which its regular expression is computed. */
const COMPUTED = ' COMPUTED';

/** The operator or function that a macro stands for. */
export const operatorOf = (macroName: string): string => macroName.replace(COLLATED, '').replace(COMPUTED, '');

/**
 * Largest regular expression that is computed. The engine compiles it anew for each of 2,048 texts; measured, one of
 * this size takes it about a millisecond.
 */
const EXPRESSION_MAX = 3_000;
/** How many letters a wildcard, a class, an optional part and an escape weigh, and a class of Unicode. */
const WEIGHTS = { special: 10, unicode: 2_500 };

const without = (text: string, marks: string) =>
  `strlen(${text}) - strlen(system.main.translate(${text}, '${marks}', ''))`;
/** The greatest, or the product, of the numbers that follow `before` in the expression; at least 1. */
const numbers = (aggregate: 'list_max' | 'list_product', before: string) =>
  `${aggregate}([1.0] || TRY_CAST(system.main.regexp_extract_all(p.e, '${before}[{](?:[0-9]+,)?0*([1-9][0-9]*)', 1) AS DOUBLE[]))`;
/**
 * SQL for the size of a regular expression. What repeats a single part makes it at most as large as if each part were
 * repeated so often; what repeats a group may stand in a group that is repeated, too.
 */
const EXPRESSION_SIZE = `(strlen(p.e) + ${WEIGHTS.special - 1} * (${without('p.e', '.?[^\\')})
  + ${WEIGHTS.unicode / 2} * (strlen(p.e) - strlen(system.main.replace(system.main.replace(p.e, '\\p', ''), '\\P', ''))))
  * CASE WHEN contains(p.e, '{') THEN ${numbers('list_max', '')} * ${numbers('list_product', '[)}]')} ELSE 1 END`;
/** What most expressions are not, which is sooner told. */
const MAY_BE_LARGE = `strlen(p.e) > ${EXPRESSION_MAX / WEIGHTS.special} OR contains(p.e, '{') OR contains(p.e, '\\p') OR contains(p.e, '\\P')`;
const EXPRESSION_TOO_LARGE = failing(
  `A regular expression that is computed for each row is too large. It may have ${EXPRESSION_MAX} letters, where dots, question marks, square brackets, carets and backslashes count as ${WEIGHTS.special}, classes of Unicode as ${WEIGHTS.unicode}, and numbers in braces multiply all. Write it out, or give it as a parameter, in a statement in which none is computed.`,
  'p.e',
);

const bounded = (parameter: string) =>
  computedOnce(
    { e: parameter },
    `CASE WHEN (${MAY_BE_LARGE}) AND ${EXPRESSION_SIZE} > ${EXPRESSION_MAX} THEN ${EXPRESSION_TOO_LARGE} ELSE p.e END`,
  );

/** The functions with regular expressions, without regexp_replace(). The operators call them, too. */
const REGULAR =
  `regexp_matches regexp_full_match regexp_extract regexp_extract_all regexp_split_to_array string_split_regex
  str_split_regex`.split(/\s+/);

function regular(name: string): string {
  const rests = [[], ['c'], ...(name.startsWith('regexp_extract') ? [['c', 'd']] : [])];
  const overloads = rests.map((rest) => {
    const call = `system.main.${name}(${['a', bounded('e'), ...rest].join(', ')})`;
    return `(${['a', 'e', ...rest].join(', ')}) AS ${call}`;
  });
  return `${name}${overloads.join(', ')}`;
}

const SPLIT_TO_TABLE = 'regexp_split_to_table';

/** Macros that stand in the place of operators and functions: only while a statement runs that needs them. */
export const MATCHING_MACROS: ReadonlyMap<string, string> = new Map([
  ...['~~', '!~~', '~~*', '!~~*'].map((name) => {
    const [, sql] = refusing(name, '%', 'a', 'b');
    return [name + COLLATED, sql] as const;
  }),
  matching('~~', expression(false)),
  matching('!~~', `NOT ${expression(false)}`),
  matching('~~*', expression(true)),
  matching('!~~*', `NOT ${expression(true)}`),
  refusing('~~~', '*', 'a', 'b'),
  ...['like_escape', 'not_like_escape', 'ilike_escape', 'not_ilike_escape'].map((name) =>
    refusing(name, '%', 'a', 'b', 'c'),
  ),
  ...REGULAR.map((name) => [name + COMPUTED, regular(name)] as const),
  [`regexp_replace${COMPUTED}`, `regexp_replace${replacing(bounded('f')).join(', ')}`],
  [SPLIT_TO_TABLE + COMPUTED, `${SPLIT_TO_TABLE}(a, e) AS unnest(system.main.string_split_regex(a, ${bounded('e')}))`],
]);

/** The macro for a call of a function in which its regular expression is computed; undefined if it has none. */
export function computedMacro(name: string): string | undefined {
  return MATCHING_MACROS.has(name + COMPUTED) ? name + COMPUTED : undefined;
}
