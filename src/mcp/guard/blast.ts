import type { Extent } from '../../contract/extent.ts';
import { counted } from '../../contract/in-words.ts';
import { distinctText } from '../../contract/visible.ts';
import type { Client } from '../../http/client.ts';
import type { RowTool } from '../tools/catalog.ts';
import { type Arguments, contentsOf, nameOf, pathArguments, pathParameters } from '../tools/relations.ts';
import { namedDocuments } from './named-documents.ts';
import { type Deletion, refuseContents, refuseInVain, refuseName, takesOwnKey } from './refusals.ts';
import { digest } from './signed-states.ts';
import { findTarget, fingerprint, listed, namedBy, quoted, type Read, siblingCount } from './target.ts';

const DAY_MS = 86_400_000;
/** Deleting this many named documents is as severe as deleting a collection. */
const MANY_DOCUMENTS = 1_000;

/** What a human has to know before agreeing, as of now. */
export interface Blast {
  /** The question, one sentence per line. */
  message: string;
  /** Set if the loss is severe: the name that the human has to type. */
  typedName: string | undefined;
  /** Changes if the target is replaced by another one of the same name. */
  target: string;
  /** What is deleted; agreeing to less does not count. */
  extent: Extent;
  /** For documents named one by one: those that exist; undefined if the service does not say. */
  existing?: ReadonlySet<string> | undefined;
}

type Call = (input: Arguments, options: { signal?: AbortSignal | undefined }) => Promise<unknown>;

/**
 * Finds out what is deleted if `tool` runs: the target, its documents or the named ones, and what lies below it. How to
 * find out is read from the contract's paths, so this works for every endpoint that deletes. Documents, which come and
 * go, are counted as late as possible: no delete of the API is conditional on the number counted.
 *
 * Rejects if it makes no sense to ask a human: `not_found` if there is no target, or the service's own error if it
 * would refuse the delete.
 */
export async function blastRadius(
  client: Client,
  tool: RowTool,
  args: Arguments,
  signal: AbortSignal | undefined,
): Promise<Blast> {
  const { row } = tool;
  const { path } = row;
  const last = pathParameters(path).at(-1);
  const deletion: Deletion = { row, noun: last, name: last === undefined ? '' : String(args[last]) };
  refuseName(deletion);
  const read: Read = (operation) => (client[operation] as Call)(pathArguments(operation, args), { signal });
  const undo = await undoLine(client, tool, signal);
  const under = await contentsUnder(read, path, args);
  const { thing: target, exact } = await findTarget(read, path, args);
  const documents = documentCount(target);
  const shown = pathParameters(path).map((parameter) => `${parameter} ${quoted(args[parameter])}`);
  const lines = [`${row.title}: ${shown.join(', ')}.`];
  const extent: Extent = {};
  let existing: Blast['existing'];
  let isSevere = row.severe === true;
  let isLast = false;
  if (exact) {
    await refuseInVain(deletion, target, read);
    if (row.refuses?.last === true) {
      for (const { kind, names } of await namedBy(read, path, deletion.name)) {
        lines.push(`Its ${kind} go with it: ${listed(names)}.`);
        extent[kind] = extentOf(names);
      }
    }
    isLast = row.whenLast !== undefined && (await siblingCount(read, path)) === 1;
    if (isLast) lines.push(row.whenLast ?? '');
    if (documents !== undefined) {
      lines.push(`${counted(documents, 'documents')} in it will be gone.`);
      extent['documents'] = { count: documents };
    }
    refuseContents(deletion, under.found);
    lines.push(...under.lines);
    Object.assign(extent, under.extent);
    const takesKey = await takesOwnKey(deletion, { client, args, signal });
    if (takesKey !== false) lines.push(lockedOutLine(takesKey === true));
    isSevere ||= takesKey !== false;
    isSevere ||= (documents ?? 0) > 0 || under.found.length > 0 || Number(target?.['collection_count'] ?? 0) > 0;
  } else {
    const named = Object.values(args).find((value) => Array.isArray(value)) as unknown[] | undefined;
    if (named !== undefined) {
      const { line, count, existing: there } = await namedDocuments(client, args, named, documents, signal);
      lines.push(line);
      existing = there;
      isSevere ||= (count ?? named.length) >= MANY_DOCUMENTS;
      if (count !== undefined) {
        extent['documents'] = { count, ...(there === undefined ? {} : { which: digest([...there].sort()) }) };
      }
    }
  }
  lines.push(undo);
  return {
    message: distinctText(lines.join('\n')),
    typedName: isSevere && last !== undefined ? deletion.name : undefined,
    // Agreeing to delete one of several entries is not agreeing to delete the last one.
    target: isLast ? `${fingerprint(target)} last` : fingerprint(target),
    extent,
    existing,
  };
}

/** Whether and until when the delete can be undone. A service that does not mention a trash has none. */
async function undoLine(client: Client, { row }: RowTool, signal: AbortSignal | undefined): Promise<string> {
  const about = row.trash === true ? await client.getAbout({}, { signal }).catch(() => undefined) : undefined;
  const days = about?.trash_days ?? 0;
  if (days <= 0) return 'This cannot be undone.';
  const until = new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
  return `It goes to the trash: an operator can restore it until ${until} with \`colloquy trash restore\`.`;
}

function lockedOutLine(isSure: boolean): string {
  const which = isSure ? 'This server itself uses this API key' : 'If this server itself uses this API key';
  const then = 'all its calls are refused (401) until a human gives it another key and restarts it.';
  return isSure ? `${which}: once it is gone, ${then}` : `${which}, ${then}`;
}

/** What lies below a path: lines for the question, those of them about existing things (`found`), and the extent. */
async function contentsUnder(read: Read, path: string, { workspace }: Arguments) {
  const lines: string[] = [];
  const found: string[] = [];
  const extent: Extent = {};
  for (const { operation, kind } of contentsOf(path)) {
    const items = await read(operation).catch(() => undefined);
    if (!Array.isArray(items)) {
      lines.push(`Its ${kind} could not be counted.`);
      continue;
    }
    // Things that have versions may be listed once per version.
    const seen = new Set<string>();
    const names = items
      .map((item) => shownName(item, singular(kind), workspace))
      .filter((name) => name === undefined || (!seen.has(name) && seen.add(name)));
    extent[kind] = extentOf(names);
    if (items.length > 0) found.push(contentLine(kind, names, items));
  }
  return { lines: [...lines, ...found], found, extent };
}

function extentOf(names: readonly (string | undefined)[]): Extent[string] {
  return { count: names.length, which: digest([...names].sort()) };
}

function documentCount(target: unknown): number | undefined {
  const stats = (target as { stats?: { doc_count?: unknown } | null } | undefined)?.stats;
  return typeof stats?.doc_count === 'number' ? stats.doc_count : undefined;
}

function singular(kind: string): string {
  return kind.replace(/s$/, '');
}

/** The name of a thing, qualified if it lies in another workspace than what it belongs to. */
function shownName(item: unknown, noun: string, own: unknown): string | undefined {
  const name = nameOf(item, noun);
  if (name === undefined || noun === 'version') return name;
  const { workspace } = item as Arguments;
  return typeof workspace === 'string' && workspace !== own ? `${workspace}.${name}` : name;
}

function contentLine(kind: string, names: readonly unknown[], items: readonly unknown[]): string {
  const documents = items.reduce<number>((sum, item) => sum + (documentCount(item) ?? 0), 0);
  const inThem = documents > 0 ? `, with ${counted(documents, 'documents')}` : '';
  return `It has ${counted(names.length, kind)} (${listed(names)})${inThem}.`;
}
