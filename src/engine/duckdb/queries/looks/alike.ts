import { A_DAY } from '../../gate/day-uses.ts';
import type { NotIn } from '../../gate/nulls.ts';
import type { TextEquality } from '../../gate/text-alike.ts';
import { differenceOf, foldText, plainSql, plainText, spellingOf } from '../../sql/invisible.ts';
import { quoteText } from '../../sql/names.ts';
import { type Asked, type Look, otherText, type Question } from './look.ts';
import { allValuesSql, type Data, isAny, nearTexts, rowsOf, TEXT_CHARS_MAX } from './samples.ts';

/*
 * Values that look alike and are not the same: a text that no document has though some have nearly the same, and groups that
 * differ in what is not seen; and answers that are empty for a NULL.
 */

/** What is looked at for one answer. */
const EQUALITIES_MAX = 3;
const GROUPS_MAX = 3;
const TEXTS_MAX = 5;
const SHOWN_MAX = 3;
const PAIRS_MAX = 2;
const ROWS_MAX = 5_000;

/** Whether there are no rows, or one of zeros and NULLs, as of counts and sums of nothing. */
export function isEmpty(rows: readonly (readonly unknown[])[]): boolean {
  const [first = [], ...more] = rows.slice(0, 2);
  return more.length === 0 && first.every((value) => value === null || (value !== '' && Number(value) === 0));
}

/** Texts that an empty answer asked for, and others that fields have. */
export const near: Look = ({ equalities }, { rows, values, data }) =>
  isEmpty(rows)
    ? equalities
        .filter(({ isNot }) => !isNot)
        .slice(0, EQUALITIES_MAX)
        .map((one) => ({ kind: 'alike', samples: [], said: () => nearSaid(one, textsIn([one], values), data) }))
    : [];

/**
 * The same of an answer that is not empty, as far as its rows do not show that there are such texts, and texts that it asks for and
 * other spellings of which it leaves out. What only some of the first documents have costs a look.
 */
export const misspelt: Look = ({ equalities }, { rows, values, data }) => {
  const isOpen = ({ isSeen, isNot }: TextEquality) => isNot || !isSeen;
  const all = equalities.filter(({ isNot, isSpelled }) => !isSpelled && (isNot || !isEmpty(rows)));
  const fields = [...new Map(all.map((one) => [keyOf(one), one])).values()];
  return fields.slice(0, EQUALITIES_MAX).map((field): Question => {
    const same = equalities.filter((one) => keyOf(one) === keyOf(field));
    const known = textsIn(same, values);
    const asked = new Set(textsIn(same.filter(isOpen), values));
    const said: Question['said'] = async ([texts = []]) => {
      const there = new Set(texts.map(({ text }) => text));
      // Whoever writes both means both.
      const others = [...there].filter((text) => !known.includes(text));
      const nearOthers = new Set(others.map(nearText));
      const isNone = same.some(({ isNot }) => isNot);
      const beside = isNone ? besideSaid(field.written, there, known) : undefined;
      if (beside !== undefined) return beside;
      const missing = [...asked].filter((text) => !there.has(text) && nearOthers.has(nearText(text)));
      const isNowhere = async () => !(await isAny(field, `v IN (${missing.map(quoteText).join(', ')})`, data));
      if (missing.length > 0 && (await isNowhere())) return nearSaid(field, missing, data);
      return isNone ? undefined : spelledSaid(field, known, others, data);
    };
    return { kind: 'alike', samples: known.length === 0 ? [] : [{ field, types: [] }], said };
  });
};

