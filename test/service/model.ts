import type { Client } from '../../src/http/client.ts';

/** What a property test does to the service. A version is identified by its index among the lambda's versions. */
export type Command =
  | { do: 'createWorkspace'; ws: string }
  | { do: 'deleteWorkspace'; ws: string }
  | { do: 'createCollection' | 'deleteCollection' | 'addDocument'; ws: string; name: string }
  | { do: 'createAlias' | 'updateAlias'; ws: string; name: string; collections: string[] }
  | { do: 'deleteAlias'; ws: string; name: string }
  | { do: 'createLambda'; ws: string; name: string; query: string; description: string }
  | { do: 'postVersion'; ws: string; name: string; query?: string; description?: string; create: boolean }
  | { do: 'deleteLambda'; ws: string; name: string }
  | { do: 'deleteVersion'; ws: string; name: string; version: number }
  | { do: 'tag'; ws: string; name: string; version: number; tag: string }
  | { do: 'deleteTag'; ws: string; name: string; tag: string };

interface Version {
  description: string;
  query: string;
  hash: string;
}
interface Collection {
  ws: string;
  name: string;
  docs: number;
}
interface Alias {
  ws: string;
  name: string;
  collections: string[];
}
interface Lambda {
  ws: string;
  name: string;
  /** Oldest first. */
  versions: Version[];
  latest: string;
  tags: Map<string, string>;
}
interface Model {
  workspaces: Set<string>;
  collections: Collection[];
  aliases: Alias[];
  lambdas: Lambda[];
  /** Hashes by content: the same content always has the same hash, and other content another. */
  hashes: Map<string, string>;
}

/** The expected outcome of a command: the code of its error, or `ok`. */
export type Outcome = string;
export const UNKNOWN_VERSION = 'ffffffffffffffff';

export function newModel(): Model {
  return { workspaces: new Set(['commons']), collections: [], aliases: [], lambdas: [], hashes: new Map() };
}

const NAME = /^[A-Za-z0-9-][A-Za-z0-9_-]*$/;
const WORKSPACE = /^[A-Za-z0-9-][A-Za-z0-9_-]*(\.[A-Za-z0-9-][A-Za-z0-9_-]*)*$/;
const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
const at = (where: { ws: string; name: string }) => (one: { ws: string; name: string }) =>
  one.ws === where.ws && one.name === where.name;
export const fullName = ({ ws, name }: { ws: string; name: string }) => `${ws}.${name}`;
const drop = <T>(list: T[], item: T) => void list.splice(list.indexOf(item), 1);

/** The collection or alias that a query names, as `workspace.name`; null: none. */
export function nameIn(query: string): string | null {
  const found = /FROM "(.+)"\."(.+)"$/.exec(query);
  return found === null ? null : `${found[1]}.${found[2]}`;
}

/** The full name of what a name in SQL stands for, spelled as when it was created. */
export function standing(model: Model, name: string): string | undefined {
  return [...model.collections, ...model.aliases].map(fullName).find((one) => same(one, name));
}

/** SQL that does not parse, that writes, or that names a workspace that cannot exist. */
function isBad(query: string): boolean {
  const schema = /FROM "(.+)"\."/.exec(query)?.[1];
  return !query.startsWith('SELECT') || (schema !== undefined && !WORKSPACE.test(schema));
}

function lambdasNaming(model: Model, name: string): Lambda[] {
  return model.lambdas.filter((one) => one.versions.some(({ query }) => same(nameIn(query) ?? '', name)));
}

function taken(model: Model, ws: string, name: string): boolean {
  return [...model.collections, ...model.aliases].some((one) => one.ws === ws && same(one.name, name));
}

function refusedTargets(model: Model, names: readonly string[]): Outcome | undefined {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name) || !name.includes('.')) return 'invalid_input';
    seen.add(name);
    if (model.aliases.some((one) => fullName(one) === name)) return 'invalid_input';
    if (!model.collections.some((one) => fullName(one) === name)) return 'not_found';
  }
  return undefined;
}

/** The hash of the version that a command means, by its index among a lambda's versions. */
function versionAt(lambda: Lambda | undefined, place: number): string {
  const all = [...(lambda?.versions.map((one) => one.hash) ?? []), UNKNOWN_VERSION];
  return all[place % all.length] ?? UNKNOWN_VERSION;
}

