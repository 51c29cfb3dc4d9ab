/*
 * What is not seen in a text: spaces around it, characters without width, and which of two forms of Unicode it has; and what
 * makes one of texts that differ in that, in their letter case or in zeros before them.
 */

/** Characters without width, and those that look like a space. */
const WIDTHLESS = /[\u00ad\u200b-\u200f\u2060\ufeff]/g;
const SPACES = /[\u00a0\u2007\u202f]/g;

/** A text without what is not seen in it. */
export const plainText = (text: string): string =>
  text.normalize('NFC').replace(WIDTHLESS, '').replace(SPACES, ' ').trim();

/** SQL for the same. */
export function plainSql(x: string): string {
  const spaced = `regexp_replace(nfc_normalize(${x}), '[\\x{A0}\\x{2007}\\x{202F}]', ' ', 'g')`;
  const visible = `regexp_replace(${spaced}, '[\\x{AD}\\x{200B}-\\x{200F}\\x{2060}\\x{FEFF}]', '', 'g')`;
  return `regexp_replace(${visible}, '^\\s+|\\s+$', '', 'g')`;
}

/** Without the zeros before a number. */
function zerosOff(text: string): string {
  let start = 0;
  while (text[start] === '0' && DIGIT.test(text[start + 1] ?? '')) start += 1;
  return text.slice(start);
}

const DIGIT = /^[0-9]$/;

/** A text of plain characters without spaces around it, as nearly all are. */
const PLAIN = /^[!-~][ -~]*$/;

export const isPlain = (text: string): boolean => PLAIN.test(text) && !text.endsWith(' ');

/** What is the same for texts that differ in what is not seen, in their letter case or in zeros before them only. */
export const foldText = (text: string): string => zerosOff((isPlain(text) ? text : plainText(text)).toLowerCase());

/** What makes texts alike, of a text and as SQL, in the order in which it is done. */
interface Spelling {
  of(text: string): string;
  sql(x: string): string;
  cost: number;
}

function spacesOff(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && text[start] === ' ') start += 1;
  while (end > start && text[end - 1] === ' ') end -= 1;
  return text.slice(start, end);
}

const SPELLINGS: readonly Spelling[] = [
  // All of the next three.
  { of: plainText, sql: plainSql, cost: 4 },
  { of: (text) => text.normalize('NFC'), sql: (x) => `nfc_normalize(${x})`, cost: 1 },
  { of: (text) => text.replaceAll('\u00a0', ' '), sql: (x) => `replace(${x}, chr(160), ' ')`, cost: 1 },
  // `trim` of SQL takes spaces only.
  { of: (text) => spacesOff(text), sql: (x) => `trim(${x})`, cost: 1 },
  { of: (text) => text.toLowerCase(), sql: (x) => `lower(${x})`, cost: 1 },
  { of: (text) => text.replace(/^0+/, ''), sql: (x) => `ltrim(${x}, '0')`, cost: 1 },
];

/** All that these may be together, what takes least first. */
const WAYS: readonly Spelling[] = Array.from({ length: 2 ** SPELLINGS.length }, (_, bits) => {
  const steps = SPELLINGS.filter((_one, at) => Math.floor(bits / 2 ** at) % 2 === 1);
  return {
    of: (text: string) => steps.reduce((done, step) => step.of(done), text),
    sql: (x: string) => steps.reduce((done, step) => step.sql(done), x),
    cost: steps.reduce((sum, step) => sum + step.cost, 0),
  };
}).sort((one, other) => one.cost - other.cost);

/** The least that makes one text of each of these sets, all of which `foldText` makes one. */
export const spellingOf = (sets: readonly (readonly string[])[]): Spelling | undefined =>
  WAYS.find(({ of }) => sets.every((texts) => new Set(texts.map(of)).size === 1));

/** In what a text differs from one that looks alike, in few words. */
export function differenceOf(text: string, other: string): string {
  if (text.trim() === other.trim()) return 'spaces around';
  if (text.normalize('NFC') === other.normalize('NFC')) return 'another form of Unicode';
  if (plainText(text) === plainText(other)) return 'characters that are not seen';
  return plainText(text).toLowerCase() === plainText(other).toLowerCase() ? 'letter case' : 'zeros before it';
}