/** Other spellings of texts that a field has to be, with how many documents have them. */
async function spelledSaid(
  field: TextEquality,
  known: readonly string[],
  others: readonly string[],
  data: Data,
): Promise<string | undefined> {
  const hasSymbols = areSymbols(field.written, [...known, ...others]);
  const sets = known
    .filter((text) => text.trim() !== '')
    .map((text) => [text, ...others.filter((other) => foldText(other) === foldText(text))])
    .filter((set) => set.length > 1 && !isMeantCase(set, hasSymbols));
  const [first = [], ...more] = sets;
  const [text = '', other = ''] = first;
  const spelling = sets.length === 0 ? undefined : spellingOf(sets);
  if (spelling === undefined) return undefined;
  const found = sets.flatMap((set) => set.slice(1)).slice(0, SHOWN_MAX);
  const sql = `SELECT v, count(*) FROM (${await allValuesSql(field, data)}) WHERE v IN (${found.map(quoteText).join(', ')}) GROUP BY v ORDER BY 2 DESC, v`;
  const counts = (await rowsOf(data.connection, sql)).map(
    ([one, count]) => `${quoteText(String(one))} (in ${Number(count).toLocaleString('en-US')})`,
  );
  const literal = quoteText(spelling.of(text));
  const { written } = field;
  const meant = `${spelling.sql(written)} ${more.length > 0 ? `IN (${literal}, …)` : `= ${literal}`}`;
  return `${written} also has ${counts.join(', ')}, which is not ${quoteText(text)} (${differenceOf(text, other)}): ${meant} has ${counts.length > 1 ? 'them' : 'it'}, too.`;
}

/** Texts that look like those which a field has to be none of, and so stay. */
function besideSaid(written: string, there: ReadonlySet<string>, known: readonly string[]): string | undefined {
  const own = new Map(known.map((text) => [foldText(text), text]));
  const otherOf = (text: string) => {
    const other = known.includes(text) ? undefined : own.get(foldText(text));
    // One that no document has may be meant otherwise.
    const isMeant = other !== undefined && (there.has(other) || plainText(other) === plainText(text));
    return isMeant && other.trim() !== '' ? other : undefined;
  };
  const odd = [...there].find((text) => otherOf(text) !== undefined);
  const other = odd === undefined ? undefined : otherOf(odd);
  if (odd === undefined || other === undefined) return undefined;
  const sql = spellingOf([[odd, other]])?.sql(written);
  return `${written} also has ${quoteText(odd)}, which is not ${quoteText(other)} (${differenceOf(odd, other)}) and stays: ${sql} compares without that.`;
}

const keyOf = ({ written, table }: TextEquality) => `${table.workspace}.${table.name} ${written}`;

/** The texts that a field is compared with. */
const textsIn = (same: readonly TextEquality[], values: Asked['values']): string[] =>
  same.flatMap(({ others }) => others.flatMap((other) => otherText(other, values) ?? []));

const isShort = (text: unknown): text is string => typeof text === 'string' && text.length < TEXT_CHARS_MAX;

/** Groups of an answer that look alike. Only those that it does not show cost a look. */
export const alike: Look = ({ groups }, { rows }) => {
  const shown = groups.flatMap(({ column, written }): Question[] => {
    if (column === undefined) return [];
    const texts = () => rows.slice(0, ROWS_MAX).flatMap(({ [column]: text }) => (isShort(text) ? [text] : []));
    return [{ kind: 'alike', samples: [], said: () => alikeSaid(written, texts()) }];
  });
  const hidden = groups.filter(({ column }) => column === undefined).slice(0, GROUPS_MAX);
  return [
    ...shown,
    ...hidden.map((field): Question => {
      const said: Question['said'] = ([texts = []]) =>
        alikeSaid(field.written, texts.map(({ text }) => text).filter(isShort));
      return { kind: 'alike', samples: [{ field, types: [] }], said };
    }),
  ];
};

/**
 * A text as it is compared with others: in one case, without what a spreadsheet writes around it, and zeros before it. NULL if
 * nothing is left: 0 is not nearly an empty text.
 */
const NEAR = (sql: string) =>
  `nullif(regexp_replace(trim(lower(${plainSql(sql)}), ' ="'''), '^0+(.)', '\\1', 'g'), '')`;

