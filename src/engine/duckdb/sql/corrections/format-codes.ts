/** Formats of times in other SQL dialects, and the codes of `strftime` and `strptime`; the longer ones first. */
type Codes = readonly (readonly [RegExp, string])[];

/** PostgreSQL, Oracle, Snowflake: in any letter case; what is in quotes stands for itself. */
const SQL_CODES: Codes = [
  [/^"[^"]*"/, ''],
  [/^YYYY/i, '%Y'],
  [/^YY/i, '%y'],
  [/^MONTH/i, '%B'],
  [/^MON/i, '%b'],
  [/^MM/i, '%m'],
  [/^MI/i, '%M'],
  [/^DAY/i, '%A'],
  [/^DY/i, '%a'],
  [/^DD(?!D)/i, '%d'],
  [/^HH24/i, '%H'],
  [/^HH(?:12)?/i, '%I'],
  [/^SS(?!S)/i, '%S'],
  [/^[AP]M/i, '%p'],
];
/** Java and Spark. */
const JAVA_CODES: Codes = [
  [/^'[^']*'/, ''],
  [/^(?:yyyy|YYYY|uuuu)/, '%Y'],
  [/^(?:yy|YY)/, '%y'],
  [/^MMMM/, '%B'],
  [/^MMM/, '%b'],
  [/^MM/, '%m'],
  [/^mm/, '%M'],
  [/^dd/, '%d'],
  [/^HH/, '%H'],
  [/^hh/, '%I'],
  [/^ss/, '%S'],
  [/^EEEE/, '%A'],
  [/^E{1,3}/, '%a'],
  [/^a/, '%p'],
];
/** MySQL, by the letter behind `%`; without `%u`, whose first week has four days of the year, that of `%W` here a Monday. */
const MYSQL_CODES: ReadonlyMap<string, string> = new Map([
  ...['%a', '%b', '%d', '%f', '%H', '%I', '%j', '%m', '%p', '%S', '%U', '%w', '%Y', '%y', '%%'].map(
    (code): [string, string] => [code, code],
  ),
  ['%c', '%-m'],
  ['%e', '%-d'],
  ['%h', '%I'],
  ['%i', '%M'],
  ['%k', '%-H'],
  ['%l', '%-I'],
  ['%M', '%B'],
  ['%r', '%I:%M:%S %p'],
  ['%s', '%S'],
  ['%T', '%H:%M:%S'],
  ['%v', '%V'],
  ['%W', '%A'],
  ['%x', '%G'],
]);

/** Functions whose formats are MySQL's, or else Java's. */
const NOT_SQL: ReadonlySet<string> = new Set(['date_format', 'str_to_date']);

/**
 * The format of a call, as the SQL of a text, in the engine's own form; undefined: it is none, or has other codes. Spark calls
 * `to_date` too: it is Java's format where days or years in small letters are beside months or hours in capital ones.
 */
export function formatHere(name: string, text: string): string | undefined {
  if (!/^'(?:[^']|'')*'$/.test(text)) return undefined;
  const format = text.slice(1, -1).replaceAll("''", "'");
  const isJava = NOT_SQL.has(name) || (/yy|dd/.test(format) && /MM|HH/.test(format) && !/HH24|HH12|MI/.test(format));
  const here = format.includes('%') ? fromMysql(format) : fromCodes(format, isJava ? JAVA_CODES : SQL_CODES);
  return here === undefined ? undefined : `'${here.replaceAll("'", "''")}'`;
}

function fromMysql(format: string): string | undefined {
  let isKnown = true;
  const here = format.replace(/%(?:.|$)/g, (code) => {
    const own = MYSQL_CODES.get(code);
    if (own === undefined) isKnown = false;
    return own ?? code;
  });
  return isKnown ? here : undefined;
}

function fromCodes(format: string, codes: Codes): string | undefined {
  let here = '';
  for (let left = format; left !== ''; ) {
    const found = codes.find(([pattern]) => pattern.test(left));
    const [word] = found?.[0].exec(left) ?? [left[0] ?? ''];
    if (found === undefined && /[A-Za-z]/.test(word)) return undefined;
    here += found?.[1] || word.replace(/^["'](.*)["']$/, '$1');
    left = left.slice(word.length);
  }
  return here;
}
