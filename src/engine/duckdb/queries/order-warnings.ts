import { TEXT_SUCH_AS } from '../../../contract/errors.ts';
import { isText, type Sources } from '../gate/field-origins.ts';
import type { TextCast, TextField, TextOrder, TextUses } from '../gate/value-uses.ts';
import { type Cast, isTime } from '../sql/corrections/casts.ts';
import { type Misordered, misordered, sentence } from '../sql/corrections/misordered.ts';
import { hasDigit, nullsSaid } from '../sql/corrections/readings.ts';
import { hasShortYear } from '../sql/corrections/time-formats.ts';
import { foldName, quoteText } from '../sql/names.ts';
import { objectValue } from '../sql/object-values.ts';
import { isMissing } from '../values/missing.ts';
import type { Typed } from '../values/typed-json.ts';
import { epochReading, SINCE_1970 } from './epoch-units.ts';
import { readingOf } from './text-readings.ts';
import { type Data, fewTextsOf, firstTextsOf, sampled } from './text-values.ts';
import { zoneSaid } from './zone-warnings.ts';

const WARNINGS_MAX = 3;
const CASTS_MAX = 3;
const DAYS_MAX = 3;

/**
 * Says that text was put in order as text where its values are numbers, or days that are not spelled by ISO 8601, which of its
 * values a TRY_CAST has made NULL, and of which zone the days of times are.
 */
export async function textWarnings(
  { orders, casts, epochs, mixed, days }: TextUses,
  values: ReadonlyMap<string, Typed>,
  data: Data,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const order of orders) {
    const other = otherText(order.other, values);
    if (warnings.length >= WARNINGS_MAX) break;
    if (!isText(order)) {
      warnings.push(wholeSaid(order));
      continue;
    }
    // A word is not meant as a number, and what is no text casts the field.
    if (order.other !== undefined && (other === undefined || !/\d/.test(other))) continue;
    const found = await misorderOf(order, order.written, data, other);
    if (found === undefined) continue;
    warnings.push(order.beside === undefined ? found.said : await besideSaid(order, order.beside, found, data));
  }
  let left = CASTS_MAX;
  for (const cast of casts) {
    const isLooked = cast.isTry ? !cast.isAsked : isTime(cast.type);
    if (!isLooked || left === 0) continue;
    left -= 1;
    const said = cast.isTry ? await nullsOf(cast, data) : await shortYearsOf(cast, data);
    if (said !== undefined) warnings.push(said);
  }
  for (const { written, call, sources } of mixed) {
    const reading = await readingOf({ operand: written, type: 'DOUBLE' }, sources, data);
    if (reading === undefined || reading === 'right' || reading.apart === undefined) continue;
    warnings.push(`${call} also takes the decimal points of what is a number. ${reading.said ?? ''}`);
  }
  for (const use of epochs) {
    const reading = await epochReading(use, data);
    if (reading !== undefined) warnings.push(reading.said);
  }
  for (const day of days.slice(0, DAYS_MAX)) {
    const said = await zoneSaid(day, data);
    if (said !== undefined) warnings.push(said);
  }
  return [...new Set(warnings)];
}

/** What is said of an order of values that come from more than one field: what reads them is asked of all of these. */
async function besideSaid(
  { written: operand }: TextOrder,
  beside: Sources,
  { said, sql, type }: Misordered,
  data: Data,
): Promise<string> {
  if (sql === undefined || type === undefined || !said.includes(sql)) return said;
  const reading = await readingOf({ operand, type }, beside, data);
  if (reading === undefined || reading === 'right' || reading.sql === sql) return said;
  if (reading.sql !== undefined) return said.replace(sql, () => reading.sql ?? '');
  return `${said.slice(0, said.lastIndexOf('. ') + 1)} ${sentence(reading.said ?? '')}`;
}

