import type { Collection } from '../../contract/collections.ts';
import { oneLine } from '../answer-text.ts';
import type { Fenced } from '../fence.ts';
import { presentList } from '../results.ts';
import { fieldsText } from './fields-text.ts';
import { identifier } from './infer.ts';
import type { ToolContext } from './tool.ts';

/**
 * What there is, slim: a model needs the names of collections, how much is in them, and their fields, and can often write
 * its SQL after that.
 */

/** The tokens of all fields together, and the most and least of one collection. */
const FIELDS_TOKENS = 2_000;
const FIELDS_TOKENS_MAX = 250;
const FIELDS_TOKENS_MIN = 12;
/** More collections are not listed. */
const LISTED_MAX = 500;
const DESCRIPTION_CHARS_MAX = 200;

/** The collections with their fields, in one line each. */
export async function presentCollections(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  collections: readonly Collection[],
): Promise<Fenced> {
  const shown = collections.slice(0, LISTED_MAX);
  const tokens = Math.min(FIELDS_TOKENS_MAX, Math.floor(FIELDS_TOKENS / Math.max(1, shown.length)));
  const hasFields = tokens >= FIELDS_TOKENS_MIN;
  const fields = hasFields && shown.length > 0 ? await fieldsOf(client, tokens, signal) : new Map<string, string>();
  const toldOf = ({ workspace, name }: Collection) => fields.get(`${workspace}.${name}`);
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
  const { workspace, name, stats, status, description, retention_secs: retention, aliases } = collection;
  const full = oneLine([workspace, name].map((part) => identifier(part ?? '')).join('.'));
  const changed = stats?.last_updated_ms ? new Date(stats.last_updated_ms).toISOString().slice(0, 16) : undefined;
  const facts = [
    `${stats?.doc_count ?? 0} documents`,
    ...(changed === undefined || !isLong ? [] : [`changed ${changed}Z`]),
    ...(retention ? [`kept ${retention} s`] : []),
    ...(status && status !== 'READY' ? [status] : []),
  ];
  const others = [
    ...(description ? [`description ${JSON.stringify(description.slice(0, DESCRIPTION_CHARS_MAX))}`] : []),
    ...(aliases?.length ? [`aliases ${aliases.map((alias) => alias.name).join(', ')}`] : []),
  ];
  return [`${full} (${facts.join(', ')})${fields ? `: ${fields}` : ''}`, ...others].join('; ');
}

/** The fields of each collection, by its name; none if they cannot be read. */
async function fieldsOf(
  client: ToolContext['client'],
  tokensMax: number,
  signal: AbortSignal | undefined,
): Promise<Map<string, string>> {
  const answer = await client.runQuery({ sql: { query: 'SHOW ALL TABLES' } }, { signal }).catch(() => undefined);
  return new Map(
    (answer?.results ?? []).map((row) => {
      const [names, types] = [listOf(row['columns']), listOf(row['types'])];
      const columns = names.map((name, index) => ({ name, type: types[index] ?? '' }));
      return [`${String(row['workspace'])}.${String(row['name'])}`, fieldsText(columns, tokensMax)];
    }),
  );
}

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
