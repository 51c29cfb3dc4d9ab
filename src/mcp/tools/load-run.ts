import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import type { LoadProgress, LoadResult } from '../../contract/load.ts';
import { toApiError } from '../errors.ts';
import type { DocumentFile } from './file.ts';
import { fail, insideOf, type Load, type Target } from './load.ts';
import type { LoadInput } from './load-arguments.ts';
import { isInRows, sampleOf, sentAs, separatorFound } from './load-preview.ts';
import type { ToolContext } from './tool.ts';

/** After a cancellation what is under way may still finish, so that it is known what was stored. */
const GRACE_MS = 10_000;
export const CANCELLED = 'it was cancelled';
const LINE_FEED = 0x0a;

interface Run extends Pick<ToolContext, 'client' | 'signal'> {
  input: LoadInput;
  /** Told of the bytes of the file read so far, and the documents that are in. */
  tell(bytesRead: number, inside: number): void;
}

/**
 * Sends a file to the service, which loads it into the collection; what it has stored stays, whatever happens later.
 * Rejects if nothing was done; otherwise the load says why it stopped.
 */
export async function run(file: DocumentFile, load: Load, { client, signal, tell, input }: Run): Promise<void> {
  const { target } = load;
  const { workspace, collection } = target;
  const ending = graceful(signal);
  let [bytesRead, inside] = [0, 0];
  let isCut = false;
  /** Why the rest of the file cannot be read. */
  let broken: ApiError | undefined;
  async function* pieces() {
    try {
      yield* wholeLines();
    } catch (error) {
      broken = toApiError(error);
      // As when it is cancelled; the service then says what is in.
      if (isInRows(file)) throw error;
    }
  }
  /** Documents end with their line, and so does what is sent, wherever it ends. */
  async function* wholeLines() {
    let rest: Buffer | undefined;
    for await (const one of file.pieces()) {
      if (signal?.aborted === true) {
        isCut = true;
        if (isInRows(file)) throw new ApiError('aborted', 'The load was cancelled.');
        return;
      }
      bytesRead = one.bytesRead;
      tell(Math.min(bytesRead, file.bytes), inside);
      const end = isInRows(file) ? one.piece.length : one.piece.lastIndexOf(LINE_FEED) + 1;
      if (rest !== undefined) yield rest;
      if (end > 0) yield one.piece.subarray(0, end);
      rest = end < one.piece.length ? one.piece.subarray(end) : undefined;
    }
    if (rest !== undefined) yield rest;
  }
  const onProgress = (progress: LoadProgress) => {
    note(load, progress);
    inside = progress.added + progress.replaced;
    tell(Math.min(bytesRead, file.bytes), inside);
  };
  try {
    if (target.isMissing || input.id_field !== undefined) {
      const sample = await sampleOf({ client, signal }, { file, target }, input);
      if (target.isMissing) {
        if (!hasDocuments(load, file.unit, sample)) return;
        await create(client, target, input, ending.signal);
        load.isCreated = true;
        target.isMissing = false;
      }
    }
    const call = { workspace, collection, ...sentAs(file, input), skip: input.skip, on_error: input.on_error };
    const result = await client.load(call, pieces(), { signal: ending.signal, onProgress });
    take(load, result, file);
    load.separator = separatorFound(result, file, input);
    if (isCut) load.stopped = { why: CANCELLED, isUnsure: false };
    if (broken !== undefined) {
      // Without anything in, what is wrong says everything; as for a file of which the beginning is looked at first.
      if (load.entries + load.failures === 0) throw broken;
      load.stopped = { why: broken.message, isUnsure: false, isBroken: true };
    }
  } catch (error) {
    const failure = broken ?? toApiError(error);
    const { code, message } = failure;
    const isCancelled = signal?.aborted === true;
    const isUnsure = UNKNOWN_FATE.has(code) && !(isCut && isInRows(file));
    // Nothing was done, so the error says everything.
    if (load.entries === 0 && insideOf(load) === 0 && !isUnsure && !isCancelled && !load.isCreated) throw failure;
    // What is sent of a list that is cut does not end it, which says nothing of the file.
    const isBroken = !isCancelled && code === 'invalid_input';
    load.stopped = { why: isCancelled ? CANCELLED : message, isUnsure, isBroken };
  } finally {
    await removeEmpty(load, client, ending.signal);
    // Where nothing was done, what was to be left out still is when it goes on.
    if (load.stopped !== undefined) load.entries = Math.max(load.entries, input.skip ?? 0);
    ending.stop();
  }
}

