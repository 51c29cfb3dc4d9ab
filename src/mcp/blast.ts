import type { Operation } from '../contract/contract.ts';
import { DOCUMENTS_MAX } from '../contract/documents.ts';
import { ApiError } from '../contract/errors.ts';
import { stringifyJson } from '../contract/json.ts';
import type { Client } from '../http/client.ts';
import type { RowTool } from './catalog.ts';
import { quotedIdentifier } from './infer.ts';
import { type Arguments, contentsOf, nameOf, pathArguments, pathParameters } from './relations.ts';
import { findTarget, fingerprint, namedBy, siblingCount } from './target.ts';

const NAMES_MAX = 5;
/** A human should not wait long for a question. */
const COUNT_TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;

/** What a human has to know before saying yes, as of now. */
export interface Blast {
  /** The question, one sentence per line. */
  message: string;
  /** Set where the loss is severe: the name that the human has to type. */
  typedName: string | undefined;
  /** Changes when the target is replaced by another one of the same name. */
  target: string;
}

type Call = (input: Arguments, options: { signal?: AbortSignal | undefined }) => Promise<unknown>;

/**
 * Finds out what goes when `tool` runs: the target, the documents in it or named, and what lies under it. It reads how
 * from the contract's paths, so it holds for every endpoint that deletes.
 *
 * Rejects where a human would be asked in vain: `not_found` where there is no target, and what the service would answer
 * to a delete that it refuses.
 */
export async function blastRadius(
  client: Client,
  tool: RowTool,
  args: Arguments,
  signal: AbortSignal | undefined,
): Promise<Blast> {
  const { path, refuses } = tool.row;
  const last = pathParameters(path).at(-1);
  const name = last === undefined ? '' : String(args[last]);
  if (refuses?.names?.includes(name) === true)
    throw refusal('invalid_input', last, name, 'it always exists. Delete what is in it instead.');
  const call = (operation: Operation) => (client[operation] as Call)(pathArguments(operation, args), { signal });
  const { thing: target, exact } = await findTarget(call, path, args);
  const documents = documentCount(target);
  const lines = [
    `${tool.row.title}: ${pathParameters(path)
      .map((parameter) => `${parameter} ${quoted(args[parameter])}`)
      .join(', ')}.`,
  ];
  let isSevere = tool.row.severe === true;
  if (exact) {
    if (refuses?.last === true) {
      if ((await siblingCount(call, path)) === 1)
        throw refusal('invalid_input', last, name, 'it is the only one. Delete what it belongs to instead.');
      for (const { kind, names } of await namedBy(call, path, name)) {
        lines.push(`Its ${kind} go with it: ${listed(names)}.`);
      }
    }
    if (documents !== undefined) lines.push(`${counted(documents, 'documents')} in it will be gone.`);
    const contents: string[] = [];
    for (const { operation, kind } of contentsOf(path)) {
      const items = await call(operation).catch(() => undefined);
      if (!Array.isArray(items)) lines.push(`Its ${kind} could not be counted.`);
      else if (items.length > 0) contents.push(contentLine(kind, items));
    }
    if (contents.length > 0 && refuses?.contents === true) {
      throw refusal('dependent_resources', last, name, `it is not empty. ${contents.join(' ')} Delete these first.`);
    }
    lines.push(...contents);
    isSevere ||= (documents ?? 0) > 0 || contents.length > 0 || Number(target?.['collection_count'] ?? 0) > 0;
  } else {
    const named = Object.values(args).find((value) => Array.isArray(value)) as unknown[] | undefined;
    if (named !== undefined) lines.push(await namedLine(client, args, named, documents, signal));
  }
  lines.push(await undoLine(client, tool, signal));
  return {
    message: lines.join('\n'),
    typedName: isSevere && last !== undefined ? name : undefined,
    target: fingerprint(target),
  };
}

/** Whether and until when it can be undone. A service that says nothing of a trash keeps none. */
async function undoLine(client: Client, { row }: RowTool, signal: AbortSignal | undefined): Promise<string> {
  const about = row.trash === true ? await client.getAbout({}, { signal }).catch(() => undefined) : undefined;
  const days = about?.trash_days ?? 0;
  if (days <= 0) return 'This cannot be undone.';
  const until = new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
  return `It goes to the trash: an operator can restore it until ${until} with \`colloquy trash restore\`.`;
}

