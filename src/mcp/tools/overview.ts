import type { Collection } from '../../contract/collections.ts';
import { STRAYS_COLUMN } from '../../contract/strays.ts';
import { inQuotes, quotedPath } from '../../contract/text.ts';
import { oneLine } from '../answer-text.ts';
import type { Fenced } from '../fence.ts';
import { presentList } from '../results.ts';
import { cutText } from '../room.ts';
import { straysOf } from './field-strays.ts';
import { fieldValues, type Table } from './field-values.ts';
import { fieldsText } from './fields-text.ts';
import { typePlaces } from './sql-type.ts';
import { tableOf } from './table-names.ts';
import type { ToolContext } from './tool.ts';

/**
 * What there is, slim: a model needs the names of collections, how much is in them, and their fields, and can often write
 * its SQL after that.
 */

/** The tokens of all fields together, and the most and least of one collection. */
const FIELDS_TOKENS = 2_000;
const FIELDS_TOKENS_MAX = 250;
const FIELDS_TOKENS_MIN = 12;
/** Of so many collections, also what is in their texts, in at most so many tokens each. */
const VALUES_COLLECTIONS_MAX = 8;
const VALUES_TOKENS = 1_000;
const VALUES_TOKENS_MAX = 200;
/** For so long: without them the list is right all the same. */
const VALUES_MS = 3_000;
/** Fields with strays that are told, if they are in so many documents; of larger collections none are counted. */
const STRAYS_MAX = 4;
const STRAYS_SHARE_MIN = 0.01;
const STRAYS_DOCUMENTS_MAX = 100_000;
const STRAY_CHARS_MAX = 24;
/** More collections are not listed. */
const LISTED_MAX = 500;
const DESCRIPTION_CHARS_MAX = 200;
const NOTE_CHARS_MAX = 240;

type Looking = Pick<ToolContext, 'client' | 'signal' | 'offered'>;

/** The collections with their fields, in one line each. */
export async function presentCollections(context: Looking, collections: readonly Collection[]): Promise<Fenced> {
  const shown = collections.slice(0, LISTED_MAX);
  const tokens = Math.min(FIELDS_TOKENS_MAX, Math.floor(FIELDS_TOKENS / Math.max(1, shown.length)));
  const hasFields = tokens >= FIELDS_TOKENS_MIN;
  const fields = hasFields && shown.length > 0 ? await fieldsOf(context, shown, tokens) : new Map();
  const toldOf = ({ workspace, name }: Collection): string | undefined => fields.get(`${workspace}.${name}`);
  const left = collections.length - shown.length;
  const lines = shown.map((one) => lineOf(one, hasFields, toldOf(one)));
  const { data } = presentList(collections.map((one) => (toldOf(one) ? { ...one, fields: toldOf(one) } : one)));
  return {
    data,
    text: [...lines, left > 0 ? `(${shown.length} of ${collections.length})` : `(${shown.length})`].join('\n'),
    next: left > 0 ? `${left} are left out: list_workspace_collections has those of one workspace.` : undefined,
  };
}

/** `ws.name (250 documents, changed 2026-11-25T04:44Z): name {common, official}, area DOUBLE`. */
function lineOf(collection: Collection, isLong: boolean, fields: string | undefined): string {
  const {
    workspace,
    name,
    stats,
    status,
    description,
    retention_secs: retention,
    aliases,
    load_notes: notes,
  } = collection;
  const full = oneLine(tableOf({ workspace: workspace ?? '', collection: name ?? '' }));
  const changed = stats?.last_updated_ms ? new Date(stats.last_updated_ms).toISOString().slice(0, 16) : undefined;
  const facts = [
    `${stats?.doc_count ?? 0} documents`,
    ...(changed === undefined || !isLong ? [] : [`changed ${changed}Z`]),
    ...(retention ? [`kept ${retention} s`] : []),
    ...(status && status !== 'READY' ? [status] : []),
  ];
  const others = [
    ...(description ? [`description ${JSON.stringify(description.slice(0, DESCRIPTION_CHARS_MAX))}`] : []),
    ...(isLong && notes?.length ? [`told at a load ${oneLine(cutText(notes.at(-1) ?? '', NOTE_CHARS_MAX))}`] : []),
    ...(aliases?.length ? [`aliases ${aliases.map((alias) => alias.name).join(', ')}`] : []),
  ];
  return [`${full} (${facts.join(', ')})${fields ? `: ${fields}` : ''}`, ...others].join('; ');
}

