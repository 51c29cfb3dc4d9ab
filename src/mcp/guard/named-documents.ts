import { DOCUMENTS_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { OWN_QUERY } from '../../contract/own-query.ts';
import { quotedPath } from '../../contract/text.ts';
import type { Client } from '../../http/client.ts';
import type { Arguments } from '../tools/relations.ts';
import { listed, quoted } from './target.ts';

/** Finding out what to ask must not take long: the human is waiting. */
const COUNT_TIMEOUT_MS = 10_000;

/** Documents named one by one, as they are now. */
export interface NamedDocuments extends Existing {
  /** For the question. */
  line: string;
}

interface Existing {
  /** How many of them exist, and which; undefined if the service does not say. */
  count: number | undefined;
  existing: ReadonlySet<string> | undefined;
  /** What the service keeps of them as they are, to delete these; undefined if it keeps nothing. */
  selection?: string | undefined;
}

/**
 * What a delete of named documents removes: those that are there now, as they are, unless a human was `shown` a selection
 * of them (see `Human`), which it is then, if it is still kept. `documents` is the number of documents in the collection. Throws
 * `invalid_input` if none are named, too many are, or none exist.
 */
export async function namedDocuments(
  client: Client,
  args: Arguments,
  named: readonly unknown[],
  {
    documents,
    shown,
    signal,
  }: { documents: number | undefined; shown: string | undefined; signal: AbortSignal | undefined },
): Promise<NamedDocuments> {
  const ids = [...new Set(named.map((item) => (item as { _id?: unknown } | null)?._id ?? item))];
  const { length } = ids;
  if (length === 0) throw new ApiError('invalid_input', 'Cannot delete documents: none is named.');
  if (named.length > DOCUMENTS_MAX) {
    throw new ApiError(
      'invalid_input',
      `Cannot delete ${counted(named.length, 'documents')} at once: at most ${DOCUMENTS_MAX.toLocaleString('en-US')} may be named in one call; delete_documents_where takes a condition instead.`,
    );
  }
  const found =
    (await selectedOf(client, args, { ids, shown, signal })) ?? (await existingOf(client, args, ids, signal));
  const { count } = found;
  if (count === 0) {
    const none = length === 1 ? `it has no document ${quoted(ids[0])}` : `it has none of the ${length} that are named`;
    throw new ApiError(
      'invalid_input',
      `Cannot delete documents of collection ${quoted(args['collection'])}: ${none}. Find the _id with run_query.`,
    );
  }
  const names = listed(ids);
  const of = documents === undefined ? '' : ` of the ${documents.toLocaleString('en-US')} it has`;
  if (count === length) return { ...found, line: `${counted(length, 'documents')}${of} will be gone: ${names}.` };
  const those = `${counted(length, 'documents')} named (${names})`;
  if (count === undefined) {
    return { ...found, line: `Of ${those}, what exists will be gone; it could not be counted.` };
  }
  const line = `Of ${those}, ${count.toLocaleString('en-US')} ${count === 1 ? 'exists' : 'exist'}: ${counted(count, 'documents')}${of} will be gone.`;
  return { ...found, line };
}

/** Undefined if the service cannot select these: one of another maker, or an earlier one, which asks for a condition. */
async function selectedOf(
  client: Client,
  { workspace, collection }: Arguments,
  { ids, shown, signal }: { ids: readonly unknown[]; shown: string | undefined; signal: AbortSignal | undefined },
): Promise<Existing | undefined> {
  const target = { workspace: String(workspace), collection: String(collection) };
  const named = { ids: ids.map(String), ...(shown === undefined ? {} : { shown }) };
  try {
    const selected = await client.selectDocuments({ ...target, ...named }, { signal });
    const { documents, ids: there, selection } = selected;
    if (documents == null || !Array.isArray(there)) return undefined;
    return { count: documents, existing: new Set(there), selection: selection ?? undefined };
  } catch (error) {
    if (isUnknownEndpoint(error) || (error instanceof ApiError && error.code === 'invalid_input')) return undefined;
    throw error;
  }
}

/** Whether an error says that the service has no such endpoint, and not that something is missing there. */
export function isUnknownEndpoint(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'not_found' && error.details.messageKey === undefined;
}

async function existingOf(
  client: Client,
  args: Arguments,
  ids: readonly unknown[],
  signal: AbortSignal | undefined,
): Promise<Existing> {
  const { workspace, collection } = args;
  if (typeof workspace !== 'string' || typeof collection !== 'string') return { count: undefined, existing: undefined };
  const table = quotedPath(workspace, collection);
  const query = `${OWN_QUERY} SELECT count(*) AS n, list(_id ORDER BY _id) AS ids FROM ${table} WHERE _id IN (SELECT unnest(:ids))`;
  const sql = { query, parameters: [{ name: 'ids', type: 'array' as const, value: ids.map(String) }] };
  try {
    const { results } = await client.runQuery({ sql }, { signal, timeoutMs: COUNT_TIMEOUT_MS });
    const { n, ids: there } = results?.[0] ?? {};
    return {
      count: typeof n === 'number' ? n : undefined,
      existing: Array.isArray(there) ? new Set(there.map(String)) : undefined,
    };
  } catch {
    // The question then says that they could not be counted; the human decides.
    return { count: undefined, existing: undefined };
  }
}
