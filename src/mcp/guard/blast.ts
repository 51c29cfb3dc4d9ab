import type { ApiError } from '../../contract/errors.ts';
import type { Extent } from '../../contract/extent.ts';
import { LATEST } from '../../contract/lambdas.ts';
import { distinctText } from '../../contract/visible.ts';
import type { Client } from '../../http/client.ts';
import { againCall } from '../tools/before.ts';
import type { RowTool } from '../tools/catalog.ts';
import { type Arguments, nounOf, pathArguments, pathParameters } from '../tools/relations.ts';
import { namedDocuments } from './named-documents.ts';
import {
  type About,
  contentsRefusal,
  type Deletion,
  nameRefusal,
  roleRefusal,
  takesOwnKey,
  vainRefusal,
} from './refusals.ts';
import { digest } from './signed-states.ts';
import {
  admittedLine,
  contentsUnder,
  documentCount,
  extentOf,
  failingLine,
  stateOf,
  thingLines,
  whatOf,
} from './survey.ts';
import { findTarget, fingerprint, listed, namedBy, nextLatest, quoted, type Read, siblingCount } from './target.ts';

const DAY_MS = 86_400_000;
/** Deleting this many documents is as severe as deleting a collection. */
export const MANY_DOCUMENTS = 1_000;

/** What a human has to know before agreeing, as of now. */
export interface Blast {
  /** The question, one sentence per line. */
  message: string;
  /** Its beginning: what is done, and to what. */
  what: string;
  /** Its end: whether and until when it can be undone, or the call that makes it again. */
  undo: string;
  /** Set if the loss is severe: the name that the human has to type. */
  typedName: string | undefined;
  /** Changes if the target is replaced by another one of the same name. */
  target: string;
  /** What is deleted; agreeing to less does not count. */
  extent: Extent;
  /** For documents named one by one: those that exist; undefined if the service does not say. */
  existing?: ReadonlySet<string> | undefined;
  /** Which names answer otherwise once it is done, for the answer as well. */
  afterwards?: readonly string[] | undefined;
  /** For documents: the selection of those that go, as they are; of a condition also what the service says of it. */
  selection?: string | undefined;
  warnings?: readonly string[] | undefined;
}

type Call = (input: Arguments, options: { signal?: AbortSignal | undefined }) => Promise<unknown>;

/** Who asks, of which service. */
export interface Asking {
  client: Client;
  signal: AbortSignal | undefined;
  /** The tools of the assistant that asks, by name. */
  offered?: ReadonlyMap<string, unknown> | undefined;
}

/** What is known of a delete before it is made. */
export interface Impact extends Blast {
  /** What it means, without its beginning and end. */
  lines: string[];
  /** The last day on which it can be restored from the trash; undefined: it does not go there. */
  until: string | undefined;
  /** What the service would answer, so that asking a human makes no sense. */
  refusal: ApiError | undefined;
}

/**
 * What is deleted if `tool` runs, for the question to a human. Documents, which come and go, are counted as late as
 * possible: no delete of the API is conditional on the number counted.
 *
 * Rejects if it makes no sense to ask a human: `not_found` if there is no target, or the service's own error if it
 * would refuse the delete. `shown`: see `Human`.
 */
export async function blastRadius(asking: Asking, tool: RowTool, args: Arguments, shown?: string): Promise<Blast> {
  const unnamable = nameRefusal(deletionOf(tool, args));
  if (unnamable !== undefined) throw unnamable;
  const { refusal, lines: _, until: __, ...blast } = await impactOf(asking, tool, args, shown);
  if (refusal !== undefined) throw refusal;
  return blast;
}

function deletionOf({ row }: RowTool, args: Arguments): Deletion {
  const last = pathParameters(row.path).at(-1);
  return { row, noun: nounOf(row.path), name: last === undefined ? '' : String(args[last]) };
}

/**
 * Finds out what a delete means: the target, its documents or the named ones, what lies below it and what depends on it.
 * How to find out is read from the contract's paths, so this works for every endpoint that deletes. Rejects `not_found`.
 */
export async function impactOf(
  { client, signal, offered }: Asking,
  tool: RowTool,
  args: Arguments,
  shown?: string,
): Promise<Impact> {
  const { row } = tool;
  const { path } = row;
  const deletion = deletionOf(tool, args);
  const read: Read = (operation) => (client[operation] as Call)(pathArguments(operation, args), { signal });
  const about = aboutOnce(client, signal);
  const until = row.trash === true ? await keptUntil(about) : undefined;
  const under = await contentsUnder({ client, read, signal }, path);
  const { thing: target, exact } = await findTarget(read, path, args).catch((error: unknown) => {
    // A name such as "self" is refused whether or not there is a list that has it.
    if (nameRefusal(deletion) === undefined) throw error;
    return { thing: undefined, exact: true };
  });
  const found = exact
    ? await ofThing({ deletion, target, under, read, about, client, args, signal })
    : await ofNamed(client, args, { documents: documentCount(target), shown, signal });
  const what = whatOf(row.title, pathParameters(path), args);
  const again = until === undefined ? againCall(tool.operation, args, target) : undefined;
  const undo = again === undefined ? undoLine(until, offered) : `This makes it again: ${again}.`;
  const { noun, name } = deletion;
  return {
    ...found,
    refusal: (await roleRefusal(deletion, read)) ?? found.refusal,
    what,
    undo,
    until,
    message: questionOf(what, found.lines, undo),
    typedName: found.isSevere && noun !== undefined ? name : undefined,
    // Agreeing to delete one of several entries is not agreeing to delete the last one.
    target: found.isLast ? `${fingerprint(target)} last` : fingerprint(target),
  };
}