/** That objects are put in order as a whole, and what else may be meant. */
function wholeSaid({ written, type }: TextOrder): string {
  if (type.endsWith('[]'))
    return `${written} is a list of objects, ordered by the first of them as a whole: unnest(${written}) gives them one by one.`;
  const value = objectValue(type);
  if (value === undefined)
    return `${written} is a map, ordered by its entries as a whole: ${written}['key'] is the value of a key.`;
  const [first = ''] = value.names;
  const meant =
    value.scalar === undefined ? `one of its fields is ${written}.${first}` : `its value is ${written}.${value.scalar}`;
  return `${written} is an object, ordered by all its fields, ${first} before the others: ${meant}.`;
}

/** Which values of a field a TRY_CAST makes NULL, and what reads them; undefined: none but words. */
async function nullsOf(cast: TextCast, data: Data): Promise<string | undefined> {
  const { written: operand, type, sources } = cast;
  const asked: Cast = { operand, type };
  for (const field of sources.fields.filter(isText)) {
    const values = (await fewTextsOf(field, [type], data)).map(sampled);
    const lost = values.filter((one) => !one.isRead && hasDigit(one));
    if (lost.length === 0) continue;
    const taken = isTime(type) ? lost.filter(({ text }) => hasShortYear(text)) : [];
    if (taken.length > 0) return shortYearsSaid(cast, taken, data);
    return `${nullsSaid(asked, values, lost)}.${await howToRead(asked, sources, data, true)}`;
  }
  return undefined;
}

/** Which values of a field a cast takes for days of the first century. */
async function shortYearsOf(cast: TextCast, data: Data): Promise<string | undefined> {
  for (const field of cast.sources.fields.filter(isText)) {
    const taken = (await firstTextsOf(field, [cast.type], data)).filter(({ text }) => hasShortYear(text));
    if (taken.length > 0) return shortYearsSaid(cast, taken, data);
  }
  return undefined;
}

async function shortYearsSaid(
  { written: operand, type, isTry, sources }: TextCast,
  [first]: readonly { text: string }[],
  data: Data,
): Promise<string> {
  const how = await howToRead({ operand, type }, sources, data, isTry);
  const such = quoteText(first?.text ?? '');
  return `${operand}${TEXT_SUCH_AS}${such}, ${FIRST_FOR_YEAR}: years below 100 are wrong.${how}`;
}

const FIRST_FOR_YEAR = 'whose first number a cast takes for the year';

/** Whether a warning is about times that are far from those that are meant. */
export const isOfUnits = (warning: string): boolean => warning.includes(FIRST_FOR_YEAR) || warning.includes(SINCE_1970);

/** What reads all values but words, which are to be NULL if they were; a sentence, or nothing. */
async function howToRead(cast: Cast, sources: Sources, data: Data, isTry: boolean): Promise<string> {
  const reading = await readingOf(cast, sources, data, undefined, isMissing);
  if (reading === undefined || reading === 'right' || reading.sql === `TRY_CAST(${cast.operand} AS ${cast.type})`)
    return '';
  if (reading.sql !== undefined) return ` ${isTry ? triedSql(reading.sql) : reading.sql} reads them.`;
  const how = reading.apart === undefined ? reading.ways : reading.said;
  return how === undefined ? '' : ` ${how}`;
}

/** Words among the values are to be NULL, as with the cast that there was. */
const triedSql = (sql: string) => sql.replace(/^CAST/, 'TRY_CAST').replace(/\bstrptime\(/, 'try_strptime(');

/** Whether the values of a field have another order as text than is meant. */
export async function misorderOf(
  field: TextField,
  written: string,
  data: Data,
  other?: string,
): Promise<Misordered | undefined> {
  const texts = await fewTextsOf(field, ['DOUBLE', 'TIMESTAMP'], data);
  const values = texts.map(({ text, reads: [isNumber = false, isTime = false] }) => ({ text, isNumber, isTime }));
  return misordered(written, values, other);
}

/** The text that a field is compared with; undefined: it is none. */
export function otherText(other: TextOrder['other'], values: ReadonlyMap<string, Typed>): string | undefined {
  if (other === undefined || 'text' in other) return other?.text;
  for (const [name, { value }] of values)
    if (foldName(name) === other.parameter && typeof value === 'string') return value;
  return undefined;
}
