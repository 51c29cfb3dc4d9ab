import * as z from 'zod';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { EXPORT_FORMATS, type ExportFormat, type ResultExport, type RunningExport } from '../../contract/results.ts';
import { nearestNames } from '../errors.ts';
import { EXPORT_TIMEOUT_MS, exportParts, kindOfName, withCollectionFile, withProgress } from '../export-parts.ts';
import type { Fenced } from '../fence.ts';
import { EXPORT_MIMES, exportUri } from '../resources/result-resources.ts';
import { handTool } from './hand-tool.ts';
import { nextForGone, orUnknown, queryId } from './result-tools.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * Writes data to files, for a human or another program: a kept result, or a whole collection. Without a path, a result goes
 * to the folder of the service, where it stays for a day. With one it goes to a folder that the operator allows: as a file
 * that is new, since a model may be told by data which file to overwrite.
 */

interface ExportInput {
  query_id?: string | undefined;
  workspace?: string | undefined;
  collection?: string | undefined;
  path?: string | undefined;
  format?: ExportFormat | undefined;
}

const NO_FOLDER =
  'the operator allows no folder to write to (--export-dirs). A result can be exported without "path"; "colloquy export" writes a collection for a human.';

function refused(why: string): ApiError {
  return new ApiError('invalid_input', `Cannot call export_result: ${why}`);
}

function check({ query_id, collection, path, format }: ExportInput): void {
  if ((query_id === undefined) === (collection === undefined)) throw refused('give either "query_id" or "collection".');
  // In which folders that may be is known to who runs it.
  if (collection !== undefined && path === undefined) return;
  const named = path === undefined ? undefined : kindOfName(path);
  if (format === undefined && named?.format === undefined)
    throw refused(`give "format", or a path that ends in ${EXPORT_FORMATS.map((one) => `.${one}`).join(', ')}.`);
  if (named?.isGzip && (format ?? named.format) === 'parquet')
    throw refused('Parquet is compressed by itself, so the path must not end in .gz.');
}

async function run(context: ToolContext, input: ExportInput): Promise<Fenced> {
  const { query_id, workspace = 'commons', collection, path } = input;
  if (collection !== undefined && path === undefined) {
    const folders = context.means.exportFolders;
    throw refused(
      folders === undefined
        ? NO_FOLDER
        : `a collection needs a "path" for its file, such as "orders.jsonl.gz", in ${folders.join(' or ')}.`,
    );
  }
  const named = path === undefined ? undefined : kindOfName(path);
  const format = input.format ?? named?.format ?? 'jsonl';
  if (path === undefined) return exportThere(context, { query_id: query_id ?? '', format });
  const { client, signal, means, progress } = context;
  if (means.exportTarget === undefined) throw refused(NO_FOLDER);
  const target = await means.exportTarget(path);
  const gzip = named?.isGzip === true;
  const take = async (file: ResultExport) => ({
    file,
    bytes: await target.write(exportParts(client, file, signal), { gzip, signal }),
  });
  const isMine = (one: RunningExport) =>
    one.format === format &&
    (collection === undefined ? one.query_id === query_id : one.collection === `${workspace}.${collection}`);
  const { file, bytes } = await withProgress(client, progress, isMine, async () =>
    collection === undefined
      ? take(
          await orUnknown(
            client.exportResult({ query_id: query_id ?? '', format }, { signal, timeoutMs: EXPORT_TIMEOUT_MS }),
          ),
        )
      : withCollectionFile(client, { workspace, collection, format }, signal, take),
  );
  const firstRows = file.is_whole === false ? `the first ${file.rows ?? 0} rows` : undefined;
  const written = retypedIn(file.retyped);
  return {
    data: {
      path: means.isElsewhere ? path : target.path,
      format,
      ...(gzip ? { gzip } : {}),
      rows: file.rows ?? null,
      bytes,
      ...(firstRows === undefined ? {} : { truncated: true, holds: `only ${firstRows}` }),
      ...(written.length > 0 ? { written_as: written } : {}),
    },
    next: ['The file is whole. Tell the human its path.', ...notesOn(firstRows, written)].filter(Boolean).join(' '),
  };
}

