import { counted } from '../../contract/in-words.ts';
import { cut } from '../../contract/text.ts';
import type { FieldNews, NewSpelling, NewStrays, TypeChange } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { collectionKey } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { lambdasReading } from '../collections/dependents.ts';

/** Warnings in the answer of a write, in addition to the outcome for each document. */

const LAMBDAS_MAX = 5;
const TEXT_CHARS_MAX = 100;
const short = (text: string) => cut(text, TEXT_CHARS_MAX);

/** Warnings about fields: changed types, values that do not fit theirs, and names that differ only in letter case. */
export function fieldWarnings(catalog: Catalog, collection: CollectionRecord, news: readonly FieldNews[]): string[] {
  const spellings = news.flatMap((one) => one.spellings);
  return [
    ...changeWarnings(catalog, collection, news),
    ...strayWarnings(collectionKey(collection.workspace, collection.name), news),
    ...spellings.map((one) => spellingWarning(one, collection)),
  ];
}

function spellingWarning({ field, column, sql }: NewSpelling, { workspace, name }: CollectionRecord): string {
  const [other, known] = [JSON.stringify(short(field)), JSON.stringify(short(column))];
  const read = sql.length > 2 * TEXT_CHARS_MAX ? '' : `, or read both: ${sql}`;
  return `${other} of ${collectionKey(workspace, name)} differs from ${known} only in letter case, which SQL does not tell apart: either spelling reads ${known} alone, and ${other} is in _extra. Load the field in one spelling (a document that is added again with its _id is replaced)${read}.`;
}

/** Warns of fields whose type a write changed, and names the lambdas that may fail or answer otherwise because of it. */
function changeWarnings(catalog: Catalog, collection: CollectionRecord, news: readonly FieldNews[]): string[] {
  if (news.every((one) => one.changed === 0)) return [];
  const name = collectionKey(collection.workspace, collection.name);
  const changes = news.flatMap((one) => one.changes);
  const more = news.reduce((sum, one) => sum + one.changed, 0) - changes.length;
  const keys = more > 0 ? undefined : changes.map(({ path }) => lastKey(path));
  const lambdas = lambdasReading(catalog, collection, keys).map((one) => `${one.workspace}.${one.name}`);
  const rest = lambdas.length - LAMBDAS_MAX;
  return [
    ...changes.map((change) => changeWarning(change, name)),
    ...(more > 0 ? [`${counted(more, 'more fields')} of ${name} changed their type, too.`] : []),
    ...(lambdas.length > 0
      ? [
          `Lambdas that read ${name}, and may fail or answer otherwise now: ${lambdas.slice(0, LAMBDAS_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`,
        ]
      : []),
  ];
}

function changeWarning({ path, before, after }: TypeChange, collection: string): string {
  const shown = short(path);
  if (after.startsWith('MAP')) {
    return `${shown} of ${collection} is a MAP from now on, since its keys are data: ${shown}.key and ${shown}['key'] read it as before, in the letter case of the documents, and map_keys(${shown}) are its keys; ${shown}.* and the functions of structs fail.`;
  }
  const was = `${shown} of ${collection} was ${short(before)} and is ${short(after)} from now on`;
  if (after !== 'JSON') return `${was}, since most of its values do not fit ${short(before)}.`;
  return `${was}, since its values have no type in common: it compares and sorts by its text; (x->>'$') reads the text, TRY_CAST(x->>'$' AS DOUBLE) the number.`;
}

function strayWarnings(collection: string, news: readonly FieldNews[]): string[] {
  const strays = news.flatMap((one) => one.strays);
  const more = news.reduce((sum, one) => sum + one.strayed, 0) - strays.length;
  return [
    ...strays.map((one) => strayWarning(one, collection)),
    ...(more > 0
      ? [`${counted(more, 'more fields')} of ${collection} ${more === 1 ? 'has' : 'have'} values that do not fit, too.`]
      : []),
  ];
}

