import { computedOnce } from './computed-once.ts';
import { seen } from './without-nulls.ts';

/**
 * Functions of which a single call can end the process; each is shadowed by a macro of the same name that checks the
 * arguments first.
 *
 * These are functions that recurse into JSON without a limit of their own, so that deeply nested text overflows the
 * stack, and functions whose value can be as large as a number says, or whose time is the product of the sizes of two
 * arguments. The engine does not count such values against its memory limit, and cannot be interrupted inside one, so
 * that `repeat('x', 2e9)` would end the process.
 */

/*
 * The engine checks whether to stop only between two vectors of 2,048 rows. So the cost of one row is limited, as far
 * as honest queries allow, since it occurs 2,048 times.
 */

/**
 * Maximum items of a list that these functions make. Large, since dates or numbers to join with are many but made in
 * one row.
 */
const ITEMS_MAX = 100_000;
/** Maximum bytes of a text, and items of a list, made by padding or repeating. */
const FILLED_MAX = 10_000;
/** Maximum bins of a histogram; each takes about a microsecond. */
const BINS_MAX = 1_000;
/** Maximum bytes of a text that replacing has made longer than its input. */
const REPLACED_MAX = 16 * 1024 * 1024;

/**
 * Maximum brackets in a JSON value that is walked recursively: even at the greatest possible depth it fits the stack.
 */
const BRACKETS_MAX = 3_000;

interface Guard {
  name: string;
  /** How the error message describes the limit. */
  limit: string;
  /** Parameters, with types where needed to tell the overloads apart, and when the value would be too large. */
  overloads: Overload[];
}

interface Overload {
  parameters: string[];
  isTooLarge: string;
  /** Parameters that `isTooLarge` does not use and that must stay as written: constants are faster, or required. */
  asWritten?: string[];
  /** Default: the engine's function with all parameters. */
  call?: string;
}

const ITEMS = [
  { parameters: ['a BIGINT'], isTooLarge: `p.a > ${ITEMS_MAX}` },
  { parameters: ['a BIGINT', 'b BIGINT'], isTooLarge: `p.b::HUGEINT - p.a > ${ITEMS_MAX}` },
  { parameters: ['a BIGINT', 'b BIGINT', 'c BIGINT'], isTooLarge: `(p.b::HUGEINT - p.a) // p.c > ${ITEMS_MAX}` },
  ...['TIMESTAMP', 'TIMESTAMPTZ'].map((type) => ({
    parameters: [`a ${type}`, `b ${type}`, 'c INTERVAL'],
    isTooLarge: `abs((epoch(p.b) - epoch(p.a)) / epoch(p.c)) > ${ITEMS_MAX}`,
  })),
];
const PADDED = [{ parameters: ['s', 'n', 'c'], isTooLarge: `p.n > ${FILLED_MAX}` }];
const RESIZED = [
  { parameters: ['l', 'n'], isTooLarge: `p.n > ${FILLED_MAX}` },
  { parameters: ['l', 'n', 'v'], isTooLarge: `p.n > ${FILLED_MAX}` },
];

/** SQL that counts opening brackets: nesting cannot be deeper than their number. */
function bracketsOf(parameter: string): string {
  const text = `p.${parameter}::VARCHAR`;
  return `strlen(${text}) - strlen(system.main.replace(system.main.replace(${text}, '[', ''), '{', ''))`;
}

function walked(...parameters: string[]) {
  return { parameters, isTooLarge: parameters.map((one) => `${bracketsOf(one)} > ${BRACKETS_MAX}`).join(' OR ') };
}

function seenBy(name: string, value: string, ...rest: string[]) {
  const others = rest.map((one) => `, p.${one}`).join('');
  return {
    ...walked(value, ...rest),
    call: seen(`p.${value}`, (json) => `system.main.${name}(${json}${others})`),
  };
}

/**
 * Options of regexp_replace, with their letters in order. The engine requires a constant, even when a macro is created.
 */
const REGEXP_OPTIONS = ['', ...'g i s gi gs is gis l gl m gm im gim c cg'.split(' ')];
const replaceByOptions = (
  expression: string,
) => `CASE array_to_string(list_sort(list_distinct(string_split(o, ''))), '')
  ${REGEXP_OPTIONS.map((options) => `WHEN '${options}' THEN system.main.regexp_replace(p.s, ${expression}, p.t, '${options}')`).join(' ')}
  ELSE error('regexp_replace(): the options "' || o || '" are not available. Use "g", "i", "s", "l", "m" or "c".') END`;
