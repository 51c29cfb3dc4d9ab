import { computedOnce } from './computed-once.ts';

/*
 * LIKE and its relatives with a pattern that is known only for each row. For each `%` with something after it the
 * engine tries every position of the text, nested in the tries for the `%` before: hours for one row.
 *
 * The engine looks operators up by name, so that a macro of an operator's name stands in its place. It leaves what is
 * cheap to the engine, and matches the rest with a regular expression, in time linear in the text's length.
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

/** The operator that a macro stands for. */
export const operatorOf = (macroName: string): string => macroName.replace(COLLATED, '');

/** Macros that stand in the place of operators: only while a statement runs that needs them. */
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
]);
