import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { unwritable } from '../../http/request.ts';
import { toApiError } from '../errors.ts';
import { cutText } from '../room.ts';
import type { DocumentFile, FileEntry } from './file.ts';
import { count, fail, type Load, type LoadInput, type Target } from './load.ts';
import type { ToolContext } from './tool.ts';

/** After a cancellation the current batch may still finish, so that it is known what was stored. */
const GRACE_MS = 10_000;

interface Run extends Pick<ToolContext, 'client' | 'signal'> {
  input: Pick<LoadInput, 'id_field' | 'skip' | 'on_error'>;
  /** Told of the bytes of the file read so far, and the documents that are in. */
  tell(bytesRead: number, inside: number): void;
}

/**
 * Loads the documents of a file into the collection of the load, batch by batch; stored batches remain, whatever happens
 * later. Rejects if nothing was done; otherwise the load says why it stopped.
 */
export async function run(file: DocumentFile, load: Load, { client, signal, tell, input }: Run): Promise<void> {
  const { skip = 0 } = input;
  const { target } = load;
  const { workspace, collection } = target;
  const ending = graceful(signal);
  try {
    for await (const { entries, bytesRead } of file.batches) {
      if (signal?.aborted === true) break;
      const left = entries.slice(Math.max(0, skip - load.entries));
      load.entries += entries.length - left.length;
      if (load.entries <= skip) requireIdField(left, input.id_field);
      const send = async (documents: JsonObject[]) => {
        if (target.isMissing) {
          await create(client, target, ending.signal);
          load.isCreated = true;
          target.isMissing = false;
        }
        const { data, warnings } = await client.addDocuments(
          { workspace, collection, data: documents },
          { signal: ending.signal },
        );
        load.warnings.add(warnings);
        return data ?? [];
      };
      await take(left, load, input, send);
      tell(Math.min(bytesRead, file.bytes), count(load, 'ADDED') + count(load, 'REPLACED'));
      if (isStopping(load, input)) {
        const [first] = load.failed;
        const why = first === undefined ? 'an entry was refused' : `${file.unit} ${first.at}: ${first.error}`;
        load.stopped = { why, isUnsure: false, isBroken: true };
        return;
      }
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

/** Creates the collection, and the workspace if that is missing too. */
async function create(client: ToolContext['client'], { workspace, collection }: Target, signal: AbortSignal) {
  const createCollection = () =>
    client.createCollection({ workspace, name: collection, recognize_times: true }, { signal });
  try {
    await createCollection();
  } catch (error) {
    if (!(error instanceof ApiError) || error.details.messageKey !== 'WORKSPACE_NOT_FOUND') throw error;
    await client.createWorkspace({ name: workspace }, { signal });
    await createCollection();
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

const isStopping = ({ failures }: Load, { on_error: onError }: Run['input']) => failures > 0 && onError !== 'skip';

/**
 * Sends the documents of some entries and counts each entry's outcome; a request that is too large is halved. If the load
 * is to stop at errors, what comes after an entry that is none is left, and so is that entry.
 */
async function take(given: readonly FileEntry[], load: Load, input: Run['input'], send: Send): Promise<void> {
  const prepare = (entry: FileEntry) => prepared(entry, input.id_field);
  const bad = input.on_error === 'skip' ? -1 : given.findIndex((entry) => !('document' in prepare(entry)));
  const entries = bad < 0 ? given : given.slice(0, bad);
  const ready = entries.map(prepare);
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
      await take(entries.slice(0, half), load, input, send);
      if (isStopping(load, input)) return;
      await take(given.slice(half), load, input, send);
      return;
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
  const [stop] = bad < 0 || isStopping(load, input) ? [] : given.slice(bad, bad + 1).map(prepare);
  if (stop !== undefined && 'problem' in stop) fail(load, stop.at, null, stop.problem);
}

const FIELDS_CHARS_MAX = 500;

/** Throws `invalid_input` if none of the first entries has the field. */
export function requireIdField(first: readonly FileEntry[], idField: string | undefined): void {
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