/** Whether there is something to load; if not, the load says why. */
function hasDocuments(
  load: Load,
  unit: DocumentFile['unit'],
  { documents, refused, isAll }: Awaited<ReturnType<typeof sampleOf>>,
): boolean {
  const [first] = refused;
  if (documents.length > 0 || (first === undefined && !isAll)) return true;
  for (const { at, error } of refused) fail(load, at, null, error);
  if (first !== undefined)
    load.stopped = { why: `${unit} ${first.at}: ${first.error}`, isUnsure: false, isBroken: true };
  return false;
}

/** Creates the collection, and the workspace if that is missing too. */
async function create(
  client: ToolContext['client'],
  { workspace, collection }: Target,
  { event_time: eventTime, types }: LoadInput,
  signal: AbortSignal,
): Promise<void> {
  const call = {
    workspace,
    name: collection,
    // A text that is a time stays text, too.
    recognize_times: types !== 'text',
    ...(eventTime === undefined ? {} : { event_time_info: eventTime }),
  };
  const createCollection = () => client.createCollection(call, { signal });
  try {
    await createCollection();
  } catch (error) {
    if (!(error instanceof ApiError) || error.details.messageKey !== 'WORKSPACE_NOT_FOUND') throw error;
    await client.createWorkspace({ name: workspace }, { signal });
    await createCollection();
  }
}

/** Removes the collection that a load created and that has nothing, since all was refused; it stays if that fails. */
async function removeEmpty(load: Load, client: ToolContext['client'], signal: AbortSignal): Promise<void> {
  const { target, isCreated, failures, stopped } = load;
  if (!isCreated || failures === 0 || insideOf(load) > 0 || stopped?.isUnsure === true) return;
  const { workspace, collection } = target;
  try {
    const { stats } = await client.getCollection({ workspace, collection }, { signal });
    if (stats?.doc_count !== 0) return;
    await client.deleteCollection({ workspace, collection }, { signal });
    load.isCreated = false;
    load.isRemoved = true;
    target.isMissing = true;
  } catch {
    // The answer says that it was created.
  }
}

/** After these it is unknown whether what was sent last is in. */
export const UNKNOWN_FATE: ReadonlySet<ErrorCode> = new Set([
  'connection_failed',
  'request_timeout',
  'aborted',
  'internal',
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

function note(load: Load, { entries, added, replaced }: LoadProgress): void {
  load.entries = entries;
  load.counts = { ...(added > 0 ? { ADDED: added } : {}), ...(replaced > 0 ? { REPLACED: replaced } : {}) };
}

/** Takes over the result of a load. */
function take(load: Load, result: LoadResult, file: DocumentFile): void {
  note(load, result);
  load.withoutId = result.without_id;
  load.warnings.add(result.warnings, load.name);
  const refused = result.refused.toSorted((one, other) => one.at - other.at);
  for (const { at, _id, error, kind } of refused) fail(load, at, _id, file.problemAt?.(at) ?? error, kind);
  load.failures = result.refused_count;
  const [first] = load.failed;
  const problem = first && file.problemAt?.(first.at);
  if (first !== undefined && problem !== undefined && result.stopped !== null) {
    load.stopped = { why: `${file.unit} ${first.at}: ${problem}`, isUnsure: false, isBroken: true };
    return;
  }
  if (result.stopped !== null) load.stopped = { why: result.stopped, isUnsure: false, isBroken: true };
}
