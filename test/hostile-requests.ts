/*
 * Requests by which somebody with a key that may only read tries to hold the one thread that serves everybody: bodies of
 * `POST /v1/orgs/self/queries`, made anew for each use. What they have in common is the length of something: where work
 * grows faster than the text does, one of them takes seconds.
 */

export interface HostileBody {
  sql: {
    query: string;
    parameters?: { name: string; type?: string; value: unknown }[];
    generate_warnings?: boolean;
  };
}

export type HostileRequest = readonly [name: string, body: () => HostileBody];

/** As long as the text of a statement may be. */
const SQL_CHARS = 256 * 1024;

/** Pieces of text, as many as fit a statement, or `most`. */
function many(piece: string | ((index: number) => string), separator = ', ', most = Number.POSITIVE_INFINITY): string {
  const parts: string[] = [];
  let left = SQL_CHARS - 200;
  for (let index = 0; index < most; index++) {
    const part = typeof piece === 'string' ? piece : piece(index);
    left -= part.length + separator.length;
    if (left < 0) break;
    parts.push(part);
  }
  return parts.join(separator);
}

const fill = (text: string, around = 200) => text.repeat(Math.floor((SQL_CHARS - around) / text.length));
const nested = (before: string, inner: string, after: string, depth: number) =>
  `${before.repeat(depth)}${inner}${after.repeat(depth)}`;

const statement = (query: () => string): (() => HostileBody) => {
  return () => ({ sql: { query: query(), generate_warnings: true } });
};
const value = (type: string, made: () => unknown): (() => HostileBody) => {
  return () => ({
    sql: { query: 'SELECT :a', parameters: [{ name: 'a', type, value: made() }], generate_warnings: true },
  });
};

const names = (count: number, name: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => ({ name: name(index), type: 'int', value: 1 }));

