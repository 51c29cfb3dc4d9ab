/*
 * LIKE and its relatives with a pattern that is known only for each row. For each `%` with something after it the
 * engine tries every position of the text, nested in the tries for the `%` before: hours for one row.
 *
 * The engine looks operators up by name, so that a macro of an operator's name stands in its place. It leaves what is
 * cheap to the engine, and matches the rest with a regular expression, in time linear in the text's length.
 */

/** Bytes of the longest text in which that many `%` with something after them are cheap to try. */
const TEXT_MAX = { one: 1_000, two: 100 };
/** Wildcards beyond which the tries grow without a bound, however short the text. */
const WILDCARDS_MAX = 3;
/** Longest pattern, in bytes, that may be compared at every position, and most bytes that are compared then. */
const PATTERN_MAX = 100;
const COMPARED_MAX = 100_000_000;

function wildcardsIn(any: '%' | '*'): string {
  return `strlen(b::VARCHAR) - strlen(system.main.replace(b::VARCHAR, '${any}', ''))`;
}

/**
 * SQL for whether the engine might take long. Texts are cast, since the engine itself should say that something is none.
 * The last wildcard may have nothing after it; that it is counted all the same matters only for long texts.
 */
const IS_SLOW = `strlen(b::VARCHAR) > 3 AND ${wildcardsIn('%')} >
    CASE WHEN strlen(a::VARCHAR) > ${TEXT_MAX.one} AND NOT suffix(b::VARCHAR, '%') THEN 1
      WHEN strlen(a::VARCHAR) > ${TEXT_MAX.two} THEN 2 ELSE ${WILDCARDS_MAX} END`;
/** SQL for whether each position of the text might be compared with much of the pattern, whichever way is taken. */
const IS_LONG = `strlen(b::VARCHAR) > ${PATTERN_MAX} AND strlen(a::VARCHAR)::HUGEINT * strlen(b::VARCHAR) > ${COMPARED_MAX}`;

/** What the engine does for ILIKE: it compares the lower case of both. */
function expression(ignoresCase: boolean): string {
  const [text, pattern] = ignoresCase ? ['lower(a)', 'lower(b)'] : ['a::VARCHAR', 'b::VARCHAR'];
  const escaped = `system.main.replace(system.main.replace(regexp_escape(${pattern}), '\\%', '.*'), '_', '.')`;
  return `regexp_full_match(${text}, ${escaped}, 's')`;
}

const TOO_LONG = `error('A pattern of more than ${PATTERN_MAX} bytes that is computed is too long for this text: the product of their lengths may be ${COMPARED_MAX}.')`;

const matching = (name: string, instead: string) =>
  [
    name,
    `"${name}"(a, b) AS CASE WHEN ${IS_LONG} THEN ${TOO_LONG} WHEN ${IS_SLOW} THEN ${instead}
      ELSE system.main."${name}"(a, b) END`,
  ] as const;

const refusing = (name: string, any: '%' | '*', ...parameters: string[]) => {
  const message = `At most ${WILDCARDS_MAX} "${any}" may be in a pattern that is computed. Use regexp_matches(text, pattern).`;
  const own = `system.main."${name}"(${parameters.join(', ')})`;
  const body = `CASE WHEN ${wildcardsIn(any)} > ${WILDCARDS_MAX} + 1 THEN error('${message}') ELSE ${own} END`;
  return [name, `"${name}"(${parameters.join(', ')}) AS ${body}`] as const;
};

/** Macros that stand in the place of operators, by name: only while a statement runs that needs them. */
export const MATCHING_MACROS: ReadonlyMap<string, string> = new Map([
  matching('~~', expression(false)),
  matching('!~~', `NOT ${expression(false)}`),
  matching('~~*', expression(true)),
  matching('!~~*', `NOT ${expression(true)}`),
  refusing('~~~', '*', 'a', 'b'),
  ...['like_escape', 'not_like_escape', 'ilike_escape', 'not_ilike_escape'].map((name) =>
    refusing(name, '%', 'a', 'b', 'c'),
  ),
]);

/** How often such a macro uses an argument. */
export const MATCHING_COPIES = 8;
