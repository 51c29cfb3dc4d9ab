import * as z from 'zod';
import { contract } from '../../contract/contract.ts';
import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { unwritable } from '../../http/request.ts';
import { nearestNames, toApiError } from '../errors.ts';
import type { Fenced } from '../fence.ts';
import { cutText } from '../room.ts';
import { CSV_TYPES, type DocumentFile, FILE_FORMATS, FILE_NOT_FOUND, type FileEntry } from './file.ts';
import { handTool } from './hand-tool.ts';
import { count, fail, type Load, type LoadInput, listIn, newLoad } from './load.ts';
import { presentLoad } from './load-answer.ts';
import { nextStepFor } from './next-steps.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * Loads a file on the operator's machine: documents that a model would otherwise have to write out as arguments,
 * although it never needs to see them.
 */

const NAME = 'load_file';
/** After a cancellation the current batch may still finish, so that it is known what was stored. */
const GRACE_MS = 10_000;

/** Loads the documents of a file into a collection, batch by batch; stored batches remain, whatever happens later. */
export async function loadFile({ client, signal, progress, means }: ToolContext, input: LoadInput): Promise<Fenced> {
  const open = means.openFile;
  if (open === undefined) throw new ApiError('invalid_input', `Cannot call ${NAME}: ${ABSENT}.`);
  const file = await open({
    path: input.path,
    format: input.format,
    csv: { separator: input.csv_separator, columns: input.csv_columns, types: input.csv_types },
  });
  const load = newLoad();
  try {
    load.isMissing = await isMissing(client, input, signal);
    await run(file, load, { client, signal, progress, input });
    return presentLoad(file, load, input);
  } finally {
    await file.close();
  }
}

type Client = ToolContext['client'];

/** Whether the collection has to be created; rejects `not_found` if it does not exist and must not be created. */
async function isMissing(client: Client, input: LoadInput, signal: AbortSignal | undefined): Promise<boolean> {
  const { workspace, collection } = input;
  try {
    await client.getCollection({ workspace, collection }, { signal });
    return false;
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found' || input.create_collection !== true) throw error;
  }
  return true;
}

interface Run extends Pick<ToolContext, 'client' | 'signal' | 'progress'> {
  input: LoadInput;
}

async function run(file: DocumentFile, load: Load, { client, signal, progress, input }: Run): Promise<void> {
  const { workspace, collection, skip = 0 } = input;
  const ending = graceful(signal);
  const tell = (bytesRead: number) => {
    const inside = count(load, 'ADDED') + count(load, 'REPLACED');
    progress(Math.min(bytesRead, file.bytes), file.bytes, `${inside.toLocaleString('en-US')} documents are in`);
  };
  tell(0);
  try {
    for await (const { entries, bytesRead } of file.batches) {
      if (signal?.aborted === true) break;
      if (load.entries === 0) load.only = file.format === 'json' ? listIn(entries) : undefined;
      const left = entries.slice(Math.max(0, skip - load.entries));
      load.entries += entries.length - left.length;
      if (load.entries <= skip) requireIdField(left, input.id_field);
      const send = async (documents: JsonObject[]) => {
        if (load.isMissing) {
          await client.createCollection(
            { workspace, name: collection, recognize_times: true },
            { signal: ending.signal },
          );
          load.isCreated = true;
          load.isMissing = false;
        }
        const { data, warnings } = await client.addDocuments(
          { workspace, collection, data: documents },
          { signal: ending.signal },
        );
        load.warnings.add(warnings);
        return data ?? [];
      };
      await take(left, load, input.id_field, send);
      tell(bytesRead);
    }
    if (signal?.aborted === true) load.stopped = { why: 'it was cancelled', isUnsure: false };
  } catch (error) {
    const { code, message } = toApiError(error);
    const isUnsure = !KNOWN_FATE.has(code) && load.sending.entries > 0;
    const isCancelled = signal?.aborted === true;
    // Nothing was done, so the error says everything.
    if (load.entries <= skip && !isUnsure && !isCancelled && !load.isCreated) throw error;
    load.stopped = { why: isCancelled ? 'it was cancelled' : message, isUnsure, isBroken: code === 'invalid_input' };
  } finally {
    ending.stop();
  }
}

/** After any other error of a write it is unknown whether the write happened. */
const KNOWN_FATE: ReadonlySet<ErrorCode> = new Set([
  'invalid_input',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'content_too_large',
  'unsupported_media_type',
  'resource_exceeded',
  'storage_full',
  'not_ready',
] as const);

/** A signal that aborts some time after the given one. */
function graceful(signal: AbortSignal | undefined): { signal: AbortSignal; stop: () => void } {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    timer = setTimeout(() => late.abort(signal?.reason), GRACE_MS);
  };
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: late.signal,
    stop() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}

type Status = { status?: unknown; error?: unknown; _id?: unknown } | null;
type Send = (documents: JsonObject[]) => Promise<readonly Status[]>;