function retypedIn(retyped: ResultExport['retyped']): unknown[][] {
  return (retyped ?? []).map(({ name, type, written_as }) => [name, type, written_as]);
}

function notesOn(firstRows: string | undefined, written: readonly unknown[]): (string | false)[] {
  return [
    firstRows !== undefined &&
      `The file is NOT the whole result: it has ${firstRows}, and the query has more. Tell the human so. For the rest, export the query in parts, each with a WHERE of its own.`,
    written.length > 0 &&
      'written_as lists columns (name, type, type in the file) whose type Parquet does not have; their values are exact. CAST such columns in the SQL to choose another type.',
  ];
}

/** Writes the file that stays with the service. */
async function exportThere(
  { client, signal, means, progress }: ToolContext,
  { query_id, format }: { query_id: string; format: ExportFormat },
): Promise<Fenced> {
  const { rows, bytes, path, expires_at, is_whole, retyped } = await withProgress(
    client,
    progress,
    (one) => one.query_id === query_id && one.format === format,
    () => orUnknown(client.exportResult({ query_id, format }, { signal })),
  );
  const uri = exportUri(query_id, format);
  const firstRows = is_whole === false ? `the first ${rows ?? 0} rows` : undefined;
  const written = retypedIn(retyped);
  const hints = [
    means.isElsewhere
      ? 'The resource link is the file, for the human to open or save.'
      : 'Tell the human the path, which is on the machine of the service; the resource link has the same file.',
    ...notesOn(firstRows, written),
    format === 'jsonl' && 'Integers are numbers with all their digits; decimals of more than 15 digits are text.',
  ];
  return {
    data: {
      query_id,
      format,
      rows: rows ?? null,
      bytes: bytes ?? null,
      uri,
      ...(means.isElsewhere ? {} : { path: path ?? null }),
      expires_at: expires_at ?? null,
      ...(firstRows === undefined ? {} : { truncated: true, holds: `only ${firstRows}` }),
      ...(written.length > 0 ? { written_as: written } : {}),
    },
    next: hints.filter(Boolean).join(' '),
    links: [
      {
        type: 'resource_link',
        uri,
        name: `${query_id}.${format}`,
        ...(firstRows === undefined ? {} : { description: `Only ${firstRows} of a larger result` }),
        mimeType: EXPORT_MIMES[format],
        size: bytes ?? undefined,
      },
    ],
  };
}

/** The tool; built at its first use, since schemas take time. */
export function exportResultTool(): Tool {
  const { workspace, collection } = contract.getCollection.params.shape;
  const shape = {
    query_id: queryId.optional(),
    workspace: workspace.optional().describe('Default commons'),
    collection: collection.optional(),
    path: z.string().min(1).optional().describe('New file in an allowed folder; .gz compresses'),
    format: z.enum(EXPORT_FORMATS).optional(),
  };
  return handTool<ExportInput>({
    name: 'export_result',
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Export to a file',
    description: 'Write the kept rows of an earlier query, or a whole collection, to a file.',
    shape,
    output: {
      uri: { type: 'string' },
      path: { type: 'string' },
      rows: { type: 'integer' },
      bytes: { type: 'integer' },
    },
    check: (input) => check(input as ExportInput),
    run,
    next: (error) =>
      /^(?:COLLECTION|WORKSPACE)_/.test(error.details.messageKey ?? '') ? undefined : nextForGone(error),
    nearest: async ({ client, signal }, input, error) =>
      (input as ExportInput).collection === undefined
        ? []
        : nearestNames(client, contract.getCollection, { workspace: 'commons', ...input }, error, signal),
  });
}