/** Maximum bytes of one replacement: each reference to a group may insert the whole text. */
const REPLACEMENT = `(strlen(p.t)::HUGEINT + (strlen(p.t) - strlen(system.main.replace(p.t, '\\', ''))) * strlen(p.s))`;

/** `expression`: SQL for the regular expression `f`. */
function replaceGuard(expression: string): Guard {
  return {
    name: 'regexp_replace',
    limit: `${REPLACED_MAX} bytes`,
    overloads: [
      // As in other SQL services: all matches are replaced, and without a replacement removed.
      {
        parameters: ['s', 'f'],
        asWritten: ['f'],
        isTooLarge: 'false',
        call: `system.main.regexp_replace(p.s, ${expression}, '', 'g')`,
      },
      {
        parameters: ['s', 'f', 't'],
        asWritten: ['f'],
        isTooLarge: `strlen(p.s) + (strlen(p.s) + 1) * ${REPLACEMENT} > ${REPLACED_MAX}`,
        call: `system.main.regexp_replace(p.s, ${expression}, p.t, 'g')`,
      },
      {
        // A pattern may match between any two characters.
        parameters: ['s', 'f', 't', 'o'],
        asWritten: ['f', 'o'],
        isTooLarge: `strlen(p.s) + (CASE WHEN contains(o, 'g') THEN strlen(p.s) + 1 ELSE 1 END) * ${REPLACEMENT} > ${REPLACED_MAX}`,
        call: replaceByOptions(expression),
      },
    ],
  };
}

const FILLED = `${FILLED_MAX} bytes or items`;

const GUARDS: Guard[] = [
  // They see a value without its members that are null. Each line of json_pretty is indented by its depth, so deep
  // values become large.
  { name: 'json_pretty', limit: `${BRACKETS_MAX} brackets`, overloads: [seenBy('json_pretty', 'a')] },
  { name: 'json_structure', limit: `${BRACKETS_MAX} brackets`, overloads: [seenBy('json_structure', 'a')] },
  { name: 'json_contains', limit: `${BRACKETS_MAX} brackets`, overloads: [seenBy('json_contains', 'a', 'b')] },
  {
    name: 'json_merge_patch',
    limit: `${BRACKETS_MAX} brackets`,
    overloads: [walked('a', 'b'), walked('a', 'b', 'c'), walked('a', 'b', 'c', 'd')],
  },
  {
    name: 'repeat',
    limit: FILLED,
    overloads: [{ parameters: ['s', 'n'], isTooLarge: `strlen(p.s::VARCHAR)::HUGEINT * p.n > ${FILLED_MAX}` }],
  },
  { name: 'range', limit: `${ITEMS_MAX} items`, overloads: ITEMS },
  { name: 'generate_series', limit: `${ITEMS_MAX} items`, overloads: ITEMS },
  { name: 'lpad', limit: FILLED, overloads: PADDED },
  { name: 'rpad', limit: FILLED, overloads: PADDED },
  { name: 'list_resize', limit: FILLED, overloads: RESIZED },
  { name: 'array_resize', limit: FILLED, overloads: RESIZED },
  {
    name: 'equi_width_bins',
    limit: `${BINS_MAX} bins`,
    overloads: [{ parameters: ['a', 'b', 'n', 'r'], isTooLarge: `p.n > ${BINS_MAX}` }],
  },
  {
    name: 'bitstring',
    limit: FILLED,
    overloads: [{ parameters: ['s', 'n'], isTooLarge: `p.n > ${FILLED_MAX}` }],
  },
  {
    name: 'replace',
    limit: `${REPLACED_MAX} bytes`,
    overloads: [
      { parameters: ['s', 'f'], isTooLarge: 'false', call: "system.main.replace(p.s, p.f, '')" },
      {
        parameters: ['s', 'f', 't'],
        isTooLarge: `strlen(p.t) > strlen(p.f) AND strlen(p.s)::HUGEINT // system.main.greatest(strlen(p.f), 1) * strlen(p.t) > ${REPLACED_MAX}`,
      },
    ],
  },
  // Their time, and the memory of damerau_levenshtein, is the product of the two lengths.
  ...['levenshtein', 'editdist3', 'damerau_levenshtein'].map((name) => ({
    name,
    limit: 'two texts of 500 bytes each',
    overloads: [{ parameters: ['a', 'b'], isTooLarge: 'strlen(p.a)::HUGEINT * strlen(p.b) > 250000' }],
  })),
  replaceGuard('f'),
];

