import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import { LATEST, type QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { Client } from '../../http/client.ts';
import type { Config } from '../../settings.ts';
import { print } from '../log.ts';
import { forPerson, withService } from '../person.ts';
import { type ExportedVersion, type LambdaExport, readLambdas } from './lambda-exports.ts';

interface Task {
  client: Client;
  /** Nothing is changed. */
  dryRun: boolean;
  /** Workspaces that are there, or were made. */
  workspaces: Set<string>;
  /** `tags`: those that are at another version than in the export, and stay there. */
  tally: { made: number; present: number; unbound: number; refused: number; tags: number };
}

/** Messages about SQL that is refused whatever data there are. */
const UNREADABLE = /^(?:syntax error|Only one statement|\w+ is not allowed|The SQL |Function "|Table function ")/;
/** Errors that are about one lambda; any other ends the import. */
const OF_ONE = new Set(['invalid_input', 'query_error', 'not_found', 'already_exists', 'content_too_large']);

/**
 * Creates the lambdas of an export, and the workspaces that they need, through the API; says which do not bind. Nothing
 * is deleted, and what is there already stays as it is, tags included, so that it can be run again. The exit code is 1 if something was
 * refused.
 */
export function importLambdas(
  request: { config: Config; path: string; dryRun: boolean },
  bin: string,
): Promise<number> {
  const { config, path, dryRun } = request;
  return forPerson(async () => {
    const read = await readLambdas(path);
    return withService(config, bin, (client) => importAll(client, read, dryRun));
  });
}

/** Does it with a client. Rejects where the service is lost in between. */
export async function importAll(
  client: Client,
  { versions, unreadable }: LambdaExport,
  dryRun: boolean,
): Promise<number> {
  const tally = { made: 0, present: 0, unbound: 0, refused: unreadable.length, tags: 0 };
  for (const { what, why } of unreadable) print(`${what}  refused: ${why}`);
  const workspaces = new Set((await client.listWorkspaces({})).map(({ name }) => name ?? ''));
  const task: Task = { client, dryRun, workspaces, tally };
  const lambdas = new Map<string, ExportedVersion[]>();
  for (const version of versions) {
    const key = `${version.workspace}.${version.name}`;
    lambdas.set(key, [...(lambdas.get(key) ?? []), version]);
  }
  for (const [name, exported] of lambdas) {
    try {
      await importLambda(task, name, exported);
    } catch (error) {
      sayRefused(tally, name, error);
    }
  }
  print(`${counted(lambdas.size, 'lambdas')}: ${sumOf(task)}`);
  return tally.refused > 0 ? 1 : 0;
}

function sumOf({ dryRun, tally: { made, present, unbound, refused, tags } }: Task): string {
  const parts = [
    `${counted(made, 'versions')} ${dryRun ? 'would be' : made === 1 ? 'is' : 'are'} new`,
    ...(unbound > 0 ? [`${unbound} of them ${unbound === 1 ? 'does' : 'do'} not bind yet`] : []),
    `${present} ${present === 1 ? 'was' : 'were'} there`,
    `${refused} ${refused === 1 ? 'was' : 'were'} refused`,
    ...(tags > 0
      ? [`${counted(tags, 'tags')} ${tags === 1 ? 'stays' : 'stay'} at another version than in the export`]
      : []),
  ];
  return `${parts.join(', ')}.${dryRun ? ' Nothing was changed.' : ''}`;
}

/** The versions with different content, each with all the tags that the export has for it. */
function withoutRepeats(exported: readonly ExportedVersion[]): ExportedVersion[] {
  const byContent = new Map<string, ExportedVersion>();
  for (const version of exported) {
    const known = byContent.get(contentOf(version));
    byContent.set(contentOf(version), { ...version, tags: [...(known?.tags ?? []), ...version.tags] });
  }
  return [...byContent.values()];
}

/**
 * Posts the versions that are missing, in their order. `latest` moves to each, so the one to which it belongs is posted once
 * more in the end, also where the import ends early: in a lambda that was there the one that had it, in a new one that of the export.
 */
async function importLambda(task: Task, name: string, all: readonly ExportedVersion[]): Promise<void> {
  const place = { workspace: all[0]?.workspace ?? '', queryLambda: all[0]?.name ?? '' };
  const { versions, tags } = await lambdaHere(task, place);
  const present = new Map(versions.map((version) => [contentOf(contentIn(version)), version]));
  const exported = withoutRepeats(all);
  const marked = all.findLast((version) => version.tags.includes(LATEST));
  const latest = tags.get(LATEST);
  let posted: Content | undefined;
  try {
    for (const version of exported) {
      const label = `${name}${version.version === undefined ? '' : `  ${version.version}`}`;
      const known = present.get(contentOf(version));
      if (known !== undefined) {
        task.tally.present += 1;
        print(`${label}  is there${arrow(known)}`);
        continue;
      }
      // Before it is: whether one has come whose answer was lost is not known.
      posted = version;
      const made = task.dryRun ? await sayWhatWouldBe(task, label, version) : await make(task, label, version);
      if (made !== undefined) present.set(contentOf(version), made);
    }
  } finally {
    const wanted = latest === undefined ? (marked ?? all.at(-1)) : contentIn(latest);
    if (!task.dryRun && posted !== undefined && wanted !== undefined && contentOf(posted) !== contentOf(wanted)) {
      // One that was refused has not come.
      const here = present.get(contentOf(wanted));
      if (here !== undefined) await postLatest(task, { ...place, ...bodyOf(wanted) }, `${name}  ${here.version}`);
    }
  }
  if (marked === undefined && posted !== undefined && latest !== undefined) {
    print(`${name}  the tag "${LATEST}" stays at ${latest.version}`);
  }
  await addTags(task, { place, name, tags }, wantedTags(exported, marked), present);
}

async function postLatest({ client }: Task, body: Place & ReturnType<typeof bodyOf>, label: string): Promise<void> {
  await client.createLambdaVersion(body).catch((error: unknown) => {
    print(`${label}  may have lost the tag "${LATEST}" to a version of the export: post it again`);
    throw error;
  });
}

interface Place {
  workspace: string;
  queryLambda: string;
}

/** What there is of a lambda before the import; nothing if there is none. `tags`: with their versions. */
async function lambdaHere({ client, workspaces }: Task, place: Place) {
  const versions = workspaces.has(place.workspace) ? await unlessMissing(client.listLambdaVersions(place)) : [];
  const tags = versions.length === 0 ? [] : await unlessMissing(client.listLambdaTags(place));
  return {
    versions,
    tags: new Map(tags.flatMap((tag) => (tag.version ? [[tag.tag_name ?? '', tag.version] as const] : []))),
  };
}

async function unlessMissing<T>(list: Promise<T[]>): Promise<T[]> {
  return list.catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not_found') return [];
    throw error;
  });
}