/** Changes the model as the command should change the service; not at all if it should be refused. */
export function apply(model: Model, command: Command, hash: string | undefined): Outcome {
  const { ws } = command;
  if (command.do === 'createWorkspace') return createWorkspace(model, ws);
  if (command.do === 'deleteWorkspace') return deleteWorkspace(model, ws);
  // A fault in a new name is reported first.
  if (/^create/.test(command.do) && !NAME.test(command.name)) return 'invalid_input';
  if (command.do === 'tag' && (!NAME.test(command.tag) || same(command.tag, 'latest'))) return 'invalid_input';
  if (!model.workspaces.has(ws)) return 'not_found';
  switch (command.do) {
    case 'createCollection':
    case 'deleteCollection':
    case 'addDocument':
      return applyToCollection(model, command);
    case 'createAlias':
    case 'updateAlias':
    case 'deleteAlias':
      return applyToAlias(model, command);
    default:
      return applyToLambda(model, command, hash);
  }
}

function createWorkspace(model: Model, ws: string): Outcome {
  if (!WORKSPACE.test(ws)) return 'invalid_input';
  if ([...model.workspaces].some((one) => same(one, ws))) return 'already_exists';
  const dot = ws.lastIndexOf('.');
  if (dot > 0 && !model.workspaces.has(ws.slice(0, dot))) return 'not_found';
  model.workspaces.add(ws);
  return 'ok';
}

function deleteWorkspace(model: Model, ws: string): Outcome {
  if (!model.workspaces.has(ws)) return 'not_found';
  if (ws === 'commons') return 'invalid_input';
  const holds = [...model.collections, ...model.aliases, ...model.lambdas].some((one) => one.ws === ws);
  if (holds || [...model.workspaces].some((one) => one.startsWith(`${ws}.`))) return 'dependent_resources';
  model.workspaces.delete(ws);
  return 'ok';
}

type On<K extends Command['do']> = Extract<Command, { do: K }>;

function applyToCollection(
  model: Model,
  command: On<'createCollection' | 'deleteCollection' | 'addDocument'>,
): Outcome {
  const { ws, name } = command;
  const found = model.collections.find(at(command));
  if (command.do === 'createCollection') {
    if (taken(model, ws, name)) return 'already_exists';
    model.collections.push({ ws, name, docs: 0 });
    return 'ok';
  }
  if (found === undefined) return 'not_found';
  if (command.do === 'addDocument') {
    found.docs += 1;
    return 'ok';
  }
  const isUsed = model.aliases.some((one) => one.collections.includes(fullName(command)));
  if (isUsed || lambdasNaming(model, fullName(command)).length > 0) return 'dependent_resources';
  drop(model.collections, found);
  return 'ok';
}

function applyToAlias(model: Model, command: On<'createAlias' | 'updateAlias' | 'deleteAlias'>): Outcome {
  const { ws, name } = command;
  const found = model.aliases.find(at(command));
  if (command.do === 'deleteAlias') {
    if (found === undefined) return 'not_found';
    if (lambdasNaming(model, fullName(command)).length > 0) return 'dependent_resources';
    drop(model.aliases, found);
    return 'ok';
  }
  if (command.do === 'createAlias' && taken(model, ws, name)) return 'already_exists';
  if (command.do === 'updateAlias' && found === undefined) return 'not_found';
  const refused = refusedTargets(model, command.collections);
  if (refused !== undefined) return refused;
  if (found === undefined) model.aliases.push({ ws, name, collections: command.collections });
  else found.collections = command.collections;
  return 'ok';
}

type LambdaCommand = On<'createLambda' | 'postVersion' | 'deleteLambda' | 'deleteVersion' | 'tag' | 'deleteTag'>;

