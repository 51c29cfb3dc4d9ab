import { TEXT_SUCH_AS } from '../../../../contract/errors.ts';
import { cut } from '../../../../contract/text.ts';
import { isText, type Sources } from '../../gate/field-origins.ts';
import type { TextCast } from '../../gate/text-casts.ts';
import type { TextField } from '../../gate/value-uses.ts';
import { type Cast, isNumber, isTime } from '../../sql/corrections/casts.ts';
import { quantitiesIn } from '../../sql/corrections/quantities.ts';
import { hasDigit, nullsSaid, readingFor, type UnitSeen, unitsThatDiffer } from '../../sql/corrections/readings.ts';
import { hasShortYear } from '../../sql/corrections/times.ts';
import { isMissing } from '../../sql/missing.ts';
import { quoteText } from '../../sql/names.ts';
import { rowsWithoutTries } from '../../sql/own-rows.ts';
import { tokenList } from '../../sql/token-list.ts';
import type { Look } from './look.ts';
import { readingOf } from './readings.ts';
import { type Data, type Lost, lostOf, otherNumber, type Sample, type SeenText, sampled } from './samples.ts';

/*
 * Casts of text that give something else than is meant, or NULL, for some of its values.
 */

const CASTS_MAX = 3;
const SHOWN_CHARS = 40;

const fieldsOf = ({ sources, of }: TextCast): TextField[] =>
  sources.fields.filter(isText).map((field) => (of === undefined ? field : { ...field, of }));
const textsIn = (cast: TextCast): Sample[] => fieldsOf(cast).map((field) => ({ field, types: [cast.type] }));
/** What a cast is made of that is to be read in another way: the field, if functions change no more than its spelling. */
const readIn = ({ written, type, of, sources }: TextCast): Cast => ({
  operand: of === undefined ? written : (sources.fields[0]?.written ?? written),
  type,
});

/** Which values of a field a TRY_CAST makes NULL, and what reads them; nothing of words. */
export const lostByCasts: Look = ({ casts }, { data, ran }) => {
  // Of a key that orders all rows, NULL loses none.
  const toTell = casts.filter(({ isTry, isAsked, isSortKey }) => isTry && !isAsked && !isSortKey).slice(0, CASTS_MAX);
  // Those that WHERE leaves out are not lost by a cast.
  const from = toTell.length > 0 ? rowsWithoutTries(ran) : undefined;
  const fieldsIn = (cast: TextCast) => fieldsOf(cast).map((field) => ({ ...field, from }));
  return toTell.map((cast) => ({
    kind: 'lost',
    samples: fieldsIn(cast).map((field) => ({ field, types: [cast.type], tried: cast.tried })),
    async said(texts) {
      const { written: operand, type, sources, tried } = cast;
      const how = async () =>
        clockSaid(operand, type, texts.flat()) ?? (await howToRead(readIn(cast), sources, data, true));
      for (const values of texts.map((some) => some.map(sampled))) {
        const lost = values.filter((one) => !one.isRead && hasDigit(one));
        if (isTime(type) && tried === undefined && lost.some(({ text }) => hasShortYear(text))) return undefined;
        if (lost.length > 0) return `${nullsSaid({ operand, type }, values, lost)}.${await how()}`;
      }
      for (const [at, field] of fieldsIn(cast).entries()) {
        // Of a field of words none is a number.
        const lost = texts[at]?.some(hasDigit) ? await lostOf(field, type, data, tried) : undefined;
        if (lost !== undefined && lost.count > 0) return `${rareSaid(operand, lost)}.${await how()}`;
      }
      return undefined;
    },
  }));
};

const SHORT_CLOCK = /^\d+:\d\d$/;
const LONG_CLOCK = /^\d+:\d\d:\d\d/;

/**
 * Minutes and seconds beside hours, minutes and seconds, which a cast takes for hours and minutes. Whoever computes some of what
 * is cast tells them apart.
 */