function refusal(code: 'invalid_input' | 'dependent_resources', noun: string | undefined, name: string, why: string) {
  return new ApiError(code, `Cannot delete ${noun ?? 'it'} ${quoted(name)}: ${why}`);
}

function documentCount(target: unknown): number | undefined {
  const stats = (target as { stats?: { doc_count?: unknown } | null } | undefined)?.stats;
  return typeof stats?.doc_count === 'number' ? stats.doc_count : undefined;
}

function contentLine(kind: string, items: readonly unknown[]): string {
  const documents = items.reduce<number>((sum, item) => sum + (documentCount(item) ?? 0), 0);
  const names = items.map((item) => nameOf(item, kind.replace(/s$/, '')));
  const inThem = documents > 0 ? `, with ${counted(documents, 'documents')}` : '';
  return `It has ${counted(items.length, kind)} (${listed(names)})${inThem}.`;
}

/** The first few of some names. */
function listed(names: readonly unknown[]): string {
  const more = names.length > NAMES_MAX ? `, and ${(names.length - NAMES_MAX).toLocaleString('en-US')} more` : '';
  return `${names.slice(0, NAMES_MAX).map(quoted).join(', ')}${more}`;
}

/** What becomes of the documents that the arguments name one by one; rejects where none of them exists. */
async function namedLine(
  client: Client,
  args: Arguments,
  named: readonly unknown[],
  documents: number | undefined,
  signal: AbortSignal | undefined,
): Promise<string> {
  const ids = [...new Set(named.map((item) => (item as { _id?: unknown } | null)?._id ?? item))];
  const { length } = ids;
  if (length === 0) throw new ApiError('invalid_input', 'Cannot delete documents: none is named.');
  if (named.length > DOCUMENTS_MAX) {
    throw new ApiError(
      'invalid_input',
      `Cannot delete ${counted(named.length, 'documents')} at once: at most ${DOCUMENTS_MAX.toLocaleString('en-US')} may be named in one call.`,
    );
  }
  const existing = await existingCount(client, args, ids, signal);
  if (existing === 0) {
    const none = length === 1 ? `it has no document ${quoted(ids[0])}` : `it has none of the ${length} that are named`;
    throw new ApiError(
      'invalid_input',
      `Cannot delete documents of collection ${quoted(args['collection'])}: ${none}. Find the _id with run_query.`,
    );
  }
  const shown = listed(ids);
  const of = documents === undefined ? '' : ` of the ${documents.toLocaleString('en-US')} it has`;
  if (existing === length) return `${counted(length, 'documents')}${of} will be gone: ${shown}.`;
  const those = `${counted(length, 'documents')} named (${shown})`;
  if (existing === undefined) return `Of ${those}, what exists will be gone; it could not be counted.`;
  return `Of ${those}, ${existing.toLocaleString('en-US')} ${existing === 1 ? 'exists' : 'exist'}: ${counted(existing, 'documents')}${of} will be gone.`;
}

/** How many of the named documents exist now; undefined where the service does not say. */
async function existingCount(
  client: Client,
  args: Arguments,
  ids: readonly unknown[],
  signal: AbortSignal | undefined,
) {
  const { workspace, collection } = args;
  if (typeof workspace !== 'string' || typeof collection !== 'string') return undefined;
  const table = `${quotedIdentifier(workspace)}.${quotedIdentifier(collection)}`;
  const query = `SELECT count(*) AS n FROM ${table} WHERE _id IN (SELECT unnest(:ids))`;
  const sql = { query, parameters: [{ name: 'ids', type: 'array' as const, value: ids.map(String) }] };
  try {
    const { results } = await client.runQuery({ sql }, { signal, timeoutMs: COUNT_TIMEOUT_MS });
    const count = results?.[0]?.['n'];
    return typeof count === 'number' ? count : undefined;
  } catch {
    // What cannot be counted is said to be so; the human decides.
    return undefined;
  }
}

/** `1 document`, `2 documents`: a number with the noun that is given in the plural. */
export function counted(count: number, plural: string): string {
  const noun = count === 1 ? plural.replace(/(?<=s|x|ch|sh)es$|s$/, '') : plural;
  return `${count.toLocaleString('en-US')} ${noun}`;
}

/** As JSON, so that no name can end its quotes or begin a line of its own in the question. */
function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : stringifyJson(value ?? null);
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
