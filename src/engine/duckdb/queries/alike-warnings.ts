import type { JsonValue } from '../../../contract/json/json.ts';
import type { TextEquality, TextGroup } from '../gate/text-alike.ts';
import type { TextUses } from '../gate/value-uses.ts';
import { alikeSql, differenceOf, plainSql, plainText } from '../sql/invisible.ts';
import { quoteText } from '../sql/names.ts';
import type { Typed } from '../values/typed-json.ts';
import { otherText } from './order-warnings.ts';
import { type Data, fewTextsOf, nearTexts, TEXT_CHARS_MAX } from './text-values.ts';

/*
 * Values that look alike and are not the same: a text that no document has though some have nearly the same, and groups that
 * differ in what is not seen.
 */

/** What is looked at for one answer. */
const EQUALITIES_MAX = 3;
const GROUPS_MAX = 3;
const TEXTS_MAX = 5;
const SHOWN_MAX = 3;
const ROWS_MAX = 5_000;

/** Whether there are no rows, or one of zeros and NULLs, as of counts and sums of nothing. */
export function isEmpty(rows: readonly (readonly unknown[])[]): boolean {
  const [first = [], ...more] = rows.slice(0, 2);
  return more.length === 0 && first.every((value) => value === null || (value !== '' && Number(value) === 0));
}

/** Says of an answer which values look alike that it has apart; or, if it is empty, that there are others than those asked for. */
export async function alikeWarnings(
  { equalities, groups }: TextUses,
  rows: readonly (readonly JsonValue[])[],
  values: ReadonlyMap<string, Typed>,
  data: Data,
): Promise<string[]> {
  const asked = isEmpty(rows) ? equalities.slice(0, EQUALITIES_MAX) : [];
  const said: (string | undefined)[] = [];
  for (const one of asked) said.push(await nearSaid(one, values, data));
  const isShown = ({ column }: TextGroup) => column !== undefined;
  // Only what the answer does not have costs a look.
  const looked = groups.filter((group) => !isShown(group)).slice(0, GROUPS_MAX);
  for (const group of [...groups.filter(isShown), ...looked]) said.push(await alikeSaid(group, rows, data));
  return said.flatMap((one) => one ?? []);
}

/**
 * A text as it is compared with others: in one case, without what a spreadsheet writes around it, and zeros before it. NULL if
 * nothing is left: 0 is not nearly an empty text.
 */
const NEAR = (sql: string) =>
  `nullif(regexp_replace(trim(lower(${plainSql(sql)}), ' ="'''), '^0+(.)', '\\1', 'g'), '')`;

async function nearSaid(
  equality: TextEquality,
  values: ReadonlyMap<string, Typed>,
  data: Data,
): Promise<string | undefined> {
  const texts = equality.others.flatMap((other) => otherText(other, values) ?? []);
  const { written } = equality;
  const isOdd = (text: string) => text.trim() === '' || text.length > TEXT_CHARS_MAX || text.includes('\0');
  if (texts.length === 0 || texts.length > TEXTS_MAX || texts.some(isOdd)) return undefined;
  const found = await nearTexts(equality, texts, NEAR, data);
  // Something else makes the answer empty.
  if (found.length === 0 || found.some(({ text }) => texts.includes(text))) return undefined;
  const shown = found.slice(0, SHOWN_MAX).map(({ text, count }) => {
    const near = texts.find((one) => plainText(one) === plainText(text));
    const how = near === undefined ? '' : `${differenceOf(text, near)}, `;
    return `${quoteText(text)} (${how}in ${count.toLocaleString('en-US')})`;
  });
  return `${written} has no value ${texts.map(quoteText).join(' or ')} in the documents that were looked at, but has ${shown.join(', ')}.`;
}

async function alikeSaid(
  group: TextGroup,
  rows: readonly (readonly JsonValue[])[],
  data: Data,
): Promise<string | undefined> {
  const { column, written } = group;
  const texts =
    column === undefined
      ? (await fewTextsOf(group, [], data)).map(({ text }) => text).filter((text) => text.length < TEXT_CHARS_MAX)
      : rows.slice(0, ROWS_MAX).flatMap((row) => (typeof row[column] === 'string' ? [row[column]] : []));
  const [first, other] = firstAlike(texts) ?? [];
  if (first === undefined || other === undefined) return undefined;
  const all = texts.filter((text) => plainText(text) === plainText(first));
  const pair = `${quoteText(first)} and ${quoteText(other)} (${differenceOf(first, other)})`;
  return `Values of ${written} look alike and count as different: ${pair}. ${alikeSql(written, all)} makes them one.`;
}

/** A text of plain characters without spaces around it, as nearly all are. */
const PLAIN = /^[!-~][ -~]*$/;

/** Two different texts that look alike, one of which has what is not seen. */
function firstAlike(texts: readonly string[]): [string, string] | undefined {
  const all = new Set(texts);
  const odd = [...all].filter((text) => !PLAIN.test(text) || text.endsWith(' '));
  const seen = new Map<string, string>();
  for (const text of odd) {
    const plain = plainText(text);
    const other = seen.get(plain) ?? (plain !== text && all.has(plain) ? plain : undefined);
    if (other !== undefined && other !== text) return [other, text];
    seen.set(plain, text);
  }
  return undefined;
}
