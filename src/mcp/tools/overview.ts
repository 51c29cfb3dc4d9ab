import type { Collection } from '../../contract/collections.ts';
import { type Fenced, visibleValue } from '../fence.ts';
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
/** More collections are listed by their names alone. */
const LISTED_MAX = 500;

interface Listed {
  collection: string;
  documents: number;
  /** ISO-8601, to the minute; when a document was last added, changed or deleted. */
  changed?: string;
  /** As of `fieldsText`. */
  fields?: string;
  description?: string;
  retention_secs?: number;
  aliases?: (string | null | undefined)[];
  status?: string;
}

/** The collections with their fields, in one line each. */
export async function presentCollections(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  collections: readonly Collection[],
): Promise<Fenced> {
  const shown = collections.slice(0, LISTED_MAX);
  const tokens = Math.min(FIELDS_TOKENS_MAX, Math.floor(FIELDS_TOKENS / Math.max(1, shown.length)));
  const hasFields = tokens >= FIELDS_TOKENS_MIN;
  const fields = hasFields && shown.length > 0 ? await fieldsOf(client, tokens, signal) : new Map<string, string>();
  const items = shown.map((one): Listed => {
    const { name, workspace, stats, status, description, retention_secs: retention, aliases } = one;
    const collection = [workspace, name].map((part) => identifier(part ?? '')).join('.');
    const changed = stats?.last_updated_ms ? new Date(stats.last_updated_ms).toISOString().slice(0, 16) : undefined;
    const told = fields.get(`${workspace}.${name}`);
    return {
      collection,
      documents: stats?.doc_count ?? 0,
      ...(changed === undefined || !hasFields ? {} : { changed: `${changed}Z` }),
      ...(told ? { fields: told } : {}),
      ...(description ? { description: description.slice(0, 200) } : {}),
      ...(retention ? { retention_secs: retention } : {}),
      ...(aliases?.length ? { aliases: aliases.map((alias) => alias.name) } : {}),
      ...(status && status !== 'READY' ? { status } : {}),
    };
  });
  const left = collections.length - shown.length;
  return {
    data: {
      items: visibleValue(items),
      returned: items.length,
      total: collections.length,
      truncated: left > 0,
    },
    text: [...items.map(lineOf), ...(left > 0 ? [`(${items.length} of ${collections.length})`] : [])].join('\n'),
    next: left > 0 ? `${left} are left out: list_workspace_collections has those of one workspace.` : undefined,
  };
}

/** `ws.name (250 documents, changed 2026-11-25T04:44Z): name {common, official}, area DOUBLE`. */
function lineOf({ collection, documents, changed, fields, ...others }: Listed): string {
  const facts = [`${documents} documents`, ...(changed === undefined ? [] : [`changed ${changed}`])];
  const rest = Object.entries(others).map(([key, value]) => `; ${key}: ${JSON.stringify(value)}`);
  return `${collection} (${facts.join(', ')})${fields === undefined ? '' : `: ${fields}`}${rest.join('')}`;
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