/** The fields of each collection, by its name; none if they cannot be read. */
async function fieldsOf(
  { client, signal, offered }: Looking,
  shown: readonly Collection[],
  tokensMax: number,
): Promise<Map<string, string>> {
  const answer = await client.runQuery({ sql: { query: 'SHOW ALL TABLES' } }, { signal }).catch(() => undefined);
  const sizes = new Map(shown.map(({ workspace, name, stats }) => [`${workspace}.${name}`, stats]));
  // Who may not ask for documents is told nothing of what is in them.
  const mayAsk = offered === undefined || offered.has('run_query');
  const valuesMax =
    shown.length > VALUES_COLLECTIONS_MAX || !mayAsk
      ? 0
      : Math.min(VALUES_TOKENS_MAX, Math.floor(VALUES_TOKENS / shown.length));
  const told = new Map<string, string>();
  const inTime = AbortSignal.timeout(VALUES_MS);
  const looking = { client, signal: signal === undefined ? inTime : AbortSignal.any([signal, inTime]) };
  // One after the other: others ask, too.
  for (const row of answer?.results ?? []) {
    const [workspace, name, types] = [String(row['workspace']), String(row['name']), listOf(row['types'])];
    const columns = listOf(row['columns']).map((column, index) => ({ name: column, type: types[index] ?? '' }));
    const stats = sizes.get(`${workspace}.${name}`);
    if (!sizes.has(`${workspace}.${name}`)) continue;
    const [documents, bytes] = [stats?.doc_count ?? 0, stats?.total_size ?? 0];
    const table = { workspace, name, documents, bytes, columns };
    const isLookedAt = valuesMax > 0 && documents > 0 && !looking.signal.aborted;
    const values = isLookedAt ? await fieldValues(looking, table, valuesMax) : undefined;
    const strays = isLookedAt ? await straysText(looking, table) : '';
    signal?.throwIfAborted();
    told.set(`${workspace}.${name}`, `${fieldsText(columns, tokensMax, values)}${strays}`);
  }
  return told;
}

/** Fields of which many values have another type, and how these are read. */
async function straysText(
  context: Pick<ToolContext, 'client' | 'signal'>,
  { workspace, name, documents, columns }: Table,
): Promise<string> {
  if (documents > STRAYS_DOCUMENTS_MAX || !columns.some((column) => column.name === STRAYS_COLUMN)) return '';
  const table = quotedPath(workspace, name);
  const places = columns.flatMap((column) => typePlaces(column.name, column.type));
  // In a field of text SQL sees the text of any value.
  const texts = new Set(places.flatMap(({ path, type }) => (type === 'VARCHAR' ? [path] : [])));
  const { strays } = await straysOf(context, table, places, (path) => !texts.has(path)).catch(() => ({ strays: [] }));
  const many = strays.filter(({ values }) => values >= documents * STRAYS_SHARE_MIN);
  const told = many.slice(0, STRAYS_MAX).map(({ path, read = path, values, example }) => {
    return `${read} in ${values}, as ${shownValue(String(example).slice(0, STRAY_CHARS_MAX))}`;
  });
  if (told.length === 0) return '';
  return oneLine(
    `; of other types, so NULL where SQL computes: ${told.join('; ')}${many.length > STRAYS_MAX ? `; +${many.length - STRAYS_MAX}` : ''}`,
  );
}

/** A value that looks like more than one is quoted, so that it cannot pass for what is told. */
const shownValue = (text: string) => (/^[\w.+-]*$/.test(text) ? text : inQuotes(text, "'"));

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
