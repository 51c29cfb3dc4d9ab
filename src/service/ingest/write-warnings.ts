import { counted } from '../../contract/in-words.ts';
import type { NewJson, NewJsonField, NewSpelling } from '../../engine/engine.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { collectionKey } from '../catalog/not-found.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { lambdasReading } from '../collections/dependents.ts';

/** Warnings in the answer of a write, in addition to the outcome for each document. */

const LAMBDAS_MAX = 5;
const TEXT_CHARS_MAX = 100;

/** Warnings about fields: those that became JSON or a map, and those that differ only in letter case from another. */
export function fieldWarnings(catalog: Catalog, collection: CollectionRecord, turned: readonly NewJson[]): string[] {
  const spellings = turned.flatMap((one) => one.spellings ?? []);
  return [...newJsonWarnings(catalog, collection, turned), ...spellings.map((one) => spellingWarning(one, collection))];
}

function spellingWarning({ field, column, sql }: NewSpelling, { workspace, name }: CollectionRecord): string {
  const [other, known] = [JSON.stringify(cut(field)), JSON.stringify(cut(column))];
  const read = sql.length > 2 * TEXT_CHARS_MAX ? '' : `, or read both: ${sql}`;
  return `${other} of ${collectionKey(workspace, name)} differs from ${known} only in letter case, which SQL does not tell apart: either spelling reads ${known} alone, and ${other} is in _extra. Load the field in one spelling (a document that is added again with its _id is replaced)${read}.`;
}

/** Warns of fields that a write turned into JSON or a map, and names the lambdas whose answers may change because of it. */
function newJsonWarnings(catalog: Catalog, collection: CollectionRecord, turned: readonly NewJson[]): string[] {
  if (turned.every((one) => one.count === 0)) return [];
  const name = collectionKey(collection.workspace, collection.name);
  const fields = turned.flatMap((one) => one.fields);
  const more = turned.reduce((sum, one) => sum + one.count, 0) - fields.length;
  const keys = more > 0 ? undefined : fields.map(({ path }) => lastKey(path));
  const lambdas = lambdasReading(catalog, collection, keys).map((one) => `${one.workspace}.${one.name}`);
  const rest = lambdas.length - LAMBDAS_MAX;
  return [
    ...fields.map((field) => fieldWarning(field, name)),
    ...(more > 0 ? [`${counted(more, 'more fields')} of ${name} became JSON or a map, too.`] : []),
    ...(lambdas.length > 0
      ? [
          `Lambdas that read ${name}, and may answer otherwise now: ${lambdas.slice(0, LAMBDAS_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`,
        ]
      : []),
  ];
}

function fieldWarning(field: NewJsonField, collection: string): string {
  const { path, before, after, cause } = field;
  if (after.startsWith('MAP')) {
    const shown = cut(path);
    return `${shown} of ${collection} is a MAP from now on, since its keys are data: ${shown}.key and ${shown}['key'] read it as before, in the letter case of the documents, and map_keys(${shown}) are its keys; ${shown}.* and the functions of structs fail.`;
  }
  const why = cause === null ? '' : `, since document ${JSON.stringify(cut(cause.id))} has ${cause.value} there`;
  return `${cut(path)} of ${collection} was ${cut(before)} and is JSON from now on${why}: ${consequence(field)}, and it stays JSON.${remedy(field)}`;
}

/** The last name in a path, without quotes. */
function lastKey(path: string): string {
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

function consequence({ before }: NewJsonField): string {
  if (before.endsWith('[]'))
    return '[1] is the second item, as JSON counts from 0, len counts characters, unnest fails';
  if (before.startsWith('STRUCT')) return 'what lies in it is JSON, too; ORDER BY, min and max go by text';
  return 'ORDER BY, min and max go by its text, comparisons and sums may fail';
}

/** SQL that reads the values with their former type; none if it would silently round the new ones. */
function remedy({ path, before, cause }: NewJsonField): string {
  if (!/^[A-Z]+$/.test(before) || path.includes('[]') || path.length > TEXT_CHARS_MAX) return '';
  if (/fraction|integer beyond/.test(cause?.value ?? '')) return '';
  return ` TRY_CAST(${path}->>'$' AS ${before}) reads it as ${before} again.`;
}

function cut(text: string): string {
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;
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

/** Warns of event times that were most likely sent in another unit. */
export function near1970Warnings(near1970: number): string[] {
  if (near1970 === 0) return [];
  return [
    `${counted(near1970, 'documents')} of this write ${near1970 === 1 ? 'has' : 'have'} an _event_time about 1970: as a number it counts microseconds since 1970. Send seconds times 1000000, milliseconds times 1000, or ISO-8601 text; or make the collection with "event_time_info": {"field": "_event_time", "format": "seconds_since_epoch"} (or milliseconds_since_epoch).`,
  ];
}
