import { TEXT_SUCH_AS } from '../../../../contract/errors.ts';
import { cut } from '../../../../contract/text.ts';
import { isText, type Origin, type Sources } from '../../gate/field-origins.ts';
import { type Cast, isTime } from '../../sql/corrections/casts.ts';
import { hasDigit, type Reading, readingFor, type Sampled, unclearReading } from '../../sql/corrections/readings.ts';
import { quoteName, quoteText } from '../../sql/names.ts';
import { sqlPath } from '../../sql/references.ts';
import { fieldName } from '../../sql/syntax-hints.ts';
import { type Data, engineType, lostOf, rowsOf, sampled, textsOf } from './samples.ts';

/*
 * How a cast of text has to be, by the values of every field that feeds it: what the fields of a UNION, a join or a
 * coalesce() have need not be spelled alike, and what reads one of them may make another number of the next.
 */

/** How what several fields feed is read. */
export interface FieldReading extends Reading {
  /** Set if no single SQL reads all of them. */
  isApart?: true;
}

/** A field of text that a cast is fed by. */
interface Part {
  field: Origin;
  values: readonly Sampled[];
  reading: Reading | 'right';
}

/**
 * How a cast has to be; `failing` is a value that an error has named, and values for which `isLeftOut` holds do not count.
 * Undefined: nothing of what feeds it is text, or there are no values.
 */
export async function readingOf(
  cast: Cast,
  { fields, isComputed }: Sources,
  data: Data,
  failing?: string,
  isLeftOut: (text: string) => boolean = () => false,
): Promise<FieldReading | 'right' | undefined> {
  const texts = fields.filter(isText);
  const seen = await textsOf(
    texts.map((field) => ({ field, types: [cast.type] })),
    data,
  );
  const sampledOf = texts.map((field, at) => {
    const values = (seen[at] ?? []).map(sampled).filter(({ text }) => !isLeftOut(text));
    return { field, values };
  });
  // What few have decides, too.
  for (const { field, values } of sampledOf.filter(({ values }) => values.every(({ isRead }) => isRead))) {
    const { texts = [] } = (values.some(hasDigit) && (await lostOf(field, cast.type, data))) || {};
    values.push(...texts.filter((text) => !isLeftOut(text)).map((text) => ({ text, isRead: false })));
  }
  const some = sampledOf.filter(({ values }) => values.length > 0);
  if (failing !== undefined && sampledOf.every(({ values }) => values.every(({ isRead }) => isRead))) {
    const [first = sampledOf[0]] = some;
    if (first === undefined) return undefined;
    first.values.push({ text: failing, isRead: false });
    if (some.length === 0) some.push(first);
  }
  const parts: Part[] = [];
  for (const { field, values } of some) parts.push({ field, values, reading: await triedReading(cast, values, data) });
  const [only] = parts;
  if (only === undefined) return undefined;
  const others = fields.filter((one) => !isText(one));
  if (parts.length === 1 && others.length === 0 && !isComputed) return only.reading;
  const plain = plainly({ sql: `CAST(${cast.operand} AS ${cast.type})` });
  const ways = new Set(parts.map(({ reading }) => (reading === 'right' ? plain : plainly(reading))));
  if (others.length > 0 || isComputed) ways.add(plain);
  if (ways.size === 1 && !ways.has(undefined)) {
    const all = parts.flatMap(({ values }) => values);
    return triedReading(cast, all, data);
  }
  return apartOf(cast, parts, others, isComputed);
}

/** A reading without what only says that words are NULL. */
const plainly = ({ sql }: Reading) => sql?.replace(/\bTRY_CAST\(/g, 'CAST(').replace(/\btry_strptime\(/g, 'strptime(');

/** As few values may be lost by what reads the others. */
const LOST_SHARE = 0.01;

/** The reading of values, if the engine reads them by it. */
async function triedReading(cast: Cast, values: readonly Sampled[], data: Data): Promise<Reading | 'right'> {
  const reading = readingFor(cast, values);
  if (reading === 'right' || reading.sql === undefined) return reading;
  const { sql = '' } = asReading(readingFor({ ...cast, operand: 'v', type: engineType(cast.type) }, values));
  const year = isTime(cast.type) ? 'year(CAST(r AS TIMESTAMP))' : 'NULL';
  const texts = values.map(({ text }) => quoteText(text.replaceAll('\0', ''))).join(', ');
  const run = `SELECT r IS NOT NULL, ${year} FROM (SELECT ${sql} AS r FROM (SELECT unnest([${texts}]) AS v))`;
  const rows = await rowsOf(data.connection, run);
  const isTold = sql === `TRY_CAST(v AS ${engineType(cast.type)})`;
  const lost = values.filter((value, at) => {
    const [isThere, found] = rows[at] ?? [];
    if (isThere !== true) return hasDigit(value) && (!isTold || value.isRead);
    return found !== null && found !== undefined && (Number(found) < 1_000 || Number(found) > 9_999);
  });
  return rows.length > 0 && lost.length <= values.length * LOST_SHARE ? reading : unclearReading(cast, values);
}

const asReading = (reading: Reading | 'right'): Reading => (reading === 'right' ? {} : reading);

/** Fields that are named. */
const NAMED_MAX = 4;

/** What to say of fields that are read differently. */
function apartOf(cast: Cast, parts: readonly Part[], others: readonly Origin[], isComputed: boolean): FieldReading {
  const shown = [
    ...others.map((field) => `${nameOf(field)} is ${field.type}`),
    ...parts.map(({ field, values }) => `${nameOf(field)}${TEXT_SUCH_AS}${quoteText(exampleOf(values))}`),
  ];
  const computed = isComputed ? ['the rest is computed'] : [];
  const from = `${cast.operand} has several sources, which nothing reads alike: ${[...shown.slice(0, NAMED_MAX), ...computed].join('; ')}`;
  const unclear = parts.find(({ reading }) => reading !== 'right' && reading.sql === undefined);
  if (unclear !== undefined) return { said: `${from}. ${asReading(unclear.reading).said ?? ''}` };
  const { field, values = [] } = parts.find(({ reading }) => reading !== 'right') ?? {};
  if (field === undefined) return { said: `${from}.` };
  const sql = inCollection(cast, field, values);
  const [column = '', ...within] = field.path;
  const own =
    within.length > 0
      ? `${sql} of ${field.table.name}`
      : `SELECT * REPLACE (${sql} AS ${quoteName(column)}) FROM ${sqlPath(field.table)}`;
  return { said: `${from}. Read each in the SELECT of its own collection: ${own}.`, isApart: true };
}

function inCollection(cast: Cast, { path }: Origin, values: readonly Sampled[]): string {
  const own = { ...cast, operand: path.map(fieldName).join('.') };
  return asReading(readingFor(own, values)).sql ?? `CAST(${own.operand} AS ${own.type})`;
}

const nameOf = ({ table, path }: Origin) => `${table.name}.${path.join('.')}`;

/** The first value that a cast does not read. */
function exampleOf(values: readonly Sampled[]): string {
  const { text = '' } = values.find(({ isRead }) => !isRead) ?? values[0] ?? {};
  return cut(text, EXAMPLE_CHARS_MAX);
}

const EXAMPLE_CHARS_MAX = 40;
