import { computedOnce } from '../computed-once.ts';

/**
 * Time formats in the letters of other SQL services.
 *
 * The engine requires a format to be constant, and accepts next to nothing computed in its place. So the letters are
 * translated where the format is a literal in the statement; those that depend on the value or the time zone are marked
 * there and filled in afterwards. A format given in another way, such as a parameter, uses the engine's letters.
 */
const [OPEN, CLOSE] = ['\u0001', '\u0002'];
const MINUTES = "date_diff('minute', timezone('UTC', p.t), timezone(p.z, p.t))";
const two = (number: string) => `right('0' || (${number})::VARCHAR, 2)`;
const offset = (colon: string) =>
  `(CASE WHEN ${MINUTES} < 0 THEN '-' ELSE '+' END || ${two(`abs(${MINUTES}) // 60`)} || '${colon}' || ${two(`abs(${MINUTES}) % 60`)})`;
const LOCAL = 'timezone(p.z, p.t)';

const LETTERS: Readonly<Record<string, string>> = {
  z: offset(''),
  Ez: offset(':'),
  Z: 'p.z',
  s: 'floor(epoch(p.t))::BIGINT::VARCHAR',
  e: `right(' ' || day(${LOCAL})::VARCHAR, 2)`,
  F: `strftime(${LOCAL}, '%Y-%m-%d')`,
  R: `strftime(${LOCAL}, '%H:%M')`,
  D: `strftime(${LOCAL}, '%m/%d/%y')`,
  r: `strftime(${LOCAL}, '%I:%M:%S %p')`,
  'E*S': `strftime(${LOCAL}, '%S.%f')`,
  E6S: `strftime(${LOCAL}, '%S.%f')`,
  E3S: `strftime(${LOCAL}, '%S.%g')`,
};

/** SQL for the text of a moment in a time zone; `f` is the format. */
function formatted(moment: string, zone: string): string {
  const body = Object.entries(LETTERS).reduce(
    (sql, [letter, text]) => `system.main.replace(${sql}, '${OPEN}${letter}${CLOSE}', ${text})`,
    `strftime(${LOCAL}, f)`,
  );
  const checked = `CASE WHEN contains(f, '%z') AND p.z <> 'UTC'
    THEN error('FORMAT_TIMESTAMP: a format with %z must be written out in the SQL.') ELSE ${body} END`;
  return computedOnce({ t: moment, z: zone }, checked);
}

/** Overloads of FORMAT_TIMESTAMP. */
export const FORMAT_TIMESTAMP: string[] = [
  `(f, t) AS ${formatted('t::TIMESTAMPTZ', "'UTC'")}`,
  `(f, t, z) AS ${formatted('t::TIMESTAMPTZ', 'z')}`,
];

/** A macro like FORMAT_DATE, for a type without a time zone. */
export const formatAs = (type: string): string[] => [
  `(f, t) AS ${formatted(`timezone('UTC', t::${type}::TIMESTAMP)`, "'UTC'")}`,
];

/** A macro like PARSE_DATE. The format is used literally, since the engine accepts nothing computed in its place. */
export const parseAs = (type: string): string[] => [`(f, t) AS strptime(t, f)::${type}`];

/** Overloads of FORMAT_TIME. */
export const FORMAT_TIME: string[] = [
  `(f, t) AS ${formatted("timezone('UTC', DATE '1970-01-01' + t::TIME)", "'UTC'")}`,
];

/** Overloads of PARSE_TIMESTAMP. An offset in the text takes precedence over the given time zone. */
export const PARSE_TIMESTAMP: string[] = [
  "(f, t) AS timezone('UTC', strptime(t, f)::TIMESTAMP)",
  "(f, t, z) AS timezone(CASE WHEN regexp_matches(f::VARCHAR, '%[zZ]') THEN 'UTC' ELSE z END, strptime(t, f)::TIMESTAMP)",
];

const PARSED_LETTERS: Readonly<Record<string, string>> = {
  '%F': '%Y-%m-%d',
  '%T': '%H:%M:%S',
  '%R': '%H:%M',
  '%D': '%m/%d/%y',
  '%r': '%I:%M:%S %p',
  '%h': '%b',
  '%e': '%-d',
  '%Ez': '%z',
  '%E4Y': '%Y',
  '%E3S': '%E*S',
  '%E6S': '%E*S',
};

/** An SQL string with an output format, in the engine's letters and with marks. */
export function writtenFormat(literal: string): string {
  return literal.replace(/%(%|Ez|E\*S|E3S|E6S|.)/gs, (whole, letter: string) =>
    Object.hasOwn(LETTERS, letter) ? OPEN + letter + CLOSE : whole,
  );
}

/** An SQL string with a format to parse by, in the engine's letters: a list if seconds may have a fraction. */
export function parseFormat(literal: string): string {
  const plain = literal.replace(/%(?:E4Y|E3S|E6S|Ez|.)/gs, (letter) => PARSED_LETTERS[letter] ?? letter);
  if (!plain.includes('%E*S')) return plain;
  return `[${plain.replaceAll('%E*S', '%S.%f')}, ${plain.replaceAll('%E*S', '%S')}]`;
}
