import type { EventTimeInfo } from '../../contract/collections.ts';
import { ApiError } from '../../contract/errors.ts';
import { DEFAULT_WORKSPACE } from '../../contract/workspaces.ts';
import { structureIn } from './arguments.ts';
import type { FoundFile } from './file.ts';
import type { Target } from './load.ts';
import type { EventTime, LoadInput } from './load-arguments.ts';
import type { ToolContext } from './tool.ts';

/** A file, and the collection that it goes into. */
export interface Planned {
  found: FoundFile;
  target: Target;
  /** Why it cannot be loaded. */
  refused?: ApiError;
}

/** The files, folders and patterns of the argument: a JSON list of them may be sent as text. */
export function pathsIn(path: LoadInput['path']): readonly string[] {
  if (typeof path !== 'string') return path;
  const list = structureIn(path);
  const isList = Array.isArray(list) && list.length > 0 && list.every((one) => typeof one === 'string' && one !== '');
  return isList ? (list as string[]) : [path];
}

/**
 * The files from that of `from` on, each with its collection: `collection`, or else one named after the file. Files that
 * would have the same one without `collection` are refused; throws `invalid_input` if there are no others.
 */
export function planOf(files: readonly FoundFile[], input: LoadInput): Planned[] {
  const targets = new Map<string, Planned>();
  const all = files.map((found): Planned => {
    const collection = input.collection ?? collectionNameOf(found.name);
    // Names that differ only in letter case are one to the service.
    const key = collection.toLowerCase();
    const before = targets.get(key);
    const workspace = input.workspace ?? DEFAULT_WORKSPACE;
    const target = before?.target ?? { workspace, collection, isMissing: false, before: 0 };
    const planned: Planned = { found, target };
    if (before !== undefined && input.collection === undefined) {
      planned.refused = alike(before, found);
      before.refused ??= planned.refused;
    }
    if (before === undefined) targets.set(key, planned);
    return planned;
  });
  const [first] = all;
  if (first?.refused !== undefined && all.every(({ refused }) => refused !== undefined)) throw first.refused;
  return all.slice(indexOf(files, input.from));
}

function indexOf(files: readonly FoundFile[], from: string | undefined): number {
  if (from === undefined) return 0;
  const index = files.findIndex(({ name, path }) => name === from || path === from);
  if (index >= 0) return index;
  throw new ApiError(
    'invalid_input',
    `"from" is ${JSON.stringify(from.slice(0, 200))}, which is none of the ${files.length} files that "path" names; the first of them is ${JSON.stringify(files[0]?.name)}.`,
  );
}

/** Endings that say how the documents are written. */
const ENDINGS = /\.(?:json|geojson|jsonl|ndjson|csv|tsv|parquet|pq|xml|avro|xlsx|xlsm|txt)$/i;
const NAME_CHARS_MAX = 128;

/** The name of a file as that of a collection: 'in/_Orders 2024.csv' is 'Orders_2024'. */
export function collectionNameOf(name: string): string {
  const base = name
    .replace(/^.*[/\\]/s, '')
    .replace(/\.(?:gz|zst|zstd)$/i, '')
    .replace(ENDINGS, '');
  const own = base
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .replace(/^_+/, '')
    .slice(0, NAME_CHARS_MAX);
  if (own !== '') return own;
  throw new ApiError(
    'invalid_input',
    `Cannot name a collection after the file ${JSON.stringify(name)}: it has no letter or digit that a name may have. Give "collection".`,
  );
}

function alike({ found, target }: Planned, other: FoundFile): ApiError {
  return new ApiError(
    'invalid_input',
    `Cannot load both ${JSON.stringify(found.name)} and ${JSON.stringify(other.name)} into collections named after them: both would be "${target.collection}". Give "collection" to load all files into one, or load these two with one call each.`,
  );
}

/**
 * Notes what the service has of the collections. Rejects `not_found` for one that is missing and must not be created, and
 * `invalid_input` for one whose event time is another than what is asked for.
 */
export async function lookAt(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  plan: readonly Planned[],
  { create_collection: mayCreate = true, event_time: eventTime }: LoadInput,
): Promise<void> {
  for (const target of new Set(plan.map((planned) => planned.target))) {
    const { workspace, collection } = target;
    try {
      const { stats, event_time_info: own } = await client.getCollection({ workspace, collection }, { signal });
      target.before = stats?.doc_count ?? 0;
      if (eventTime !== undefined) requireEventTime(target, eventTime, own ?? undefined);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'not_found' || !mayCreate) throw error;
      target.isMissing = true;
    }
  }
}

/** Throws `invalid_input` if a collection has another event time. */
function requireEventTime({ workspace, collection }: Target, asked: EventTime, own: EventTimeInfo | undefined): void {
  const wanted = inWords(asked);
  const has = own && inWords(own);
  if (has?.toLowerCase() === wanted.toLowerCase()) return;
  const name = JSON.stringify(`${workspace}.${collection}`);
  throw new ApiError(
    'invalid_input',
    `The collection ${name} exists, and its event time is ${has ?? 'that of "_event_time"'}, not ${wanted} as "event_time" says. That is decided when a collection is created: leave "event_time" out, or load into another "collection".`,
  );
}

/** With what the service takes where nothing is said. */
function inWords({ field, format, time_zone: zone }: EventTimeInfo): string {
  return `${JSON.stringify(field)} (${format ?? 'ISO-8601'}, ${zone === 'Z' ? 'UTC' : (zone ?? 'UTC')})`;
}