const isNear = (texts: readonly string[]) =>
  `${NEAR('v')} IN (${texts.map((text) => NEAR(quoteText(text))).join(', ')})`;

/** Shorter ones begin too many others, but as a word of their own: `5 - good`. */
const BEGINNING_CHARS_MIN = 2;

/**
 * Whether `v` begins with one of some texts: `PushEvent` with `Push`, `38/2024` with `38`, and no number with another one. Of
 * a day `whole-days.ts` tells.
 */
function isLonger(texts: readonly string[]): string {
  const some = texts.filter((text) => !A_DAY.test(text)).map((text) => text.toLowerCase());
  const begins = some.map((text) => {
    const next = `v[${[...text].length + 1}]`;
    const isWord = text.length < BEGINNING_CHARS_MIN ? ` AND regexp_matches(${next}, '^[^\\p{L}\\d]')` : '';
    const isWhole =
      isWord !== ''
        ? isWord
        : /\d$/.test(text)
          ? ` AND ${next} NOT BETWEEN '0' AND '9' AND ${next} NOT IN ('.', ',')`
          : '';
    return `(starts_with(lower(v), ${quoteText(text)})${isWhole})`;
  });
  return begins.length === 0 ? 'false' : begins.join(' OR ');
}

const AROUND = ` ="'`;

/** The same of a text that is at hand. */
function nearText(text: string): string {
  const plain = plainText(text).toLowerCase();
  let [start, end] = [0, plain.length];
  while (start < end && AROUND.includes(plain[start] ?? '')) start += 1;
  while (end > start && AROUND.includes(plain[end - 1] ?? '')) end -= 1;
  while (start < end - 1 && plain[start] === '0') start += 1;
  return plain.slice(start, end) || text;
}

async function nearSaid(equality: TextEquality, texts: readonly string[], data: Data): Promise<string | undefined> {
  const { written } = equality;
  const isOdd = (text: string) => text.trim() === '' || text.length > TEXT_CHARS_MAX || text.includes('\0');
  if (texts.length === 0 || texts.length > TEXTS_MAX || texts.some(isOdd)) return undefined;
  const same = await nearTexts(equality, texts, isNear(texts), data);
  // Something else makes the answer empty.
  if (same.some(({ text }) => texts.includes(text))) return undefined;
  const found = same.length > 0 ? same : await nearTexts(equality, texts, isLonger(texts), data);
  if (found.length === 0) return frequentSaid(equality, texts, data);
  const shown = found.slice(0, SHOWN_MAX).map(({ text, count }) => {
    const near = texts.find((one) => plainText(one) === plainText(text));
    const how = near === undefined ? '' : `${differenceOf(text, near)}, `;
    return `${quoteText(text)} (${how}in ${count.toLocaleString('en-US')})`;
  });
  return `${written} has no value ${texts.map(quoteText).join(' or ')} in the documents that were looked at, but has ${shown.join(', ')}.`;
}

/** A field of so many different texts, each of which several documents have, is one of kinds. */
const KINDS_MAX = 30;
const SHARE_OF_KIND = 3;

/** The most frequent values of a field that has few: one of them may be meant. */
async function frequentSaid(equality: TextEquality, texts: readonly string[], data: Data): Promise<string | undefined> {
  // Of days `whole-days.ts` tells.
  if (texts.some((text) => A_DAY.test(text))) return undefined;
  const kinds = await nearTexts(equality, texts, 'true', data);
  const documents = kinds.reduce((sum, { count }) => sum + count, 0);
  if (kinds.length === 0 || kinds.length > KINDS_MAX || documents < kinds.length * SHARE_OF_KIND) return undefined;
  const shown = kinds
    .slice(0, SHOWN_MAX)
    .map(({ text, count }) => `${quoteText(text)} (in ${count.toLocaleString('en-US')})`);
  const most = kinds.length > SHOWN_MAX ? `, among its ${kinds.length} values,` : '';
  return `${equality.written} has no value ${texts.map(quoteText).join(' or ')} in the documents that were looked at, but has${most} ${shown.join(', ')}.`;
}

