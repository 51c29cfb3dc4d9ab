import type { Extent } from '../../contract/extent.ts';
import { bytesText, counted } from '../../contract/in-words.ts';
import { isObject } from '../../contract/json/json.ts';
import { LATEST } from '../../contract/lambdas.ts';
import type { Client } from '../../http/client.ts';
import { lineText } from '../fence.ts';
import { listedName } from '../tools/catalog.ts';
import { type Arguments, contentsOf, nameOf } from '../tools/relations.ts';
import { digest } from './signed-states.ts';
import { listed, quoted, type Read } from './target.ts';

/** What lies below a thing. */
export interface Contents {
  /** For the question: what is there, and what could not be counted. */
  lines: string[];
  /** Those of them about existing things. */
  found: string[];
  /** These, each as the service names what uses something: `alias "shop.recent"`. */
  users: string[];
  /** Which names answer otherwise without the thing. */
  afterwards: string[];
  /** When a lambda was last run, of all its versions. */
  run: string | undefined;
  extent: Extent;
}

/** What lies below a path. */
export async function contentsUnder(
  { client, read, signal }: { client: Client; read: Read; signal: AbortSignal | undefined },
  path: string,
): Promise<Contents> {
  const lines: string[] = [];
  const found: string[] = [];
  const users: string[] = [];
  const listedItems = new Map<string, readonly Arguments[]>();
  const extent: Extent = {};
  for (const { operation, kind } of contentsOf(path)) {
    const items = await read(operation).catch(() => undefined);
    if (!Array.isArray(items)) {
      lines.push(`Its ${kind} could not be counted.`);
      continue;
    }
    listedItems.set(kind, items);
    // Things that have versions may be listed once per version.
    const seen = new Set<string>();
    const names = items
      .map((item) => shownName(item, singular(kind)))
      .filter((name) => name === undefined || (!seen.has(name) && seen.add(name)));
    extent[kind] = extentOf(names);
    if (items.length === 0) continue;
    const tags = kind === 'lambdas' ? await tagsOf(client, items as Arguments[], signal) : [];
    found.push(contentLine(kind, names, items, tags));
    users.push(...names.map((name) => `${USERS[kind] ?? singular(kind)} ${quoted(name)}`));
  }
  const tags = listedItems.get('tags');
  const names = (tags ?? []).map((tag) => String(nameOf(tag, 'tag_name')));
  return {
    lines: [...lines, ...found],
    found,
    users,
    afterwards: names.length > 0 ? [failingLine(names)] : [],
    run: lastRun(listedItems.get('versions') ?? [], tags),
    extent,
  };
}

/** What becomes of calls by names that go. */
export function failingLine(names: readonly string[]): string {
  return `Calls by ${listed(names)} fail from then on.`;
}

/** The last run of any version of a lambda: callers of an older one use it as well. `tags`: undefined if they are not known. */
function lastRun(versions: readonly Arguments[], tags: readonly Arguments[] | undefined): string | undefined {
  const last = versions.reduce<Arguments | undefined>((latest, one) => {
    return String(statsOf(one)['last_executed'] ?? '') > String(statsOf(latest)['last_executed'] ?? '') ? one : latest;
  }, undefined);
  const run = runLine(last);
  if (last === undefined || run === undefined) return undefined;
  const { version } = last;
  if (tags === undefined) return `${run}: the version ${quoted(version)}.`;
  const on = tags.filter((tag) => (tag['version'] as Arguments | undefined)?.['version'] === version);
  const tagged =
    on.length === 0 ? ', which has no tag' : `, with the tags ${listed(on.map(({ tag_name: tag }) => tag))}`;
  return `${run}: the version ${quoted(version)}${tagged}.`;
}

/** The most of a time or an e-mail, which the service says. */
const RUN_CHARS_MAX = 254;

/** Without its period. */
function runLine(version: unknown): string | undefined {
  const { last_executed: run, last_executed_by: by } = statsOf(version);
  if (typeof run !== 'string') return undefined;
  return `It was last run at ${lineText(run, RUN_CHARS_MAX)}${typeof by === 'string' ? ` by ${lineText(by, RUN_CHARS_MAX)}` : ''}`;
}

/** What the service calls those that use a collection or an alias. */
const USERS: Readonly<Record<string, string>> = { aliases: 'alias', lambdas: 'Query Lambda' };

export function extentOf(names: readonly (string | undefined)[]): Extent[string] {
  return { count: names.length, which: digest([...names].sort()) };
}

export function documentCount(target: unknown): number | undefined {
  const count = statsOf(target)['doc_count'];
  return typeof count === 'number' ? count : undefined;
}

/**
 * What changes whenever documents of a collection are added, replaced or patched, but not when they only go; nothing if
 * the service does not say.
 */
export function stateOf(target: unknown): { state?: string } {
  const written = statsOf(target)['bytes_inserted'];
  return typeof written === 'number' ? { state: String(written) } : {};
}