export const clocks: Look = ({ casts }) =>
  casts
    .filter(({ type, sources }) => /^interval$/i.test(type) && !sources.isComputed)
    .slice(0, CASTS_MAX)
    .map((cast) => ({
      kind: 'lost',
      samples: textsIn(cast),
      said(texts) {
        const all = texts.flat().map(({ text }) => text.trim());
        const [short, long] = [SHORT_CLOCK, LONG_CLOCK].map((form) => all.find((text) => form.test(text)));
        if (short === undefined || long === undefined) return undefined;
        const such = `${quoteText(short)} and ${quoteText(long)}`;
        return `${cast.written}${TEXT_SUCH_AS}${such}, and a cast takes ${quoteText(short)} for hours and minutes.${clockSaid(cast.written, cast.type, texts.flat())}`;
      },
    }));

/** What reads lengths of time, or times of a day; undefined: another type is meant. */
function clockSaid(operand: string, type: string, texts: readonly SeenText[]): string | undefined {
  if (isNumber(type) || isTime(type)) return undefined;
  const present = texts.map(({ text }) => text.trim()).filter((text) => !isMissing(text));
  const [scale] = quantitiesIn({ operand, present, hasMissing: present.length < texts.length });
  return scale === undefined ? '' : ` ${scale.said}`;
}

function rareSaid(operand: string, { texts, count, documents }: Lost): string {
  const [first = '', second] = texts.filter((text) => hasDigit({ text }));
  const such = [first, second].flatMap((text) => (text === undefined ? [] : quoteText(cut(text, SHOWN_CHARS))));
  const become = count === 1 ? 'value' : 'values';
  return `${count.toLocaleString('en-US')} ${become} of ${operand} in the ${documents.toLocaleString('en-US')} documents become${count === 1 ? 's' : ''} NULL, such as ${such.join(' and ')}`;
}

/** Which values of a field a cast takes for days of the first century. */
export const shortYears: Look = ({ casts }, { data }) =>
  casts
    .filter(({ type, tried, isTry, isAsked }) => isTime(type) && tried === undefined && !(isTry && isAsked))
    .slice(0, CASTS_MAX)
    .map((cast) => ({
      kind: 'time',
      samples: textsIn(cast),
      async said(texts) {
        const { written: operand, isTry, sources } = cast;
        const taken = texts.flat().find(({ text }) => hasShortYear(text));
        if (taken === undefined) return undefined;
        const how = await howToRead(readIn(cast), sources, data, isTry);
        return `${operand}${TEXT_SUCH_AS}${quoteText(taken.text)}, whose first number a cast takes for the year: years below 100 are wrong.${how}`;
      },
    }));

/** Casts of text whose dots may be between thousands, which a cast takes for decimal points. */
export const thousands: Look = ({ casts }) =>
  casts
    .filter(({ type }) => isNumber(type))
    .slice(0, CASTS_MAX)
    .map((cast) => ({
      kind: 'lost',
      samples: textsIn(cast),
      said(texts) {
        for (const values of texts.map((some) => some.map(sampled).filter(({ isRead }) => isRead))) {
          const reading = readingFor({ operand: cast.written, type: cast.type }, values);
          if (reading !== 'right') return cast.isTry ? triedSql(reading.said ?? '') : reading.said;
        }
        return undefined;
      },
    }));

/** Constants that put digits into a text, or a piece of it: another number is meant then. */
const OTHER_NUMBER = /'\d+'|\\\d/;

