import type { Found } from './addressing.ts';
import { EXTRA_COLUMN, isJson } from './field-lines.ts';
import { fieldsText } from './fields-text.ts';
import { typePlaces } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

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
 * The fields of a collection with their types, in about so many tokens.
 * Undefined if they cannot be read: what was loaded is told all the same.
 */
export async function loadedFields(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  tokensMax: number,
): Promise<LoadedFields | undefined> {
  const query = `SELECT * FROM ${table} LIMIT 0`;
  const answer = await client.runQuery({ sql: { query } }, { signal }).catch(() => undefined);
  if (answer === undefined) return undefined;
  const columns = (answer.column_fields ?? []).map(({ name, type }) => ({ name: name ?? '', type: type ?? '' }));
  const places = columns.flatMap(({ name, type }) => typePlaces(name, type));
  return {
    text: fieldsText(columns, tokensMax),
    paths: places.map(({ path }) => path).filter((path) => !OWN.includes(path)),
    jsons: places.filter(isJson).map(({ path }) => ({ path })),
    hasExtra: places.some(({ path }) => path === EXTRA_COLUMN),
  };
}