/** Maximum bytes of the letters that translate() looks for: it sorts them anew for each row. */
const LETTERS_MAX = 4_000;

/**
 * SQL that fails with a message, in an expression of `parameter`: one with error() would not be a constant to the engine
 * where its parameters are.
 */
export const failing = (message: string, parameter: string): string =>
  `system.main.regexp_matches('', '(${message}' || left(${parameter}, 0))::VARCHAR`;

const translateSql = `(s, f, t) AS system.main.translate(s, ${computedOnce(
  ['f'],
  `CASE WHEN strlen(p.f) > ${LETTERS_MAX} THEN ${failing(`translate(): the value is too large; the limit is ${LETTERS_MAX} bytes of letters.`, 'p.f')} ELSE p.f END`,
)}, t)`;

/** Functions that may be called only by their plain names, so that the macro is what is called. */
export const GUARDED_FUNCTIONS: ReadonlySet<string> = new Set([...GUARDS.map(({ name }) => name), 'translate']);

function overloadsOf({ name, overloads, limit }: Guard): string[] {
  return overloads.map(({ parameters, isTooLarge, asWritten = [], call: given }) => {
    const names = parameters.map((parameter) => parameter.split(' ')[0] ?? '');
    // Computed once: an argument that changes from call to call could pass the check with one value and run with
    // another.
    const checked = names.filter((field) => !asWritten.includes(field));
    const call = given ?? `system.main.${name}(${names.map((field) => `p.${field}`).join(', ')})`;
    const message = `${name}(): the value is too large or too deep; the limit is ${limit}.`;
    const body = `CASE WHEN ${isTooLarge} THEN error('${message}') ELSE ${call} END`;
    return `(${parameters.join(', ')}) AS ${computedOnce(checked, body)}`;
  });
}

/** The macro regexp_replace() with this SQL for its regular expression, which is its parameter `f`. */
export const replacing = (expression: string): string[] => overloadsOf(replaceGuard(expression));

/** The time of each step of json_tree() grows with the square of its input: two seconds for this many. */
const TREE_BRACKETS_MAX = 20_000;

function treeBody(...rest: string[]): string {
  const message = `json_tree(): the value is too large or too deep; the limit is ${TREE_BRACKETS_MAX} brackets.`;
  const checked = `CASE WHEN ${bracketsOf('j')} > ${TREE_BRACKETS_MAX} THEN error('${message}') ELSE ${seen('p.j', (json) => `CAST(${json} AS JSON)`)} END`;
  const given = [computedOnce(['j'], checked), ...rest].join(', ');
  return `(${['j', ...rest].join(', ')}) AS TABLE (SELECT * FROM system.main.json_tree(${given}))`;
}

/** Table functions that may be called only by their plain names. */
export const GUARDED_TABLE_FUNCTIONS: ReadonlySet<string> = new Set(['json_tree']);

/**
 * A macro that returns its argument. Wherever it is used the engine looks whether to stop, and fails if so: sleep_ms is
 * the one function that looks, and not for every value, since that takes longer than most expressions.
 */
export const STOPPABLE = 'stoppable_';
const STOPPABLE_SQL = '(v) AS CASE WHEN random() < 0.001 AND sleep_ms(0) IS NOT NULL THEN NULL ELSE v END';

/** A macro for the offset of lag() and lead(), which the engine adds to the number of a row in 64 bits. */
export const OFFSET = 'offset_';
const OFFSET_SQL = '(v) AS v::INTEGER';

/** By name in lower case: parameters with AS and the expression, one for each number of arguments. */
export const GUARD_MACROS: ReadonlyMap<string, readonly string[]> = new Map([
  [STOPPABLE, [STOPPABLE_SQL]],
  [OFFSET, [OFFSET_SQL]],
  ...GUARDS.map((guard) => [guard.name, overloadsOf(guard)] as const),
  ['translate', [translateSql]],
  ['json_tree', [treeBody(), treeBody('path')]],
]);
