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
  tally: { made: number; present: number; unbound: number; refused: number };
}

/** Errors that are about one lambda; any other ends the import. */
/** Messages about SQL that is refused whatever data there are. */
const UNREADABLE = /^(?:syntax error|Only one statement|\w+ is not allowed|The SQL |Function "|Table function ")/;
const OF_ONE = new Set(['invalid_input', 'query_error', 'not_found', 'already_exists', 'content_too_large']);

/**
 * Creates the lambdas of an export, and the workspaces that they need, through the API; says which do not bind. Nothing
 * is deleted, and what is there already stays as it is, so that it can be run again. The exit code is 1 if something was
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

async function importAll(client: Client, { versions, unreadable }: LambdaExport, dryRun: boolean): Promise<number> {
  const tally = { made: 0, present: 0, unbound: 0, refused: unreadable.length };
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
      await importLambda(task, name, withoutRepeats(exported));
    } catch (error) {
      if (!(error instanceof ApiError) || !OF_ONE.has(error.code)) throw error;
      tally.refused += 1;
      print(`${name}  refused: ${error.message}`);
    }
  }
  print(`${counted(lambdas.size, 'lambdas')}: ${sumOf(task)}`);
  return tally.refused > 0 ? 1 : 0;
}

function sumOf({ dryRun, tally: { made, present, unbound, refused } }: Task): string {
  const parts = [
    `${counted(made, 'versions')} ${dryRun ? 'would be' : made === 1 ? 'is' : 'are'} new`,
    ...(unbound > 0 ? [`${unbound} of them ${unbound === 1 ? 'does' : 'do'} not bind yet`] : []),
    `${present} ${present === 1 ? 'was' : 'were'} there`,
    `${refused} ${refused === 1 ? 'was' : 'were'} refused`,
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

/** Versions that are missing are posted in their order, and those after them again, so that the last one is `latest`. */
async function importLambda(task: Task, name: string, exported: readonly ExportedVersion[]): Promise<void> {
  const { client, tally } = task;
  const place = { workspace: exported[0]?.workspace ?? '', queryLambda: exported[0]?.name ?? '' };
  const present = new Map<string, QueryLambdaVersion>();
  if (task.workspaces.has(place.workspace)) {
    for (const version of await versionsOf(client, place)) present.set(contentOf(contentIn(version)), version);
  }
  const isPresent = (version: ExportedVersion) => present.has(contentOf(version));
  const first = exported.findIndex((version) => !isPresent(version));
  for (const [index, version] of exported.entries()) {
    const label = `${name}${version.version === undefined ? '' : `  ${version.version}`}`;
    if (isPresent(version)) {
      tally.present += 1;
      print(`${label}  is there${arrow(present.get(contentOf(version)))}`);
    }
    if (first < 0 || index < first) continue;
    if (task.dryRun) {
      if (!isPresent(version)) await sayWhatWouldBe(task, label, version);
      continue;
    }
    await makeWorkspace(task, place.workspace);
    const made = await client.createLambdaVersion({ ...place, create: true, ...bodyOf(version) });
    if (!isPresent(version)) report(task, label, made);
    present.set(contentOf(version), made);
  }
  if (!task.dryRun) await addTags(client, place, name, exported, present);
}

async function versionsOf(client: Client, place: { workspace: string; queryLambda: string }) {
  return client.listLambdaVersions(place).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'not_found') return [];
    throw error;
  });
}

async function sayWhatWouldBe({ client, tally }: Task, label: string, { query }: ExportedVersion): Promise<void> {
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
    return;
  }
  tally.made += 1;
  if (problem !== undefined) tally.unbound += 1;
  print(`${label}  would be new${problem === undefined ? '' : `; does not bind yet: ${problem}`}`);
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

/** Adds tags that are not there; one that is may have been moved since, and stays. */
async function addTags(
  client: Client,
  place: { workspace: string; queryLambda: string },
  lambda: string,
  exported: readonly ExportedVersion[],
  present: ReadonlyMap<string, QueryLambdaVersion>,
): Promise<void> {
  const wanted = exported.flatMap((version) => {
    const here = present.get(contentOf(version))?.version ?? '';
    return version.tags.filter((tag) => tag !== LATEST).map((tag) => ({ tag, here }));
  });
  if (wanted.length === 0) return;
  const tags = new Map((await client.listLambdaTags(place)).map((tag) => [tag.tag_name, tag.version?.version]));
  for (const { tag, here } of wanted) {
    const at = tags.get(tag);
    if (at === undefined) await client.tagLambdaVersion({ ...place, tag_name: tag, version: here });
    print(`${lambda}  the tag "${tag}" ${at === undefined ? 'is new at' : 'stays at'} ${at ?? here}`);
  }
}

function bodyOf({ description, query, defaults }: ExportedVersion) {
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
