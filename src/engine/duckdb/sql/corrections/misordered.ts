import { isMissing } from '../../values/missing.ts';
import { quoteText } from '../names.ts';
import { A_NAME, type Place, quantitiesIn, type Scale, type Seen } from './quantities.ts';
import { hasDigit, numbersIn, type Reading, readingFor } from './readings.ts';
import { dayIn, formatsOf } from './time-formats.ts';
import { timesIn } from './time-forms.ts';

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
    scaleSaid(seen, quantitiesIn(seen), other) ??
    numbersSaid(operand, values, present, other) ??
    daysSaid(operand, values, present, other) ??
    scaleSaid(seen, timesIn(seen), other)
  );
}

type Keyed = readonly [text: string, key: Place['key']];

/** What to say of texts that are on a scale. */
function scaleSaid(
  { operand, present: texts }: Seen,
  scales: readonly Scale[],
  other: string | undefined,
): Misordered | undefined {
  const [first = ''] = texts;
  for (const { ways, said, sql, isTime } of scales) {
    const beside = other?.trim();
    const isIsoBeside = isTime && beside !== undefined && A_DAY.test(beside) && !texts.some((text) => A_DAY.test(text));
    if (beside !== undefined && (isIsoBeside || ways.every((way) => way(beside) === undefined))) {
      if (!isIsoBeside) continue;
      return {
        said: `${operand} is text such as ${quoteText(first)}, compared as text and not as a time. ${said}`,
        sql,
      };
    }
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

const ENDS_IN_LETTER = /\p{L}\.?\s*$/u;

function numbersSaid(
  operand: string,
  values: readonly SampledText[],
  present: readonly SampledText[],
  other: string | undefined,
): Misordered | undefined {
  const plain = (text: string, isNumber: boolean) => (isNumber ? Number(text.replaceAll('_', '')) : undefined);
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

function daysSaid(
  operand: string,
  values: readonly SampledText[],
  present: readonly SampledText[],
  other: string | undefined,
): Misordered | undefined {
  const isIso = other !== undefined && A_DAY.test(other);
  const ofOther = other === undefined || isIso ? [] : formatsOf(other.trim());
  if (other !== undefined && !isIso && ofOther.length === 0) return undefined;
  const days = present.filter(({ text, isTime }) => !(isTime && A_DAY.test(text)) && formatsOf(text.trim()).length > 0);
  const iso = present.filter(({ text, isTime }) => isTime && A_DAY.test(text));
  const [first] = iso;
  if (first !== undefined && days.length === 0) {
    if (iso.length * 2 <= present.length || ofOther.length === 0) return undefined;
    return {
      said: `${operand} is text such as ${quoteText(first.text)}, and ${quoteText(other ?? '')} is spelled otherwise, so comparing them says nothing: write it as these are.`,
      type: 'TIMESTAMP',
    };
  }
  if ((days.length + iso.length) * 2 <= present.length) return undefined;
  const sampled = values.map(({ text, isTime }) => ({ text, isRead: isTime && A_DAY.test(text) }));
  const reading = readingFor({ operand, type: 'TIMESTAMP' }, sampled);
  if (reading === 'right' || (reading.sql === undefined && reading.said === undefined)) return undefined;
  const { sql, said = '', ways } = reading;
  if (isIso && iso.length === 0) {
    const such = `${operand} is text such as ${quoteText(days[0]?.text ?? '')}, compared as text and not as a time`;
    return {
      said: sql === undefined ? `${such}. ${ways ?? sentence(said)}` : `${such}: ${sql} is the time.`,
      sql,
      type: 'TIMESTAMP',
    };
  }
  const texts = [
    ...days.map(({ text }) => text),
    ...iso.map(({ text }) => text),
    ...(ofOther.length > 0 ? [other ?? ''] : []),
  ];
  for (const format of new Set(days.flatMap(({ text }) => formatsOf(text.trim())))) {
    const pair = misplaced(texts.flatMap((one) => dayOf(one, format)));
    if (pair === undefined) continue;
    return {
      said: pairSaid(operand, pair, sql === undefined ? (ways ?? sentence(said)) : `As a time: ${sql}.`),
      sql,
      type: 'TIMESTAMP',
    };
  }
  return undefined;
}

function dayOf(text: string, format: string): Keyed[] {
  const day = A_DAY.test(text) ? dayIn(text, '%Y-%m-%d') : dayIn(text.trim(), format);
  return day === undefined ? [] : [[text, day]];
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