/** The question to a human. */
export function questionOf(what: string, lines: readonly string[], undo: string): string {
  return distinctText([`${what}.`, ...lines, undo].join('\n'));
}

interface Found extends Pick<Impact, 'lines' | 'refusal' | 'extent' | 'existing' | 'selection' | 'afterwards'> {
  isSevere: boolean;
  isLast: boolean;
}

interface Thing {
  deletion: Deletion;
  target: Arguments | undefined;
  under: Awaited<ReturnType<typeof contentsUnder>>;
  read: Read;
  about: About;
  client: Client;
  args: Arguments;
  signal: AbortSignal | undefined;
}

async function ofThing({ deletion, target, under, read, about, ...more }: Thing): Promise<Found> {
  const { row, name } = deletion;
  const vain = nameRefusal(deletion) ?? (await vainRefusal(deletion, target, { read, about }));
  const lines: string[] = [];
  const extent: Extent = {};
  const afterwards: string[] = [];
  if (row.refuses?.last === true) {
    for (const { kind, names } of await namedBy(read, row.path, name)) {
      lines.push(`Its ${kind} go with it: ${listed(names)}.`);
      afterwards.push(failingLine(names));
      extent[kind] = extentOf(names);
    }
    const next = await nextLatest(read, row.path, name);
    if (next !== undefined)
      afterwards.push(`Callers of "${LATEST}" get the older version ${quoted(next)} from then on.`);
    lines.push(...afterwards);
  }
  const isLast = row.whenLast !== undefined && (await siblingCount(read, row.path)) === 1;
  if (isLast) lines.push(row.whenLast ?? '');
  else if (row.refuses?.onlyForCaller === true) {
    const admitted = admittedLine(name, (await about())?.admitted_by);
    if (admitted !== undefined) lines.push(admitted);
  }
  lines.push(
    ...thingLines(target),
    ...under.lines,
    ...(under.run === undefined ? [] : [under.run]),
    ...under.afterwards,
  );
  afterwards.push(...under.afterwards);
  const documents = documentCount(target);
  if (documents !== undefined) extent['documents'] = { count: documents, ...stateOf(target) };
  Object.assign(extent, under.extent);
  const takesKey = await takesOwnKey(deletion, { ...more, about });
  if (takesKey !== false) lines.push(lockedOutLine(takesKey === true));
  const holdsSome = (documents ?? 0) > 0 || under.found.length > 0 || Number(target?.['collection_count'] ?? 0) > 0;
  return {
    lines,
    extent,
    refusal: vain ?? contentsRefusal(deletion, under),
    isSevere: row.severe === true || takesKey !== false || holdsSome,
    isLast,
    afterwards,
  };
}

async function ofNamed(client: Client, args: Arguments, asked: Parameters<typeof namedDocuments>[3]): Promise<Found> {
  const named = Object.values(args).find((value) => Array.isArray(value)) as unknown[] | undefined;
  const none = { refusal: undefined, extent: {}, isLast: false, isSevere: false, afterwards: [] };
  if (named === undefined) return { ...none, lines: [] };
  const { line, count, existing, selection } = await namedDocuments(client, args, named, asked);
  // By the selection the ones that were shown are found again, as they were.
  const which = existing === undefined ? {} : { which: selection ?? digest([...existing].sort()) };
  return {
    ...none,
    lines: [line],
    existing,
    selection,
    extent: count === undefined ? {} : { documents: { count, ...which } },
    isSevere: (count ?? named.length) >= MANY_DOCUMENTS,
  };
}

const NOT_UNDONE = 'This cannot be undone.';

/** What the service says of itself, asked once. */
export function aboutOnce(client: Client, signal: AbortSignal | undefined): About {
  let asked: ReturnType<About> | undefined;
  return () => {
    asked ??= client.getAbout({}, { signal }).catch(() => undefined);
    return asked;
  };
}

/** Until which day what goes to the trash can be restored. A service that does not mention a trash has none. */
export async function keptUntil(about: About): Promise<string | undefined> {
  const days = (await about())?.trash_days ?? 0;
  return days <= 0 ? undefined : new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
}

/** Whether a delete can be undone, and by whom, in words for the human who is asked. */
export function undoLine(until: string | undefined, offered?: Asking['offered']): string {
  if (until === undefined) return NOT_UNDONE;
  const also = offered?.has('restore_from_trash') === true ? ', and this assistant with restore_from_trash' : '';
  return `It goes to the trash: an operator can restore it until ${until} with \`colloquy trash restore\`${also}.`;
}

function lockedOutLine(isSure: boolean): string {
  const which = isSure ? 'This server itself uses this API key' : 'If this server itself uses this API key';
  const then = 'all its calls are refused (401) until a human gives it another key and restarts it.';
  return isSure ? `${which}: once it is gone, ${then}` : `${which}, ${then}`;
}
