import { existsSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonValue, parseJson } from '../../contract/json/json.ts';
import { LATEST } from '../../contract/lambdas.ts';
import { PARAMETER_TYPES } from '../../contract/queries.ts';
import { cut, messageOf } from '../../contract/text.ts';

/** A version of a lambda as an export has it. */
export interface ExportedVersion {
  workspace: string;
  name: string;
  description: string | undefined;
  query: string;
  /** Those without a value have none. */
  defaults: { name: string; type: (typeof PARAMETER_TYPES)[number]; value?: JsonValue }[];
  /** Its name in the service that it comes from. */
  version: string | undefined;
  /** Tags that the export says it has. */
  tags: string[];
}

/** What is in an export: versions of a lambda from the oldest to the newest, and what cannot be read, with the reason. */
export interface LambdaExport {
  versions: ExportedVersion[];
  unreadable: { what: string; why: string }[];
}

const FILE_BYTES_MAX = 64 * 1024 * 1024;
const FILES_MAX = 10_000;
const DEPTH_MAX = 16;
/** How the hosted service's own command-line tool names the files of lambdas, and that of its settings. */
const LAMBDA_FILE = '.lambda.json';
const ROOT_FILE = 'rockset.config.json';
/** What `colloquy export --all` writes. */
const EXPORTED_FILE = 'lambdas.json';

const Parameter = z.object({
  name: z.string().min(1),
  type: z.enum(PARAMETER_TYPES).nullish(),
  value: z.custom<JsonValue>().optional(),
});
const Parameters = z.array(Parameter).nullish();
const Version = z.object({
  workspace: z.string().min(1),
  name: z.string().min(1),
  description: z.string().nullish(),
  version: z.string().nullish(),
  created_at: z.string().nullish(),
  sql: z.object({ query: z.string().min(1), default_parameters: Parameters }),
});
const LambdaFile = z.object({
  sql_path: z.string().min(1),
  description: z.string().nullish(),
  default_parameters: Parameters,
});

/**
 * Reads an export of lambdas: a folder in which the hosted service's command-line tool keeps them (`*.lambda.json`, each
 * with a file of SQL), that of `colloquy export --all`, or a file with an answer of the API that lists lambdas, versions or
 * tags, or has one. Throws
 * `invalid_input` if it is neither.
 */
export async function readLambdas(path: string): Promise<LambdaExport> {
  const found = await stat(path).catch((error: Error) => {
    throw new ApiError('invalid_input', `Cannot read "${path}": ${error.message}.`);
  });
  return found.isDirectory() ? readFolder(path) : readAnswer(path);
}

async function readFolder(path: string): Promise<LambdaExport> {
  const files = await lambdaFilesIn(path);
  if (files.length === 0) {
    const exported = join(path, EXPORTED_FILE);
    if (existsSync(exported)) return readAnswer(exported);
    throw new ApiError(
      'invalid_input',
      `There is no file *${LAMBDA_FILE} in "${path}", and no ${EXPORTED_FILE}. Give the folder of the project, or a file with an answer of the API.`,
    );
  }
  const root = await sourceRootOf(path);
  const read: LambdaExport = { versions: [], unreadable: [] };
  for (const file of files) {
    try {
      read.versions.push(await readLambdaFile(root, file));
    } catch (error) {
      read.unreadable.push({ what: relative(path, file), why: reasonOf(error) });
    }
  }
  return read;
}

/** Below this folder the paths of lambdas are the names of their workspaces. */
async function sourceRootOf(path: string): Promise<string> {
  const file = join(path, ROOT_FILE);
  const config = existsSync(file) ? await readJson(file) : undefined;
  const root = isObject(config) ? config['source_root'] : undefined;
  return typeof root === 'string' ? resolve(path, root) : path;
}