function statsOf(target: unknown): Arguments {
  const stats = (target as { stats?: Arguments | null } | undefined)?.stats;
  return stats ?? {};
}

/** What somebody should know of a thing itself: its size, what feeds or names it, when it was last used. */
export function thingLines(thing: Arguments | undefined): string[] {
  if (thing === undefined) return [];
  const lines: string[] = [];
  const documents = documentCount(thing);
  if (documents !== undefined) {
    const bytes = statsOf(thing)['total_size'];
    const size = typeof bytes === 'number' && bytes > 0 ? ` That is ${bytesText(bytes)} of JSON.` : '';
    lines.push(`${counted(documents, 'documents')} in it will be gone.${size}`);
  }
  const { sources, collections, version, latest_version: latest, last_access_time: used } = thing;
  if (Array.isArray(sources) && sources.length > 0) {
    const fed = sources.flatMap((source) => (source as Arguments)['integration_name'] ?? []);
    const by = fed.length > 0 ? `, from the integrations ${listed([...new Set(fed)])}` : '';
    lines.push(`It has ${counted(sources.length, 'sources')}${by}.`);
  }
  const isAlias = Array.isArray(collections) && collections.every((one) => typeof one === 'string');
  // Of a lambda and of its versions these are what they read.
  if (isAlias && (latest ?? version) === undefined && collections.length > 0)
    lines.push(`It stands for ${listed(collections)}.`);
  const { tag_name: tag } = thing;
  if (typeof tag === 'string' && isObject(version))
    lines.push(`It is on the version ${quoted(version['version'])}, which stays; calls by this tag fail from then on.`);
  // Of a lambda, the runs of all its versions count.
  const run = latest === undefined ? runLine(isObject(version) ? version : thing) : undefined;
  if (run !== undefined) lines.push(`${run}.`);
  if (used !== undefined) lines.push(typeof used === 'string' ? `It was last used at ${used}.` : 'It was never used.');
  return lines;
}

function singular(kind: string): string {
  return kind.replace(/s$/, '');
}

/** The name of a thing, with its workspace if it has one: what depends on a thing may be in another. */
function shownName(item: unknown, noun: string): string | undefined {
  const name = nameOf(item, noun);
  if (name === undefined || noun === 'version' || noun === 'tag') return name;
  const { workspace } = item as Arguments;
  return typeof workspace === 'string' ? `${workspace}.${name}` : name;
}

function contentLine(
  kind: string,
  names: readonly unknown[],
  items: readonly unknown[],
  tags: readonly string[],
): string {
  const documents = items.reduce<number>((sum, item) => sum + (documentCount(item) ?? 0), 0);
  const inThem = documents > 0 ? `, with ${counted(documents, 'documents')}` : '';
  const tagged = tags.length > 0 ? `, with the tags ${listed(tags)}` : '';
  const used = lastUse(items);
  return `It has ${counted(names.length, kind)} (${listed(names)})${inThem}${tagged}${used}.`;
}

function lastUse(items: readonly unknown[]): string {
  const times = items.flatMap((item) => (item as Arguments)['last_access_time'] ?? []).map(String);
  const last = times.sort().at(-1);
  return last === undefined ? '' : `, last used at ${last}`;
}

/** Lambdas whose tags are looked up. */
const TAGGED_MAX = 20;

/** The tags that callers of these lambdas may use, other than the one that every lambda has. */
async function tagsOf(client: Client, items: readonly Arguments[], signal: AbortSignal | undefined): Promise<string[]> {
  const lambdas = new Map(items.map(({ workspace, name }) => [`${workspace}.${name}`, { workspace, name }]));
  const tags: string[] = [];
  for (const { workspace, name } of [...lambdas.values()].slice(0, TAGGED_MAX)) {
    const target = { workspace: String(workspace), queryLambda: String(name) };
    const found = await client.listLambdaTags(target, { signal }).catch(() => []);
    const names = found.flatMap(({ tag_name: tag }) => (tag == null || tag === LATEST ? [] : [tag]));
    tags.push(...names.map((tag) => `${target.workspace}.${target.queryLambda}:${tag}`));
  }
  return tags;
}

/** Where the entry of an allowlist stands to the caller, which `admitted` says. */
export function admittedLine(name: string, admitted: readonly string[] | null | undefined): string | undefined {
  if (admitted === undefined) return undefined;
  if (admitted === null) return 'The address of this call is let in without it.';
  if (!admitted.includes(name)) return 'It does not hold the address of this call.';
  const others = admitted.filter((other) => other !== name);
  return others.length > 0
    ? `It holds the address of this call, as do ${listed(others)}.`
    : 'It alone holds the address of this call.';
}

/** The line of the target: what is done, and to what. */
export function whatOf(title: string, parameters: readonly string[], args: Arguments): string {
  return `${title}: ${parameters.map((parameter) => `${listedName(parameter)} ${quoted(args[parameter])}`).join(', ')}`;
}