function alikeSaid(written: string, texts: readonly string[]): string | undefined {
  const sets = setsAlike(written, texts);
  const spelling = sets.length === 0 ? undefined : spellingOf(sets);
  if (spelling === undefined) return undefined;
  const pairs = new Map<string, string>();
  for (const [first = '', other = ''] of sets) {
    const difference = differenceOf(first, other);
    if (!pairs.has(difference) && pairs.size < PAIRS_MAX)
      pairs.set(difference, `${quoteText(first)} and ${quoteText(other)} (${difference})`);
  }
  return `Values of ${written} look alike and count as different: ${[...pairs.values()].join(', ')}. ${spelling.sql(written)} makes them one.`;
}

/** Different texts that differ in their spelling only, together. */
function setsAlike(written: string, texts: readonly string[]): string[][] {
  const hasSymbols = areSymbols(written, texts);
  const seen = new Map<string, string[]>();
  for (const text of new Set(texts)) {
    const folded = text === '' ? '' : foldText(text);
    const same = seen.get(folded);
    if (same === undefined) seen.set(folded, [text]);
    else if (folded !== '') same.push(text);
  }
  return [...seen.values()].filter((set) => set.length > 1 && !isMeantCase(set, hasSymbols));
}

/** Shorter ones may be symbols: `mm` and `MM`, `mW` and `MW`, `Shh` and `SHH`. */
const WORD_CHARS_MIN = 4;
const OF_SYMBOLS = /(?:^|[^a-z])(?:units?|uom|einheit|symbol|gene|allele|formula)"?$/i;

/** Whether the letter case of short texts of a field means something: it is called so, or some have one of their own. */
const areSymbols = (written: string, texts: readonly string[]) =>
  OF_SYMBOLS.test(written) || texts.some((text) => isShortText(text) && !isOfOneCase(text));

/** Whether texts differ in their letter case only, and are no words but symbols, or ids such as `dQw4w9`. */
function isMeantCase(texts: readonly string[], hasSymbols: boolean): boolean {
  if (new Set(texts.map((text) => text.toLowerCase())).size > 1) return false;
  return texts.some(
    (text) => (isShortText(text) && (hasSymbols || isOneLetter(text))) || (/\d/.test(text) && !isOfOneCase(text)),
  );
}

const isOneLetter = (text: string) => text.length > 1 && new Set(text.toLowerCase()).size === 1;
const isShortText = (text: string) => text.length < WORD_CHARS_MIN;
const isOfOneCase = (text: string) =>
  [text.toLowerCase(), text.toUpperCase(), text.slice(0, 1) + text.slice(1).toLowerCase()].includes(text);

/** Answers that are empty for a NULL in what NOT IN (SELECT …) selects. */
export const nulls: Look = ({ notIns }, { rows, data }) =>
  isEmpty(rows)
    ? notIns.map((one) => ({
        kind: 'null',
        samples: [],
        said: async () => ((await mayBeNull(one, data)) ? notInSaid(one) : undefined),
      }))
    : [];

async function mayBeNull({ sources: { fields, isComputed } }: NotIn, data: Data): Promise<boolean> {
  for (const field of fields) if (await isAny(field, 'v IS NULL', data)) return true;
  return isComputed;
}

function notInSaid({ written: x, sources }: NotIn): string {
  const where = sources.isComputed ? ': leave those out' : `, as in some documents: add WHERE ${x} IS NOT NULL to it`;
  return `NOT IN (SELECT …) holds for nothing if ${sources.isComputed ? 'a value' : x} is NULL in a row of that SELECT${where}, or use NOT EXISTS.`;
}
