import type { Found } from './addressing.ts';
import { EXTRA_COLUMN, isJson, linesOf } from './field-lines.ts';
import { fieldsText } from './fields-text.ts';
import { inferFields } from './infer.ts';
import { typePlaces } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

const SAMPLE = 200;
const FIELDS_MAX = 400;
/** Columns that every collection has. */
const OWN = ['_id', '_event_time'];

/** The fields of a collection, in one line. */
export interface LoadedFields {
  /** As `fieldsText` writes them. */
  text: string;
  paths: readonly string[];
  jsons: Found['jsons'];
  hasExtra: boolean;
}

/**
 * The fields of a collection with their types, and what is in them, in about so many tokens.
 * Undefined if they cannot be read: what was loaded is told all the same.
 */
export async function loadedFields(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  tokensMax: number,
): Promise<LoadedFields | undefined> {
  const query = `SELECT * FROM ${table} LIMIT ${SAMPLE}`;
  const answer = await client.runQuery({ sql: { query } }, { signal }).catch(() => undefined);
  if (answer === undefined) return undefined;
  const columns = answer.column_fields ?? [];
  const places = columns.flatMap(({ name, type }) => typePlaces(name ?? '', type ?? ''));
  const keyed = new Map(places.flatMap(({ path, any }) => (any === undefined ? [] : [[path, any] as const])));
  const documents = answer.results ?? [];
  const { fields } = inferFields(documents, FIELDS_MAX, keyed);
  const byPath = new Map(places.map((place) => [place.path, place]));
  const sampled = documents.length;
  const lines = linesOf(fields, byPath, undefined, { sampled, counted: sampled });
  const shown = lines.filter(({ path }) => !OWN.includes(path));
  return {
    text: fieldsText(
      columns.map(({ name, type }) => ({ name: name ?? '', type: type ?? '' })),
      tokensMax,
    ),
    paths: shown.map(({ path }) => path),
    jsons: fields.filter(({ path }) => isJson(byPath.get(path))),
    hasExtra: byPath.has(EXTRA_COLUMN),
  };
}