const deepList = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** Values of one parameter. */
const VALUES: HostileRequest[] = [
  ['float: a million digits and a letter', value('float', () => `${'1'.repeat(1_000_000)}x`)],
  ['float: 30,000 digits and a letter', value('float', () => `${'1'.repeat(30_000)}x`)],
  ['float: half a million zeros before digits', value('float', () => `${'0'.repeat(500_000)}${'9'.repeat(300)}`)],
  ['float: digits behind a point', value('float', () => `1.${'1'.repeat(1_000_000)}e`)],
  ['int: a million digits', value('int', () => '1'.repeat(1_000_000))],
  ['int: spaces around a digit', value('int', () => `${' '.repeat(500_000)}1${' '.repeat(500_000)}x`)],
  ['bool: spaces', value('bool', () => ' '.repeat(1_000_000))],
  ['date: spaces', value('date', () => `2026-01-01${' '.repeat(500_000)}x`)],
  ['datetime: spaces behind the date', value('datetime', () => `2026-01-01${' '.repeat(500_000)}x`)],
  ['timestamp: spaces before a zone', value('timestamp', () => `2026-01-01T10:00${' '.repeat(500_000)}x`)],
  ['timestamp: digits of a time', value('timestamp', () => `2026-01-01T${'1:'.repeat(300_000)}x`)],
  ['array: deep, as text', value('array', () => deepList(100_000))],
  ['array: 99,000 items, as text', value('array', () => JSON.stringify(new Array(99_000).fill(7)))],
  ['array: 99,000 texts', value('array', () => new Array(99_000).fill('seven'))],
  [
    'array: 99,000 objects of different keys',
    value('array', () => Array.from({ length: 49_000 }, (_, n) => ({ [`k${n}`]: n }))),
  ],
  [
    'array: 90 levels in each of many',
    value('array', () => JSON.parse(`[${new Array(900).fill(deepList(90)).join()}]`)),
  ],
  ['array: empty lists', value('array', () => new Array(99_000).fill([]))],
  [
    'object: 99,000 keys',
    value('object', () => Object.fromEntries(Array.from({ length: 99_000 }, (_, n) => [`k${n}`, n]))),
  ],
  ['object: deep, as text', value('object', () => `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)],
  ['object: no JSON', value('object', () => '['.repeat(1_000_000))],
  ['no type: mixed lists', value('', () => Array.from({ length: 33_000 }, (_, n) => [n, 'a', n % 2 === 0]))],
  ['no type: a long text', value('', () => 'x'.repeat(1_000_000))],
];

/** Names of many parameters. */
const NAMES: HostileRequest[] = [
  [
    '20,000 parameters whose names differ in letter case',
    () => ({
      sql: {
        query: `SELECT ${many((n) => `:P${n}`, ',', 20_000)}`,
        parameters: names(20_000, (n) => `p${n}`),
      },
    }),
  ],
  [
    '9,000 parameters whose names differ in letter case',
    () => ({
      sql: {
        query: `SELECT 1 WHERE ${many((n) => `:P${n} = 1`, ' OR ', 9_000)}`,
        parameters: names(9_000, (n) => `p${n}`),
      },
    }),
  ],
  [
    '1,000 parameters behind 100,000 unused ones',
    () => ({
      sql: {
        query: `SELECT ${many((n) => `:P${n}`, ',', 1_000)}`,
        parameters: [...names(100_000, (n) => `q${n}`), ...names(1_000, (n) => `p${n}`)],
      },
    }),
  ],
  [
    '9,000 unused parameters beside 5,000 used ones of long names',
    () => ({
      sql: {
        query: `SELECT ${many((n) => `:used_with_a_long_name_${n}`, ',', 5_000)}`,
        parameters: [
          ...names(5_000, (n) => `used_with_a_long_name_${n}`),
          ...names(4_900, (n) => `not_used_with_a_long_name_${n}`),
        ],
        generate_warnings: true,
      },
    }),
  ],
  ['a placeholder for each word', statement(() => `SELECT ${many(':a', ' + ')}`)],
  ['parameters without a value', statement(() => `SELECT ${many((n) => `:p${n}`)}`)],
];

/** Names, spaces and errors. */
const ERRORS: HostileRequest[] = [
  ['a name of 40,000 letters', statement(() => `SELECT ${'z'.repeat(40_000)} FROM orders`)],
  ['a name of 200,000 letters', statement(() => `SELECT ${'z'.repeat(200_000)} FROM orders`)],
  ['a name of 200,000 letters in quotes', statement(() => `SELECT "${'z'.repeat(200_000)}" FROM orders`)],
  ['40,000 spaces in an IN', statement(() => `SELECT 1 WHERE 1 in(${' '.repeat(40_000)}(1)) OR "zz"`)],
  ['250,000 spaces in an IN', statement(() => `SELECT 1 WHERE 1 in(${fill(' ')}(1)) OR "zz"`)],
  ['spaces before a missing name', statement(() => `SELECT 1 WHERE 1 =${fill(' ')}"zz"`)],
  ['words before a missing name', statement(() => `SELECT ${many('a', ' ', 1)}, ${many((n) => `1 AS a${n}`)}, zz`)],
  ['colons before a missing name', statement(() => `SELECT ${many((n) => `a${n}: 1`)}, zz`)],
  ['a name many times, in quotes', statement(() => `SELECT ${many('"zz"')}`)],
  ['a text subtracted from a long name', statement(() => `SELECT "${fill('a')}" - 'x'`)],
  ['dots of a name', statement(() => `SELECT ${many('a', '.')}`)],
  ['dots of a name behind an operator', statement(() => `SELECT 'x' - ${many('a', '.')}`)],
  ['a function of a long name', statement(() => `SELECT ${fill('f')}(1)`)],
  ['a collection of a long name', statement(() => `SELECT * FROM ${fill('f')}`)],
  ['30,000 collections that are not there', statement(() => `SELECT * FROM ${many((n) => `t${n}`)}`)],
  ['collections that are not there, in subqueries', statement(() => `SELECT ${many((n) => `(SELECT 1 FROM t${n})`)}`)],
  ['a syntax error at the end', statement(() => `SELECT ${many('1')} FROM WHERE`)],
  ['a syntax error at the end, with line breaks', statement(() => `SELECT ${many('1', ',\n')} FROM WHERE`)],
  ['text subtracted, with line breaks', statement(() => `SELECT ${many("'a'", ',\n')}, 'a' - DATE '2026-01-01' - 'b'`)],
  ['second statements', statement(() => many('SELECT 1', ';'))],
  ['another statement', statement(() => `CREATE TABLE t AS SELECT ${many('1')}`)],
  ['BETWEEN SYMMETRIC', statement(() => `SELECT ${many('1 BETWEEN SYMMETRIC 2 AND 3')}`)],
  ['an inner name without end', statement(() => `SELECT '${fill('_colloquy."""')}' AS x, '_colloquy'`)],
  ['inner names as columns', statement(() => `SELECT ${many((n) => `1 AS "_colloquy.""a${n}"`)}`)],
  ['a number too large', statement(() => `SELECT ${fill('9')}`)],
  ['a cast that fails, of a long text', statement(() => `SELECT CAST('${fill('a')}' AS INT)`)],
  ['error() with a text like a plan', statement(() => `SELECT error('${fill('│_data │')}')`)],
  ['error() with a text like our names', statement(() => `SELECT error('${fill('_data."x')}')`)],
  [
    'error() with a text like a candidate list',
    statement(() => `SELECT error('No function matches JSON ${fill('\n\tf(', 300)}')`),
  ],
];

/** Text that the lexer reads. */
const TEXT: HostileRequest[] = [
  ['quotes', statement(() => `SELECT ${fill("'")}`)],
  ['an open quote of many', statement(() => `SELECT '${fill("''")}`)],
  ['double quotes', statement(() => `SELECT ${fill('"')}`)],
  ['backticks', statement(() => `SELECT ${fill('`')}`)],
  ['pairs of backticks', statement(() => `SELECT ${many('`a`', ' ')}`)],
  ['dollars', statement(() => `SELECT ${fill('$')}`)],
  ['dollar tags without end', statement(() => `SELECT ${many((n) => `$t${n}$`, ' ')}`)],
  ['comments without end', statement(() => `SELECT ${fill('/*')}`)],
  ['line comments', statement(() => `SELECT 1 ${fill('--\n')}`)],
  ['dashes', statement(() => `SELECT 1 ${fill('-')}`)],
  ['spaces and a letter', statement(() => `SELECT 1${fill(' \n')}x y`)],
  ['strings in pieces', statement(() => `SELECT ${many("'a'", '\n')}`)],
  ['escapes', statement(() => `SELECT e'${fill('\\\\')}`)],
  ['wide spaces', statement(() => `SELECT${fill('\u00a0')}1`)],
  ['underscores and digits', statement(() => `SELECT 1${fill('_1')}`)],
  ['points', statement(() => `SELECT ${fill('1.')}`)],
  ['colons', statement(() => `SELECT ${fill(':')}`)],
  ['open brackets', statement(() => `SELECT ${fill('(')}`)],
  ['closing brackets', statement(() => `SELECT ${fill(')')}`)],
  ['brackets in pairs', statement(() => `SELECT ${fill('()')}`)],
];

/** Forms of other services, which our own reading of the text rewrites. */
const FORMS: HostileRequest[] = [
  ['VALUES within VALUES', statement(() => `SELECT ${fill('values(')}`)],
  ['200 levels of VALUES', statement(() => `SELECT ${nested('values(', many('1', ',', 50_000), ')', 200)}`)],
  ['VALUES beside VALUES', statement(() => `SELECT ${many('values(a)')}`)],
  ['UNNEST within UNNEST', statement(() => `SELECT ${fill('unnest(')}`)],
  ['UNNEST beside UNNEST', statement(() => `SELECT 1 FROM ${many((n) => `unnest([1]) u${n}`)}`)],
  ['UNNEST with names', statement(() => `SELECT 1 FROM ${many((n) => `unnest([1] AS x, [2] AS y) u${n}`)}`)],
  ['one UNNEST of many lists', statement(() => `SELECT 1 FROM unnest(${many((n) => `[1] AS x${n}`)})`)],
  ['COUNT_IF within COUNT_IF', statement(() => `SELECT ${fill('count_if(')}`)],
  ['COUNT_IF beside COUNT_IF', statement(() => `SELECT ${many('count_if(true)')}`)],
  ['OBJECT within OBJECT', statement(() => `SELECT ${fill('object([')}`)],
  ['ARRAY_CREATE within ARRAY_CREATE', statement(() => `SELECT ${fill('array_create(')}`)],
  ['ARRAY_CREATE beside ARRAY_CREATE', statement(() => `SELECT ${many("array_create(1, 'a')")}`)],
  ['EXCEPT', statement(() => `SELECT * except ${many('* except (a)', ' ')}`)],
  ['formats of times', statement(() => `SELECT ${many("parse_date('%Y', '2026')")}`)],
  ['IS UNDEFINED', statement(() => `SELECT ${many('1 IS UNDEFINED')}`)],
];

/** Statements of many parts, for the gate. */
const PARTS: HostileRequest[] = [
  ['14,000 LIKEs', statement(() => `SELECT 1 WHERE ${many("'a' LIKE 'b'", ' OR ', 14_000)}`)],
  ['LIKEs to rewrite', statement(() => `SELECT 1 WHERE ${many("'a' LIKE '%a_%b_%c'", ' OR ')}`)],
  ['ILIKEs to rewrite', statement(() => `SELECT 1 WHERE ${many("'a' ILIKE '%a%b%c'", ' OR ')}`)],
  ['LIKE of a long pattern', statement(() => `SELECT 'a' ILIKE '%a%b${fill('ä')}'`)],
  ['a long IN', statement(() => `SELECT 1 WHERE 1 IN (${many('7', ',')})`)],
  ['INs', statement(() => `SELECT 1 WHERE ${many('1 IN (1,2)', ' OR ')}`)],
  ['a long list', statement(() => `SELECT [${many('7', ',')}]`)],
  ['lists in a list', statement(() => `SELECT [${many('[7]', ',')}]`)],
  ['structs in a list', statement(() => `SELECT [${many("{'a':1}", ',')}]`)],
  ['structs of different fields', statement(() => `SELECT [${many((n) => `{'a${n}':1}`, ',')}]`)],
  ['structs in structs', statement(() => `SELECT ${nested("{'a': ", many('1', ' + ', 50_000), '}', 200)}`)],
  ['structs 60 deep in a list', statement(() => `SELECT [${many(nested("{'a': ", '1', '}', 60))}]`)],
  ['lists in lists', statement(() => `SELECT ${nested('[', many("{'a':1}", ',', 20_000), ']', 200)}`)],
  ['columns', statement(() => `SELECT ${many('1', ',')}`)],
  ['columns of names', statement(() => `SELECT ${many((n) => `1 a${n}`, ',')}`)],
  ['names of earlier columns', statement(() => `SELECT 1 a, ${many('a', ',')}`)],
  [
    'columns of names, and subqueries',
    statement(() => `SELECT ${many((n) => `1 a${n}`, ',', 15_000)}, ${many('(SELECT 1)', ',', 400)}`),
  ],
  ['subqueries', statement(() => `SELECT ${many('(SELECT 1)', ',')}`)],
  ['WITHs', statement(() => `WITH ${many((n) => `t${n} AS (SELECT 1)`)} SELECT 1`)],
  ['UNIONs', statement(() => many('SELECT 1', ' UNION ALL '))],
  ['490 UNIONs of many columns', statement(() => many(`SELECT ${'1,'.repeat(100)}1`, ' UNION ALL ', 490))],
  ['CASE branches', statement(() => `SELECT CASE ${many('WHEN 1=1 THEN 1', ' ')} END`)],
  ['CASE of an operand', statement(() => `SELECT CASE 1 ${many('WHEN 1 THEN 1', ' ')} END`)],
  ['CASE in CASE', statement(() => `SELECT ${nested('CASE WHEN true THEN ', '1', ' END', 5_000)}`)],
  ['brackets 240 deep, often', statement(() => `SELECT ${many(nested('(', '1', ')', 240))}`)],
  ['NOTs', statement(() => `SELECT ${fill('NOT ')}true`)],
  ['minus signs', statement(() => `SELECT ${fill('- ')}1`)],
  ['a sum', statement(() => `SELECT ${many('1', '+')}`)],
  ['a product of names', statement(() => `SELECT ${many('x', '*')} FROM (SELECT 1 x)`)],
  ['ANDs', statement(() => `SELECT ${many('true', ' AND ')}`)],
  ['casts', statement(() => `SELECT 1${fill('::INT')}`)],
  ['subscripts', statement(() => `SELECT x${fill('[1]')}`)],
  ['function calls in each other', statement(() => `SELECT ${nested('abs(', '1', ')', 240)}`)],
  ['function calls', statement(() => `SELECT ${many('abs(1)')}`)],
  ['arguments', statement(() => `SELECT coalesce(${many('1', ',')})`)],
  [
    'arguments that are JSON',
    statement(() => `SELECT coalesce(${many('mixed', ',')}) > 1, greatest(${'mixed,'.repeat(10)}1) FROM orders`),
  ],
  [
    'list functions of lists that are JSON',
    statement(
      () => `SELECT ${nested('list_sort(', `list_concat(${many('mixed', ',', 30_000)})`, ')', 200)} FROM orders`,
    ),
  ],
  ['columns of a collection', statement(() => `SELECT ${many('n', ',')} FROM orders`)],
  ['stars', statement(() => `SELECT ${many('*', ',')} FROM orders`)],
  ['COLUMNS', statement(() => `SELECT ${many('columns(*)', ',')} FROM orders`)],
  [
    'COLUMNS with a pattern that backtracks',
    statement(() => `SELECT max(columns('^(m+i*x*e*d*)+(m+i*x*e*d*)+(.+)+$x')) FROM orders`),
  ],
  ['names with a workspace', statement(() => `SELECT ${many('commons.orders.n', ',')} FROM commons.orders`)],
  ['windows', statement(() => `SELECT ${many('sum(1) OVER ()', ',')}`)],
  ['a window by name', statement(() => `SELECT ${many('sum(1) OVER w', ',', 3_000)} WINDOW w AS (ORDER BY 1)`)],
  ['lambdas', statement(() => `SELECT ${many('list_transform([1], lambda x: x)', ',')}`)],
  ['joins', statement(() => `SELECT 1 FROM ${many((n) => `(SELECT 1) t${n}`, ' CROSS JOIN ')}`)],
  ['rows of VALUES', statement(() => `SELECT * FROM (VALUES ${many('(1)', ',')})`)],
  ['GROUP BY', statement(() => `SELECT 1 GROUP BY ${many((n) => `${n}`, ',')}`)],
  ['GROUPING SETS', statement(() => `SELECT 1 FROM (SELECT 1 a) GROUP BY GROUPING SETS (${many('(a)', ',')})`)],
  ['GROUP BY, again and again', statement(() => `SELECT 1 ${many('GROUP BY 1', ' ')}`)],
  [
    'GROUP BY in GROUP BY',
    statement(() => `SELECT 1 ${nested('GROUP BY (SELECT 1 ', '', ')', 200)} GROUP BY ${many('(1)', ',', 400)}`),
  ],
  [
    'CUBE',
    statement(
      () =>
        `SELECT 1 FROM orders GROUP BY CUBE(${many((n) => `n + ${n}`, ', ', 14)}), ${many((n) => `n - ${n}`, ', ', 3_000)}`,
    ),
  ],
  ['ORDER BY', statement(() => `SELECT 1 a ORDER BY ${many('a', ',')}`)],
  ['PIVOT', statement(() => `PIVOT (SELECT 1 a) ON a IN (${many((n) => `${n}`, ',')}) USING sum(a)`)],
  ['renamed functions', statement(() => `SELECT ${many('array_agg(1)', ',')}, ${many('ucase(1)', ',', 2_000)}`)],
  ['EXPLAIN', statement(() => `EXPLAIN SELECT ${many('1', ',', 20_000)}`)],
];

export const HOSTILE_REQUESTS: readonly HostileRequest[] = [
  ...VALUES,
  ...NAMES,
  ...ERRORS,
  ...TEXT,
  ...FORMS,
  ...PARTS,
];