/** Casts of what functions make of the whole text of a number, which is another one then: without its sign, or its decimal comma. */
export const misread: Look = ({ casts }, { data, sql: asked }) =>
  casts
    .filter(({ type, of = '' }) => isNumber(type) && !OTHER_NUMBER.test(of))
    .filter((cast) => readIn(cast).operand !== cast.written)
    .slice(0, CASTS_MAX)
    .map((cast) => ({
      kind: 'lost',
      samples: cast.sources.fields.map((field) => ({ field, types: [cast.type] })),
      async said([texts = []]) {
        const { written, type, of = '', sources } = cast;
        const [field] = sources.fields;
        const values = texts.map(sampled);
        const units = field === undefined ? [] : unitsThatDiffer(values);
        if (field !== undefined && units.length > 0)
          return knowsUnits(asked, cast, units) ? undefined : unitsSaid(field.written, written, units);
        const reading = readingFor({ operand: 'v', type }, values);
        if (field === undefined || reading === 'right') return undefined;
        let other: Awaited<ReturnType<typeof otherNumber>>;
        for (const sql of reading.sql === undefined ? (reading.either ?? []) : [reading.sql]) {
          other = await otherNumber(field, `TRY_CAST(${of} AS DOUBLE)`, triedSql(sql), data);
          // It may be meant so.
          if (other === undefined) return undefined;
        }
        const right = readingFor(readIn(cast), values);
        if (other === undefined || right === 'right' || knowsSign(asked, cast, other)) return undefined;
        const made = `${written} makes ${other.one} of ${quoteText(cut(other.text, SHOWN_CHARS))}`;
        return right.sql === undefined ? `${made}. ${right.ways}` : `${made}: ${right.sql} makes ${other.other}.`;
      },
    }));

const UNITS_SHOWN = 4;

function unitsSaid(operand: string, written: string, units: readonly UnitSeen[]): string {
  const shown = units.slice(0, UNITS_SHOWN).map(({ example }) => quoteText(cut(example, SHOWN_CHARS)));
  return `${operand} is in several units, such as ${shown.join(', ')}, and ${written} leaves them out, so its numbers have no sum and no order: regexp_extract(${operand}, '[^0-9., +-][^0-9., ]*[23]?$') is the unit, to group by or to convert from.`;
}

/** Whether a statement names a unit, or does something else with the field than to cast it. */
function knowsUnits(sql: string, cast: TextCast, units: readonly UnitSeen[]): boolean {
  return hasText(sql, ({ text }) => units.some(({ unit }) => text.includes(unit))) || isElsewhere(sql, cast);
}

const hasText = (sql: string, test: (token: { text: string }) => boolean) =>
  tokenList(sql).some((token) => token.kind === 'string' && test(token));

/** Marks of numbers below zero. */
const MINUS = /[(−-]/;

/** Whether numbers differ in their sign alone, and a statement leaves that out, or asks the field for the mark that says it. */
function knowsSign(sql: string, cast: TextCast, { text, one, other }: { text: string; one: number; other: number }) {
  if (one !== -other) return false;
  const mark = MINUS.exec(text)?.[0] ?? text;
  const rest = withoutCast(sql, cast);
  return rest.includes('abs(') || (isElsewhere(sql, cast) && hasText(rest, (token) => token.text.includes(mark)));
}

const plain = (sql: string) =>
  sql
    .replace(/\s+/g, ' ')
    .replace(/ ?([(),]) ?/g, '$1')
    .toLowerCase();

const withoutCast = (sql: string, { written }: TextCast) => plain(sql).replaceAll(plain(written), '');

/** Whether a field is also somewhere else in a statement than in its cast. */
function isElsewhere(sql: string, cast: TextCast): boolean {
  const name = cast.sources.fields[0]?.path.at(-1)?.toLowerCase() ?? '';
  const rest = withoutCast(sql, cast).replaceAll(`${name} is not null`, '').replaceAll(`"${name}" is not null`, '');
  return name !== '' && rest.includes(name);
}

/** What reads all values but words, which are to be NULL if they were; a sentence, or nothing. */
async function howToRead(cast: Cast, sources: Sources, data: Data, isTry: boolean): Promise<string> {
  const reading = await readingOf(cast, sources, data, undefined, isMissing);
  if (reading === undefined || reading === 'right' || reading.sql === `TRY_CAST(${cast.operand} AS ${cast.type})`)
    return '';
  if (reading.sql !== undefined) return ` ${isTry ? triedSql(reading.sql) : reading.sql} reads them.`;
  const how = reading.isApart ? reading.said : reading.ways;
  return how === undefined ? '' : ` ${isTry ? triedSql(how) : how}`;
}

/** Words among the values are to be NULL, as with the cast that there was. */
const triedSql = (sql: string) => sql.replace(/(^|: )CAST/g, '$1TRY_CAST').replace(/\bstrptime\(/g, 'try_strptime(');