/** An assistant gets those of a collection as one: `mcp/write-warnings.ts` takes these words apart. */
function strayWarning({ path, type, count, sql, example }: NewStrays, collection: string): string {
  const [values, do_, them] = count === 1 ? ['value', 'does', 'it'] : ['values', 'do', 'them'];
  const some = `${count.toLocaleString('en-US')} ${values} of ${short(path)} of ${collection}`;
  if (type === null) {
    return `${some} cannot be a field: the key is empty, too long, or differs from another only in letter case. The document keeps ${them}, and SQL reads ${them} in _strays alone.`;
  }
  const where =
    'line' in example
      ? `line ${example.line.toLocaleString('en-US')}`
      : `document ${JSON.stringify(short(example.id))}`;
  const isRounded = type === 'DOUBLE' && example.value.includes('beyond');
  const seen = type === 'VARCHAR' ? 'the text' : isRounded ? 'the rounded number' : 'NULL';
  return `${some} ${do_} not fit its type ${short(type)} (${where} has ${example.value}): SELECT of the field shows ${them} as given, what SQL computes sees ${seen}, and ${sql === null || sql.length > TEXT_CHARS_MAX ? '_strays' : sql} has ${them}.`;
}

/** The last name in a path, without quotes. */
export function lastKey(path: string): string {
  let end = path.length;
  while (path.endsWith('[]', end)) end -= 2;
  if (path[end - 1] !== '"') return path.replaceAll('""', '"');
  let start = end - 1;
  // Back to the quote that opens the name: two of them are one in it.
  for (let at = end - 2; at >= 0; at--) {
    if (path[at] !== '"') continue;
    start = at;
    if (path[at - 1] !== '"') break;
    at -= 1;
  }
  return path.slice(start + 1, end - 1).replaceAll('""', '"');
}

/** Whether this event time is already past the collection's retention; null: the current time. */
export function isTooOld({ retentionSecs }: CollectionRecord, eventTimeMicros: bigint | null): boolean {
  if (retentionSecs === null || eventTimeMicros === null) return false;
  return eventTimeMicros < BigInt(Date.now()) * 1_000n - BigInt(retentionSecs) * 1_000_000n;
}

/** Warns of documents that were stored but are not visible, being past retention. */
export function tooOldWarnings({ workspace, name, retentionSecs }: CollectionRecord, tooOld: number): string[] {
  if (tooOld === 0) return [];
  const [are, they] = tooOld === 1 ? ['is', 'it'] : ['are', 'they'];
  return [
    `${counted(tooOld, 'documents')} of this write ${are} past the retention of ${collectionKey(workspace, name)} (${retentionSecs} seconds) by the _event_time that ${they} came with: no query sees ${tooOld === 1 ? 'it' : 'them'}, and ${they} will be removed.`,
  ];
}

/** Warns of documents that the collection's query left out. */
export function droppedWarnings({ workspace, name }: CollectionRecord, dropped: number): string[] {
  if (dropped === 0) return [];
  const [are, them] = dropped === 1 ? ['is', 'it'] : ['are', 'them'];
  return [
    `${counted(dropped, 'documents')} of this write ${are} not stored: the WHERE of the field_mapping_query of ${collectionKey(workspace, name)} is not true for ${them}. In an answer with a row for each document theirs says DELETED; what is stored under the same _id stays as it is.`,
  ];
}

/** Warns of event times that were most likely sent in another unit. */
export function near1970Warnings(near1970: number): string[] {
  if (near1970 === 0) return [];
  return [
    `${counted(near1970, 'documents')} of this write ${near1970 === 1 ? 'has' : 'have'} an _event_time about 1970: as a number it counts microseconds since 1970. Send seconds times 1000000, milliseconds times 1000, or ISO-8601 text; or make the collection with "event_time_info": {"field": "_event_time" or another one, "format": "seconds_since_epoch" or "milliseconds_since_epoch"}.`,
  ];
}