/** Returns the version that was made; undefined where it is refused, which is said. */
async function make(task: Task, label: string, version: ExportedVersion): Promise<QueryLambdaVersion | undefined> {
  const { client, tally } = task;
  const { workspace, name: queryLambda } = version;
  try {
    await makeWorkspace(task, workspace);
    const made = await client.createLambdaVersion({ workspace, queryLambda, create: true, ...bodyOf(version) });
    report(task, label, made);
    return made;
  } catch (error) {
    sayRefused(tally, label, error);
    return undefined;
  }
}

/** Rethrows an error that is not about one lambda. */
function sayRefused(tally: Task['tally'], label: string, error: unknown): void {
  if (!(error instanceof ApiError) || !OF_ONE.has(error.code)) throw error;
  tally.refused += 1;
  print(`${label}  refused: ${error.message}`);
}

async function sayWhatWouldBe({ client, tally }: Task, label: string, { query }: ExportedVersion): Promise<undefined> {
  const problem = await client.validateQuery({ sql: { query }, parameters: true }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ApiError && OF_ONE.has(error.code)) return error.message;
      throw error;
    },
  );
  // As it would be refused when it is made: what cannot be read will not bind later either.
  if (problem !== undefined && UNREADABLE.test(problem)) {
    tally.refused += 1;
    print(`${label}  refused: ${problem}`);
    return undefined;
  }
  tally.made += 1;
  if (problem !== undefined) tally.unbound += 1;
  print(`${label}  would be new${problem === undefined ? '' : `; does not bind yet: ${problem}`}`);
  return undefined;
}

