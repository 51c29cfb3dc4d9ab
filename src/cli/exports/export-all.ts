import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { bytesText, counted } from '../../contract/in-words.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { ExportFormat, ResultExport } from '../../contract/results.ts';
import type { Client } from '../../http/client.ts';
import { exportParts } from '../../mcp/export-parts.ts';
import { shown } from '../files/file-access.ts';
import { plainText } from '../log.ts';
import { writeNewFile } from './new-file.ts';

interface Files {
  /** A folder that is made, or empty. */
  folder: string;
  format: ExportFormat;
  gzip: boolean;
}

/** Exports a collection, and has `take` fetch the file. */
export type TakeCollection = (
  place: { workspace: string; collection: string; format: ExportFormat },
  take: (file: ResultExport) => Promise<void>,
) => Promise<void>;

/**
 * Writes everything that people have made into a folder: a file for each collection, in a folder for each workspace, and
 * what else there is as the API answers it, `lambdas.json` as `import-lambdas` reads it. Who may do what stays out. Each
 * file is whole or not there, `lambdas.json` is the last.
 */
export async function exportAll(
  client: Client,
  files: Files,
  signal: AbortSignal,
  fetch: TakeCollection,
): Promise<void> {
  const { folder, format, gzip } = files;
  await requireEmpty(folder);
  const collections = await client.listCollections({}, { signal });
  let [rows, bytes] = [0, 0];
  for (const { workspace, name } of collections) {
    if (typeof workspace !== 'string' || typeof name !== 'string') continue;
    const path = join(folder, workspace, `${name}.${format}${gzip ? '.gz' : ''}`);
    await mkdir(join(folder, workspace), { recursive: true, mode: 0o700 });
    await fetch({ workspace, collection: name, format }, async (file) => {
      bytes += await writeNewFile(path, exportParts(client, file, signal), { gzip, signal });
      rows += file.rows ?? 0;
    });
  }
  const lambdas = await lambdasOf(client, signal);
  const rest = {
    workspaces: await client.listWorkspaces({}, { signal }),
    collections,
    aliases: await client.listAliases({}, { signal }),
    integrations: await client.listIntegrations({}, { signal }),
    lambdas: lambdas.entries,
  };
  for (const [name, data] of Object.entries(rest)) await writeJson(join(folder, `${name}.json`), data, signal);
  const said = [counted(collections.length, 'collections'), counted(rows, 'documents'), bytesText(bytes)];
  process.stdout.write(
    plainText(`Exported: ${said.join(', ')}; ${counted(lambdas.count, 'lambdas')} and settings, in "${folder}".\n`),
  );
}

async function requireEmpty(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw new ApiError('invalid_input', `Cannot write into ${shown(folder)}: ${error.message}.`);
  });
  const [first] = await readdir(folder);
  if (first !== undefined)
    throw new ApiError('already_exists', `Cannot write into ${shown(folder)}: it is not empty. Name a new folder.`);
}

async function writeJson(path: string, data: unknown, signal: AbortSignal): Promise<void> {
  async function* text() {
    yield Buffer.from(`${stringifyJson({ data } as never)}\n`);
  }
  await writeNewFile(path, text(), { gzip: false, signal });
}

/** The versions of all lambdas, the newest first, and those with a tag once more as that. */
async function lambdasOf(client: Client, signal: AbortSignal): Promise<{ count: number; entries: unknown[] }> {
  const lambdas = await client.listLambdas({}, { signal });
  const entries: unknown[] = [];
  for (const { workspace, name } of lambdas) {
    if (typeof workspace !== 'string' || typeof name !== 'string') continue;
    const place = { workspace, queryLambda: name };
    entries.push(...(await client.listLambdaVersions(place, { signal })));
    // `latest` too: it need not be on the version that was made last.
    entries.push(...(await client.listLambdaTags(place, { signal })));
  }
  return { count: lambdas.length, entries };
}