/** Sends the documents of some entries and counts each entry's outcome; a request that is too large is halved. */
async function take(entries: readonly FileEntry[], load: Load, idField: string | undefined, send: Send): Promise<void> {
  const ready = entries.map((entry) => prepared(entry, idField));
  const sent = ready.flatMap((entry) => ('document' in entry ? [entry] : []));
  const withoutId = sent.filter(({ document }) => (document['_id'] ?? null) === null).length;
  load.sending = { entries: entries.length, withoutId };
  let statuses: readonly Status[];
  try {
    statuses = sent.length === 0 ? [] : await send(sent.map(({ document }) => document));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'content_too_large') throw error;
    if (entries.length > 1) {
      const half = Math.ceil(entries.length / 2);
      await take(entries.slice(0, half), load, idField, send);
      return take(entries.slice(half), load, idField, send);
    }
    statuses = [{ status: 'ERROR', error: error.message }];
  }
  for (const entry of ready) {
    if (!('document' in entry)) fail(load, entry.at, null, entry.problem);
  }
  for (const [index, { at, document }] of sent.entries()) {
    const status = statuses[index];
    const kind = typeof status?.status === 'string' ? status.status : 'UNKNOWN';
    if (kind === 'ERROR') fail(load, at, typeof status?._id === 'string' ? status._id : null, status?.error);
    else {
      load.counts[kind] = count(load, kind) + 1;
      if ((document['_id'] ?? null) === null) load.withoutId += 1;
    }
  }
  load.entries += entries.length;
  load.sending = { entries: 0, withoutId: 0 };
}

const FIELDS_CHARS_MAX = 500;

/** Throws `invalid_input` if none of the first entries has the field. */
function requireIdField(first: readonly FileEntry[], idField: string | undefined): void {
  const documents = first.flatMap((entry) => ('document' in entry ? [entry.document] : []));
  const [document] = documents;
  if (idField === undefined || document === undefined) return;
  if (documents.some((one) => Object.hasOwn(one, idField))) return;
  const among = documents.length === 1 ? 'The first document' : `None of the first ${documents.length} documents`;
  const has = documents.length === 1 ? 'does not have' : 'has';
  const fields = Object.keys(document).map((key) => JSON.stringify(key));
  const own = cutText(fields.join(', '), FIELDS_CHARS_MAX);
  throw new ApiError(
    'invalid_input',
    `${among} ${has} the field ${JSON.stringify(idField)} that "id_field" names. Fields of the first one: ${own}.`,
  );
}

function prepared(entry: FileEntry, idField: string | undefined): FileEntry {
  if (!('document' in entry)) return entry;
  const { at, document } = entry;
  const path = unwritable(document);
  if (path !== undefined) {
    return { at, problem: `holds a number at ${JSON.stringify(path.join('.'))} that is too large for any JSON reader` };
  }
  if (idField === undefined) return entry;
  const value: JsonValue = Object.hasOwn(document, idField) ? (document[idField] ?? null) : null;
  if (!['string', 'number', 'bigint'].includes(typeof value) || value === '') {
    return { at, problem: `has no text or number in the field ${JSON.stringify(idField)}, which is to be its _id` };
  }
  const id = String(value);
  const own = document['_id'] ?? null;
  if (own !== null && String(own) !== id) {
    return { at, problem: `has an _id already, which is not its ${JSON.stringify(idField)}` };
  }
  return { at, document: { ...document, _id: id } };
}

const ABSENT = 'the operator allows no folder to load files from (--allow-dirs)';
const REMEDY = '--allow-dirs (COLLOQUY_ALLOW_DIRS) names the folders that files may be read from';
const MISSING =
  'Give "path" relative to a folder that the operator allows (--allow-dirs), or as an absolute path below one; a human may have to put the file there.';

/** The tool; built at its first use, since schemas take time. */
export function loadFileTool(): Tool {
  const { workspace, collection } = contract.getCollection.params.shape;
  const shape = {
    path: z.string().min(1).describe('Below a folder the operator allows; relative to it, or absolute'),
    workspace,
    collection,
    format: z.enum(FILE_FORMATS).optional().describe('Default: by the extension'),
    create_collection: z.boolean().optional().describe('Create the collection if it is missing'),
    id_field: z.string().min(1).optional().describe('Field whose value becomes the _id'),
    skip: z.int().min(0).optional().describe('Leave out the first entries, to go on after a stop'),
    csv_separator: z
      .string()
      .regex(/^[^\r\n"]{1,8}$/, 'expected 1 to 8 characters')
      .optional()
      .describe('Default ","'),
    csv_columns: z.array(z.string().min(1)).min(1).optional().describe('Column names, if the first line is data'),
    csv_types: z.array(z.enum(CSV_TYPES)).optional().describe('By column; default STRING'),
  };
  return handTool<LoadInput>({
    name: NAME,
    effect: 'update',
    role: 'member',
    toolset: 'documents',
    needs: { means: 'openFile', absent: ABSENT, remedy: REMEDY },
    title: 'Load a file',
    description:
      "Add the documents of a JSON, JSON lines, CSV or Parquet file on the server's machine to a collection. A document whose _id exists replaces that one.",
    shape,
    output: {
      complete: { type: 'boolean' },
      entries: { type: 'integer' },
      counts: { type: 'object' },
      failed: { type: 'array' },
    },
    run: loadFile,
    next: (error) =>
      error.details.messageKey === FILE_NOT_FOUND ? MISSING : nextStepFor(contract.addDocuments, error),
    nearest: ({ client, signal }, input, error) => nearestNames(client, contract.addDocuments, input, error, signal),
  });
}
