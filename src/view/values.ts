/** What a column contains, as far as sorting, filtering and drawing are concerned. */
export type Kind = 'number' | 'time' | 'boolean' | 'text' | 'nested';

const NUMBER_TYPE = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|REAL|DECIMAL(\(.*\))?|BIGNUM)$/i;
const TIME_TYPE = /^(TIMESTAMP|DATE$|DATETIME)/i;
const NESTED_TYPE = /^(STRUCT\(|MAP\(|UNION\(|JSON$|object$|array$)|\]$/i;
const NUMERAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const ISO_TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/;

/** The kind of a column by the name of its type or, without one, by its values. */
export function kindOf(type: string | null, values: Iterable<unknown>): Kind {
  if (type === null || type === '') return kindOfValues(values) ?? 'text';
  if (NUMBER_TYPE.test(type)) return 'number';
  if (TIME_TYPE.test(type)) return 'time';
  if (/^bool/i.test(type)) return 'boolean';
  return NESTED_TYPE.test(type) ? 'nested' : 'text';
}

/** The kind that all values except NULL have; undefined if there are none. */
export function kindOfValues(values: Iterable<unknown>): Kind | undefined {
  let kind: Kind | undefined;
  for (const value of values) {
    if (value === null || value === undefined) continue;
    const one = kindOfValue(value);
    if (kind !== undefined && kind !== one) return 'text';
    kind = one;
  }
  return kind;
}

function kindOfValue(value: unknown): Kind {
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'object') return 'nested';
  return ISO_TIME.test(String(value)) ? 'time' : 'text';
}

/** A number, or a text that is one, as a double; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !NUMERAL.test(value)) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** An ISO-8601 text in milliseconds since 1970; without a zone, it counts as UTC. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'string' || !ISO_TIME.test(value)) return undefined;
  const hasZone = /(Z|[+-]\d\d(:?\d\d)?)$/.test(value.slice(10));
  const iso = value.replace(' ', 'T').replace(/([+-]\d\d)$/, (zone, _, at: number) => (at > 10 ? `${zone}:00` : zone));
  const time = Date.parse(hasZone || iso.length === 10 ? iso : `${iso}Z`);
  return Number.isNaN(time) ? undefined : time;
}

/** A decimal number as an integer and a power of ten: 12.50 is 1250 of 10^-2. */
function decimalOf(text: string): { digits: bigint; scale: number } | undefined {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = BigInt(`${whole}${fraction}` || '0');
  return { digits: sign === '-' ? -digits : digits, scale: fraction.length - Number(exponent) };
}

/** Compares two numbers exactly, even those given as text because a double cannot represent them. NaN comes last. */
export function compareNumbers(a: unknown, b: unknown): number {
  const [left, right] = [Number(a), Number(b)];
  if (Number.isNaN(left) || Number.isNaN(right)) return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
  if (left !== right) return left < right ? -1 : 1;
  if (typeof a === 'number' && typeof b === 'number') return 0;
  const [exactA, exactB] = [decimalOf(String(a)), decimalOf(String(b))];
  if (exactA === undefined || exactB === undefined) return 0;
  const scale = Math.max(exactA.scale, exactB.scale);
  const scaled = (one: { digits: bigint; scale: number }) => one.digits * 10n ** BigInt(scale - one.scale);
  const difference = scaled(exactA) - scaled(exactB);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Compares two values of a kind, which must not be NULL; texts first without letter case, then with it. */
export function compareValues(kind: Kind, a: unknown, b: unknown): number {
  if (kind === 'number') return compareNumbers(a, b);
  const [left, right] = [plainText(a), plainText(b)];
  if (kind === 'time') return (timeOf(a) ?? 0) - (timeOf(b) ?? 0) || compareTexts(left, right);
  return compareTexts(left.toLowerCase(), right.toLowerCase()) || compareTexts(left, right);
}

/** A value as text on one line; NULL is the empty text. */
export function plainText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export function isNumeral(text: string): boolean {
  return NUMERAL.test(text.trim());
}
