import { isMissing } from '../missing.ts';
import { quoteText } from '../names.ts';
import { namedOrders } from './named-orders.ts';
import { A_NAME, type Place, quantitiesIn, type Scale, type Seen } from './quantities.ts';
import { hasDigit, numbersIn, type Reading, readingFor } from './readings.ts';
import { runsOfDigits } from './runs-of-digits.ts';
import { formOf, hasIsoZone, isoTime, timeIn, timeWays } from './times.ts';

/*
 * Whether text that is put in order as text was meant as numbers, days or other quantities, which have another order.
 */

/** A value of a field of text, and whether casts to DOUBLE and to TIMESTAMP read it. */
export interface SampledText {
  text: string;
  isNumber: boolean;
  isTime: boolean;
}

/** A day as ISO 8601 has it, and what else a cast to a time reads that sorts as one. */
const A_DAY = /^\d{4}-\d\d(?:-\d\d)?/;
/** Its whole numbers are names, too; those of parts have an order. */
const A_VERSION = /(?:^|[^A-Za-z])version"?$/i;
/** `customerId`, and not `paid`. */
const AN_ID = /[a-z](?:Id|ID)"?$/;

/** What to say of texts whose order is another one than is meant. */
export interface Misordered {
  said: string;
  /** The value that is meant; undefined: that is not clear. */
  sql?: string | undefined;
  /** What it is then, as far as a cast gives it. */
  type?: 'DOUBLE' | 'TIMESTAMP';
}

/**
 * What to say of the order of texts, given values of their field as SQL names it and, if they are compared with one, that
 * text; undefined: it is the order that is meant, as far as these tell.
 */
export function misordered(operand: string, values: readonly SampledText[], other?: string): Misordered | undefined {
  if (other !== undefined && !hasDigit({ text: other })) return undefined;
  const present = values.filter(({ text }) => !isMissing(text));
  const seen = {
    operand,
    present: present.map(({ text }) => text.trim()),
    hasMissing: present.length < values.length,
  };
  return (
    scaleSaid(
      seen,
      [...namedOrders(seen), ...quantitiesIn(seen), runsOfDigits(seen)].filter((one) => one !== undefined),
      other,
    ) ??
    numbersSaid(operand, values, present, other) ??
    timesSaid(operand, values, present, other)
  );
}

type Keyed = readonly [text: string, key: Place['key']];

/** What to say of texts that are on a scale. */
function scaleSaid(
  { operand, present: texts }: Seen,
  scales: readonly Scale[],
  other: string | undefined,
): Misordered | undefined {
  for (const { ways, said, sql } of scales) {
    const beside = other?.trim();
    if (beside !== undefined && ways.every((way) => way(beside) === undefined)) continue;
    for (const way of ways) {
      const placed = new Map<string, Keyed[]>();
      for (const text of beside === undefined ? texts : [...texts, beside]) {
        const { of = '', key } = way(text) ?? {};
        if (key === undefined) continue;
        const keyed = placed.get(of) ?? [];
        placed.set(of, keyed);
        keyed.push([text, key]);
      }
      for (const keyed of placed.values()) {
        const pair = misplaced(keyed);
        if (pair !== undefined) return { said: pairSaid(operand, pair, said), sql };
      }
    }
  }
  return undefined;
}

/** A code to which a cast would give an exponent: programs write one with a sign, or a point before it, as others have. */
const A_CODE = /^\s*\d+E\d+\s*$/i;
const IN_FULL = /\.|E[-+]/i;
const ENDS_IN_LETTER = /\p{L}\.?\s*$/u;

function numbersSaid(
  operand: string,
  values: readonly SampledText[],
  present: readonly SampledText[],
  other: string | undefined,
): Misordered | undefined {
  const hasExponents = present.some(({ text, isNumber }) => isNumber && IN_FULL.test(text));
  const plain = (text: string, isNumber: boolean) =>
    isNumber && (hasExponents || !A_CODE.test(text)) ? Number(text.replaceAll('_', '')) : undefined;
  const ways = [
    present.map(({ text, isNumber }) => [text, plain(text, isNumber)] as const),
    // Numbers with units are a scale of their own, or codes such as `12A`.
    ...[0, 1].map((at) =>
      present.map(({ text }) => [text, ENDS_IN_LETTER.test(text) ? undefined : numbersIn(text)[at]] as const),
    ),
  ].map((keyed, at) => ({
    at,
    keyed: keyed.filter((one): one is readonly [string, number] => Number.isFinite(one[1])),
  }));
  const most = Math.max(...ways.map(({ keyed }) => keyed.length));
  if (most * 2 <= present.length) return undefined;
  // What a cast reads is read so, and what else it could be is not asked.
  const isPlain = ways[0]?.keyed.length === most;
  for (const { at, keyed } of isPlain ? ways.slice(0, 1) : ways) {
    if (keyed.length < most) continue;
    const beside = other === undefined ? undefined : numberOf(other, at);
    if (other !== undefined && beside === undefined) continue;
    if (
      other === undefined &&
      [A_NAME, A_VERSION, AN_ID].some((name) => name.test(operand)) &&
      keyed.every(([text]) => /^\d+$/.test(text))
    )
      continue;
    const pair = misplaced(other === undefined || beside === undefined ? keyed : [...keyed, [other, beside]]);
    if (pair === undefined) continue;
    const sampled = values.map(({ text, isNumber }) => ({ text, isRead: isNumber }));
    const reading = readingFor({ operand, type: 'DOUBLE' }, sampled);
    const {
      sql,
      said: how = '',
      ways,
    }: Reading = reading === 'right' ? { sql: `CAST(${operand} AS DOUBLE)` } : reading;
    return {
      said: pairSaid(operand, pair, sql === undefined ? (ways ?? sentence(how)) : `As a number: ${sql}.`),
      sql,
      type: 'DOUBLE',
    };
  }
  return undefined;
}