async function lambdaFilesIn(folder: string, depth = 0, found: string[] = []): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < DEPTH_MAX && entry.name !== 'node_modules') {
      await lambdaFilesIn(path, depth + 1, found);
    } else if (entry.isFile() && entry.name.endsWith(LAMBDA_FILE)) found.push(path);
    if (found.length > FILES_MAX) {
      throw new ApiError(
        'invalid_input',
        `There are more than ${FILES_MAX} files *${LAMBDA_FILE}. Give a folder in it.`,
      );
    }
  }
  return found;
}

async function readLambdaFile(root: string, file: string): Promise<ExportedVersion> {
  const config = LambdaFile.parse(await readJson(file));
  const sqlFile = await realpath(resolve(dirname(file), config.sql_path));
  // Whoever made the export must not be able to have another file of this machine stored as a lambda.
  if (relative(await realpath(root), sqlFile).split(sep)[0] === '..') {
    throw new ApiError('invalid_input', `its sql_path "${cut(config.sql_path, 200)}" leads out of the folder`);
  }
  const steps = relative(root, file).split(sep);
  const name = steps.pop()?.slice(0, -LAMBDA_FILE.length) ?? '';
  if (steps.length === 0) throw new ApiError('invalid_input', 'it is in no folder, whose name would be the workspace');
  return {
    workspace: steps.join('.'),
    name,
    query: await readText(sqlFile),
    version: undefined,
    tags: [],
    ...contentOf(config),
  };
}

async function readAnswer(path: string): Promise<LambdaExport> {
  const answer = await readJson(path);
  const data = isObject(answer) && answer['data'] !== undefined ? answer['data'] : answer;
  const dated: { at: string; version: ExportedVersion }[] = [];
  const unreadable: LambdaExport['unreadable'] = [];
  // Lists begin with the newest.
  for (const [index, entry] of (Array.isArray(data) ? data : [data]).entries()) {
    const { what, tag } = versionIn(entry);
    const { success, data: found, error } = Version.safeParse(what);
    if (success) {
      const { workspace, name, sql, version } = found;
      const tags = tag === undefined ? [] : [tag];
      const read = { workspace, name, query: sql.query, version: version ?? undefined, tags };
      const content = contentOf({ description: found.description, default_parameters: sql.default_parameters });
      dated.unshift({ at: found.created_at ?? '', version: { ...read, ...content } });
    } else unreadable.push({ what: `entry ${index + 1}`, why: reasonOf(error) });
  }
  if (dated.length === 0) {
    throw new ApiError(
      'invalid_input',
      `There is no lambda in "${path}". It takes the JSON that the API answers with: of lambdas, versions, or tags.`,
    );
  }
  dated.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return { versions: dated.map(({ version }) => version), unreadable };
}

/** The version in an entry of a list of lambdas, versions or tags. */
function versionIn(entry: unknown): { what: unknown; tag?: string } {
  if (!isObject(entry)) return { what: entry };
  const { tag_name: tag, version, latest_version: latest } = entry;
  if (typeof tag === 'string' && isObject(version)) return { what: version, tag };
  return isObject(latest) ? { what: latest, tag: LATEST } : { what: entry };
}

function contentOf(given: {
  description?: string | null | undefined;
  default_parameters?: z.infer<typeof Parameters>;
}) {
  const defaults = (given.default_parameters ?? []).map(({ name, type, value }) => {
    return { name, type: type ?? ('' as const), ...(value === undefined ? {} : { value }) };
  });
  return { description: given.description ?? undefined, defaults };
}

async function readText(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > FILE_BYTES_MAX) {
    throw new ApiError('invalid_input', `"${path}" is larger than ${FILE_BYTES_MAX} bytes.`);
  }
  return (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
}

async function readJson(path: string): Promise<JsonValue> {
  const text = await readText(path);
  try {
    return parseJson(text);
  } catch (error) {
    throw new ApiError('invalid_input', `"${path}" is no JSON: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return messageOf(error);
  const [issue] = error.issues;
  const at = issue === undefined || issue.path.length === 0 ? '' : `"${issue.path.join('.')}": `;
  return `${at}${issue?.message ?? 'it cannot be read'}`;
}
