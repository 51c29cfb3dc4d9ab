import { inQuotes, quotedPath } from '../../contract/text.ts';
import { estimateTokens } from '../room.ts';
import { readPath } from './field-figures.ts';
import { ANY_FIELD, ANY_KEY, isUuid } from './infer.ts';
import { type TypePlace, typePlaces } from './sql-type.ts';
import type { ToolContext } from './tool.ts';

/**
 * What is in the texts of a collection, for a condition to be right at once: whether a size is "large" or "L", how a date is
 * written, which code joins one collection with another.
 */

/** Documents that are looked at: the first ones, fewer if they are large. */
const DOCUMENTS_MAX = 10_000;
const BYTES_MAX = 20_000_000;
/** Places that are looked at, and levels below the column. */
const PLACES_MAX = 60;
const DEPTH_MAX = 1;
/** So many different texts are all listed, if they are short. */
const LISTED_MAX = 12;
const LIST_CHARS_MAX = 140;
/** A longer text says little of others. */
const CHARS_MAX = 30;
/** A smaller number is no time since 1970, in whatever unit. */
const EPOCH_MIN = 1_000_000_000;
/** Of a list that is a value. */
const ITEMS_MAX = 20;

/** A collection that is looked at. */
export interface Table {
  workspace: string;
  name: string;
  documents: number;
  bytes: number;
  columns: readonly { name: string; type: string }[];
}

/**
 * By the path of a field what is in it, `(large, medium, small)`, or an example, `(CDG, …)`; of a map that is an example of
 * its keys. At most so many tokens, first those that are all there is. Empty if they cannot be read.
 */
export async function fieldValues(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  { workspace, name, documents, bytes, columns }: Table,
  tokensMax: number,
): Promise<ReadonlyMap<string, string>> {
  const places = columns.flatMap((column) => typePlaces(column.name, column.type));
  const asked = places.flatMap(askedOf).slice(0, PLACES_MAX);
  if (asked.length === 0) return new Map();
  const from = quotedPath(workspace, name);
  const looked = Math.ceil(Math.min(DOCUMENTS_MAX, documents * Math.min(1, BYTES_MAX / Math.max(1, bytes))));
  const read = asked.map(
    ({ list, example, isWhole = 'true' }, index) =>
      `${list} AS l${index}, ${example} AS e${index}, ${isWhole} AS w${index}`,
  );
  const query = `SELECT ${read.join(', ')} FROM (SELECT * FROM ${from} LIMIT ${looked})`;
  const answer = await client.runQuery({ sql: { query } }, { signal }).catch(() => undefined);
  const row = answer?.results?.[0] ?? {};
  const found = asked.flatMap(({ path }, index) => {
    const text = textOf(row[`l${index}`], row[`e${index}`], documents <= looked && row[`w${index}`] === true);
    return text === undefined ? [] : [{ path, text, isAll: !text.endsWith('…)') }];
  });
  let left = tokensMax;
  const kept = found
    .toSorted((a, b) => Number(b.isAll) - Number(a.isAll))
    .filter(({ text }) => {
      const tokens = estimateTokens(text);
      if (tokens <= left) left -= tokens;
      else return false;
      return true;
    });
  return new Map(kept.map(({ path, text }) => [path, text]));
}

interface Asked {
  path: string;
  list: string;
  example: string;
  /** Whether all that the documents have there was looked at; default: it was. */
  isWhole?: string;
}

/** SQL for the first different texts of a place, and for one that is not empty; none if it has no texts. */
function askedOf({ path, type, depth, any }: TypePlace): Asked[] {
  if (depth > DEPTH_MAX || path === '_id' || path.endsWith(ANY_FIELD)) return [];
  const { column, steps } = readPath(path);
  const [last] = steps.slice(-1);
  const names = steps.flatMap((step) => (typeof step === 'object' ? [step.name] : []));
  const value = names.reduce((of, name) => `struct_extract(${of}, ${inQuotes(name, "'")})`, column);
  const inside = steps.length - names.length;
  if (any === ANY_KEY && inside === 0) return [{ path, ...example(`map_keys(${value})[1]`) }];
  // Whether a time is in seconds or milliseconds.
  if (type === 'BIGINT' && inside === 0)
    return [{ path, list: 'NULL', example: `any_value(${value}) FILTER (WHERE ${value} >= ${EPOCH_MIN})` }];
  if (type !== 'VARCHAR') return [];
  if (inside === 0) {
    const list = `list_sort(list(DISTINCT ${cut(value)}) FILTER (WHERE ${value} IS NOT NULL))[:${LISTED_MAX + 1}]`;
    return [{ path, list, example: example(value).example }];
  }
  if (inside > 1 || typeof last === 'object') return [];
  if (last === 'value') return [{ path, ...example(`map_values(${value})[1]`) }];
  const items = `list_distinct(flatten(list(${value}[:${ITEMS_MAX}])))`;
  const list = `list_transform(list_sort(${items})[:${LISTED_MAX + 1}], lambda x: ${cut('x')})`;
  const isWhole = `coalesce(max(len(${value})), 0) <= ${ITEMS_MAX}`;
  return [{ path, list, example: example(`${value}[1]`).example, isWhole }];
}

const cut = (text: string) => `left(${text}, ${CHARS_MAX + 1})`;
const example = (text: string) => ({
  list: 'NULL',
  example: `any_value(${cut(text)}) FILTER (WHERE ${text} <> '')`,
});

function textOf(list: unknown, one: unknown, isWhole: boolean): string | undefined {
  const texts = Array.isArray(list) ? list.map(String) : [];
  const isShort = texts.every(({ length }) => length <= CHARS_MAX) && texts.join('').length <= LIST_CHARS_MAX;
  if (texts.length > 0 && texts.length <= LISTED_MAX && isShort) {
    return `(${[...texts.map(literal), ...(isWhole ? [] : ['…'])].join(', ')})`;
  }
  if (typeof one === 'number' || typeof one === 'bigint') return `(${one}, …)`;
  if (typeof one !== 'string' || one.length > CHARS_MAX || isUuid(one)) return undefined;
  return `(${literal(one)}, …)`;
}

/** As it is, if that is one word; else as SQL has it. */
function literal(text: string): string {
  return /^[A-Za-z][\w-]*$/.test(text) ? text : inQuotes(text, "'");
}