/** The number that a text is in a way of reading: as a cast does, by its point, or by its comma. */
function numberOf(text: string, way: number): number | undefined {
  const [byPoint, byComma] = numbersIn(text);
  return way === 2 ? (byComma ?? byPoint) : (byPoint ?? byComma);
}

const pairSaid = (operand: string, pair: readonly string[], how: string) =>
  `${operand} is text, ordered as text: ${pair.map(quoteText).join(' comes before ')}. ${how}`;

export const sentence = (said: string) => (said.endsWith('.') ? said : `${said}.`);

/** Days and times of a day, in the forms that casts read or in others. */
function timesSaid(
  operand: string,
  values: readonly SampledText[],
  present: readonly SampledText[],
  other: string | undefined,
): Misordered | undefined {
  const isIsoBeside = other !== undefined && A_DAY.test(other);
  const isFormBeside = other !== undefined && !isIsoBeside && formOf(other) !== undefined;
  if (other !== undefined && !isIsoBeside && !isFormBeside) return undefined;
  const isIso = ({ text, isTime }: SampledText) => isTime && isoTime(text.trim()) !== undefined;
  if (isEven([...present.map(({ text }) => text), ...(other === undefined ? [] : [other])])) return undefined;
  // Most fields are none, as their first values tell.
  if (!present.slice(0, FIRST_VALUES).some((one) => isIso(one) || formOf(one.text) !== undefined)) return undefined;
  const iso = present.filter(isIso);
  const isOther = (one: SampledText) => !isIso(one) && formOf(one.text) !== undefined;
  const forms = iso.length === present.length ? [] : present.filter(isOther).map(({ text }) => text);
  const [[first] = [], [form]] = [iso, forms];
  if ((forms.length + iso.length) * 2 <= present.length) return undefined;
  if (form === undefined && isFormBeside)
    return {
      said: `${operand} is text such as ${quoteText(first?.text ?? '')}, and ${quoteText(other)} is spelled otherwise, so comparing them says nothing: write it as these are.`,
      type: 'TIMESTAMP',
    };
  const reading = form === undefined ? isoReading(operand, values, iso) : formReading(operand, values, isIso);
  if (reading === 'right' || (reading.sql === undefined && reading.said === undefined)) return undefined;
  const { sql, said = '', ways } = reading;
  if (isIsoBeside && form !== undefined && iso.length === 0) {
    const such = `${operand} is text such as ${quoteText(form)}, compared as text and not as a time`;
    return {
      said: sql === undefined ? `${such}. ${ways ?? sentence(said)}` : `${such}: ${sql} is the time.`,
      sql,
      type: 'TIMESTAMP',
    };
  }
  const known = [...iso.map(({ text }) => text), ...(isIsoBeside ? [other] : [])].flatMap((text): Keyed[] => {
    const time = isoTime(text.trim());
    return time === undefined ? [] : [[text, time]];
  });
  const texts = isFormBeside ? [...forms, other] : forms;
  const clear = timeWays(texts).map(({ times }) => times);
  for (const times of clear.length > 0 ? clear : [texts.map((text) => timeIn(text) ?? 0)]) {
    const pair = misplaced([...known, ...times.map((time, at): Keyed => [texts[at] ?? '', time])]);
    if (pair === undefined) continue;
    return {
      said: pairSaid(operand, pair, sql === undefined ? (ways ?? sentence(said)) : `As a time: ${sql}.`),
      sql,
      type: 'TIMESTAMP',
    };
  }
  return undefined;
}

/** Whether texts are of ISO 8601 and spelled alike, or days beside times, and so in the order of their times. */
function isEven([first, ...more]: readonly string[]): boolean {
  if (first === undefined || !A_DAY.test(first)) return false;
  const [{ length }, end] = [first, first.slice(19)];
  // A day comes before its times, but for those at an offset.
  const areAtOffset = first.includes('-', 11) || first.includes('+', 11);
  return more.every(
    (text) =>
      (text.length === length || (text.length === 10 && !areAtOffset)) &&
      text[4] === '-' &&
      text[7] === '-' &&
      (text.length === 10 || (text[10] === first[10] && text.slice(19) === end)),
  );
}

const FIRST_VALUES = 20;

const formReading = (operand: string, values: readonly SampledText[], isIso: (one: SampledText) => boolean) =>
  readingFor(
    { operand, type: 'TIMESTAMP' },
    values.map((one) => ({ text: one.text, isRead: isIso(one) })),
  );

function isoReading(operand: string, values: readonly SampledText[], iso: readonly SampledText[]): Reading {
  const type = iso.some(({ text }) => hasIsoZone(text)) ? 'TIMESTAMPTZ' : 'TIMESTAMP';
  return { sql: `${iso.length < values.length ? 'TRY_' : ''}CAST(${operand} AS ${type})` };
}

/** Two neighbours by text that are the other way round by what they mean; undefined: there are none, as of numbers of one length. */
function misplaced(values: readonly Keyed[]): [string, string] | undefined {
  const sorted = [...new Map(values)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [at, [text, key]] of sorted.entries()) {
    const next = sorted[at + 1];
    if (next !== undefined && key > next[1]) return [text, next[0]];
  }
  return undefined;
}