function report({ tally }: Task, label: string, made: QueryLambdaVersion): void {
  const isBound = made.state === 'ACTIVE';
  const notes = (made.warnings ?? []).join(' ');
  tally.made += 1;
  if (!isBound) tally.unbound += 1;
  print(`${label}  new${arrow(made)}${notes === '' ? '' : `; ${isBound ? '' : 'does not bind yet: '}${notes}`}`);
}

function arrow(version: QueryLambdaVersion | undefined): string {
  return ` as ${version?.version}`;
}

/** Makes the workspace, and those that it is in. */
async function makeWorkspace({ client, workspaces }: Task, workspace: string): Promise<void> {
  const steps = workspace.split('.');
  for (let length = 1; length <= steps.length; length++) {
    const name = steps.slice(0, length).join('.');
    if (workspaces.has(name)) continue;
    await client.createWorkspace({ name });
    workspaces.add(name);
    print(`${name}  is a new workspace`);
  }
}

/** The tags of an export, each with its version. `latest`: the version that has that tag. */
function wantedTags(exported: readonly ExportedVersion[], latest: ExportedVersion | undefined) {
  const others = exported.flatMap((version) =>
    version.tags.filter((tag) => tag !== LATEST).map((tag) => ({ tag, version })),
  );
  return latest === undefined ? others : [{ tag: LATEST, version: latest }, ...others];
}

/** Adds tags that are not there; one that is may have been moved since, and stays, which is said. */
async function addTags(
  { client, dryRun, tally }: Task,
  { place, name, tags }: { place: Place; name: string; tags: ReadonlyMap<string, QueryLambdaVersion> },
  wanted: readonly { tag: string; version: ExportedVersion }[],
  present: ReadonlyMap<string, QueryLambdaVersion>,
): Promise<void> {
  for (const { tag, version } of wanted) {
    const at = tags.get(tag)?.version;
    const here = present.get(contentOf(version))?.version;
    if (at !== undefined && at !== here) {
      tally.tags += 1;
      print(`${name}  the tag "${tag}" stays at ${at}; in the export it is at ${here ?? version.version ?? 'another'}`);
    } else if (tag !== LATEST && at === undefined) {
      // That of a version that was refused has no place.
      if (!dryRun && here != null) await client.tagLambdaVersion({ ...place, tag_name: tag, version: here });
      if (dryRun || here != null)
        print(
          `${name}  the tag "${tag}" ${dryRun ? 'would be' : 'is'} new at ${here ?? version.version ?? 'its version'}`,
        );
    }
  }
}

function bodyOf({ description, query, defaults }: Content) {
  return { ...(description === undefined ? {} : { description }), sql: { query, default_parameters: defaults } };
}

type Content = Pick<ExportedVersion, 'description' | 'query' | 'defaults'>;

function contentIn({ description, sql }: QueryLambdaVersion): Content {
  const defaults = (sql?.default_parameters ?? []).map(({ name, type, value }) => {
    return { name: name ?? '', type: type ?? ('' as const), ...(value === undefined ? {} : { value }) };
  });
  return { description: description ?? undefined, query: sql?.query ?? '', defaults };
}

/** The same text for the same content: what makes the name of a version, besides the lambda. */
function contentOf({ description, query, defaults }: Content): string {
  const parameters = defaults
    .map(({ name, type, value }) => (value === undefined ? [name, type] : [name, type, value]))
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return stringifyJson([description ?? '', query, parameters]);
}