function applyToLambda(model: Model, command: LambdaCommand, hash: string | undefined): Outcome {
  const found = model.lambdas.find(at(command));
  if (command.do === 'createLambda' || command.do === 'postVersion') return post(model, command, found, hash);
  if (found === undefined) return 'not_found';
  if (command.do === 'deleteLambda') {
    drop(model.lambdas, found);
    return 'ok';
  }
  if (command.do === 'deleteTag') {
    if (command.tag === 'latest') return 'invalid_input';
    return found.tags.delete(command.tag) ? 'ok' : 'not_found';
  }
  const wanted = versionAt(found, command.version);
  const version = found.versions.find((one) => one.hash === wanted);
  if (version === undefined) return 'not_found';
  if (command.do === 'tag') {
    found.tags.set(command.tag, wanted);
    return 'ok';
  }
  if (found.versions.length === 1) return 'invalid_input';
  drop(found.versions, version);
  if (found.latest === wanted) found.latest = found.versions.at(-1)?.hash ?? '';
  for (const [tag, one] of found.tags) if (one === wanted) found.tags.delete(tag);
  return 'ok';
}

function post(
  model: Model,
  command: On<'createLambda' | 'postVersion'>,
  found: Lambda | undefined,
  hash: string | undefined,
): Outcome {
  const { ws, name } = command;
  const isTaken = model.lambdas.some((one) => one.ws === ws && same(one.name, name));
  if (command.do === 'createLambda' && isTaken) return 'already_exists';
  if (command.do === 'postVersion' && found === undefined) {
    if (!command.create) return 'not_found';
    if (!NAME.test(name)) return 'invalid_input';
    if (isTaken) return 'already_exists';
  }
  const latest = found?.versions.find((one) => one.hash === found.latest);
  const query = command.query ?? latest?.query;
  if (query === undefined) return 'invalid_input';
  if (isBad(query)) return 'query_error';
  // If SQL is posted, nothing is inherited.
  const inherited = command.query === undefined ? latest?.description : undefined;
  const description = command.description ?? inherited ?? '';
  // The model does not compute hashes, but it knows when two must be the same.
  const content = JSON.stringify([ws, name, description, query]);
  const known = model.hashes.get(content) ?? hash ?? '';
  model.hashes.set(content, known);
  const version = { description, query, hash: known };
  if (found === undefined) model.lambdas.push({ ws, name, versions: [version], latest: known, tags: new Map() });
  else {
    if (!found.versions.some((one) => one.hash === known)) found.versions.push(version);
    found.latest = known;
  }
  return 'ok';
}

/** Sends the command; returns the hash if it creates a version. Rejects if the service refuses it. */
export async function send(client: Client, model: Model, command: Command): Promise<string | undefined> {
  const { ws: workspace } = command;
  if (command.do === 'createWorkspace') return void (await client.createWorkspace({ name: workspace }));
  if (command.do === 'deleteWorkspace') return void (await client.deleteWorkspace({ workspace }));
  const { name } = command;
  const lambda = { workspace, queryLambda: name };
  switch (command.do) {
    case 'createCollection':
      return void (await client.createCollection({ workspace, name }));
    case 'deleteCollection':
      return void (await client.deleteCollection({ workspace, collection: name }));
    case 'addDocument':
      return void (await client.addDocuments({ workspace, collection: name, data: [{ n: 1 }] }));
    case 'createAlias':
      return void (await client.createAlias({ workspace, name, collections: command.collections }));
    case 'updateAlias':
      return void (await client.updateAlias({ workspace, alias: name, collections: command.collections }));
    case 'deleteAlias':
      return void (await client.deleteAlias({ workspace, alias: name }));
    case 'createLambda': {
      const { description, query } = command;
      return (await client.createLambda({ workspace, name, description, sql: { query } })).version ?? undefined;
    }
    case 'postVersion': {
      const { description, query, create } = command;
      const sql = query === undefined ? {} : { sql: { query } };
      const more = description === undefined ? {} : { description };
      return (await client.createLambdaVersion({ ...lambda, create, ...sql, ...more })).version ?? undefined;
    }
    case 'deleteLambda':
      return void (await client.deleteLambda(lambda));
    case 'deleteTag':
      return void (await client.deleteLambdaTag({ ...lambda, tag: command.tag }));
  }
  const version = versionAt(model.lambdas.find(at(command)), command.version);
  if (command.do === 'deleteVersion') return void (await client.deleteLambdaVersion({ ...lambda, version }));
  return void (await client.tagLambdaVersion({ ...lambda, version, tag_name: command.tag }));
}
