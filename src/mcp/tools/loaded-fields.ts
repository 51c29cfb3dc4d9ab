import { counted } from '../../contract/in-words.ts';
import { estimateTokens } from '../room.ts';
import type { Found } from './addressing.ts';
import { EXTRA_COLUMN, isJson, linesOf } from './field-lines.ts';
import { foldLines } from './fold-lines.ts';
import { inferFields } from './infer.ts';
import { typePlaces } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

const SAMPLE = 200;
const FIELDS_MAX = 400;
/** Columns that every collection has. */
const OWN = ['_id', '_event_time'];

/** The fields of a collection, in one line. */
export interface LoadedFields {
  /** `name VARCHAR, address {city text, zip text}, tags list of text`. */
  text: string;
  paths: readonly string[];
  jsons: Found['jsons'];
  hasExtra: boolean;
}

/**
 * The fields at the top of a collection with their types, and what is in them within these, cut after some tokens.
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
  const keyed = new Set(places.filter(({ isKeyed }) => isKeyed).map(({ path }) => path));
  const documents = answer.results ?? [];
  const { fields } = inferFields(documents, FIELDS_MAX, keyed);
  const byPath = new Map(places.map((place) => [place.path, place]));
  const sampled = documents.length;
  const lines = linesOf(fields, byPath, undefined, { sampled, counted: sampled });
  const shown = lines.filter(({ path }) => !OWN.includes(path));
  const top = shown.filter(({ depth }) => depth === 0).length;
  const texts = foldLines(shown, top).map(({ path, type }) => `${path} ${type}`);
  return {
    text: cutList(texts, tokensMax),
    paths: shown.map(({ path }) => path),
    jsons: fields.filter(({ path }) => isJson(byPath.get(path))),
    hasExtra: byPath.has(EXTRA_COLUMN),
  };
}

/** As many of the texts as fit, the first of them cut if need be, and how many are left out. */
export function cutList(texts: readonly string[], tokensMax: number): string {
  let tokens = 0;
  const shown: string[] = [];
  for (const text of texts) {
    const own = estimateTokens(text) + 1;
    if (tokens + own > tokensMax) break;
    tokens += own;
    shown.push(text);
  }
  const left = texts.length - shown.length;
  return left === 0 ? shown.join(', ') : [...shown, `… ${counted(left, 'fields')} more`].join(', ');
}
