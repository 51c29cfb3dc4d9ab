import { isUtf8 } from 'node:buffer';
import { ApiError, type RefusalKind } from '../../contract/errors.ts';
import { enterBody } from '../../contract/turns/long-bodies.ts';
import { createPace } from '../../contract/turns/turns.ts';
import type { FieldNews, NewDocument } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { write } from '../collections/documents.ts';
import type { CallContext } from '../context.ts';
import { takeIn } from '../ingest/intake.ts';
import { tableNotes } from '../ingest/table-look.ts';
import { textIntake } from '../ingest/text-intake.ts';
import {
  droppedWarnings,
  fieldWarnings,
  isTooOld,
  near1970Warnings,
  tooOldWarnings,
} from '../ingest/write-warnings.ts';
import { DocumentLook } from './document-look.ts';
import { type Entry, entryOf } from './json-entry.ts';
import { ExtendedParts } from './json-extended.ts';
import { type NotNumbers, notNumbersWarnings, withoutNotNumbers } from './json-nan.ts';
import { itemsOf, type JsonPart, jsonParts } from './json-parts.ts';
import { type LoadOptions, type LoadOutcome, type LoadSample, newOutcome, refuse } from './loading.ts';

const SAMPLE_BYTES_MAX = 4 * 1024 * 1024;
/** Documents that are looked at one by one are stored so many at a time. */
const BATCH_MAX = 2_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;

interface Loading {
  ctx: CallContext;
  collection: CollectionRecord;
  options: LoadOptions;
  outcome: LoadOutcome;
  /** What is told of fields, and of documents, at the end. */
  news: FieldNews[];
  tooOld: number;
  near1970: number;
  /** Documents that the collection's query leaves out. */
  dropped: number;
  notNumbers: NotNumbers;
  look: DocumentLook;
}

/**
 * Adds the documents of a stream of JSON to a collection, part by part, each durable at once: as `addDocuments` would.
 * The bytes of documents that are like those before them go to the engine as they are; the others are parsed.
 */
export async function loadDocuments(
  ctx: CallContext,
  collection: CollectionRecord,
  body: AsyncIterable<Buffer>,
  options: LoadOptions,
): Promise<LoadOutcome> {
  const loading: Loading = {
    ctx,
    collection,
    options,
    outcome: newOutcome(),
    news: [],
    tooOld: 0,
    near1970: 0,
    dropped: 0,
    notNumbers: { count: 0, line: 0 },
    look: new DocumentLook(options),
  };
  const { outcome } = loading;
  const extended = new ExtendedParts();
  try {
    await addParts(
      loading,
      extended.read(jsonParts(body, { isLines: options.format === 'jsonl', line: options.line })),
    );
  } catch (error) {
    // What is wrong with the stream ends the load; after any other error it is known from what was told.
    const isBroken = error instanceof ApiError && error.code === 'invalid_input';
    if (!isBroken || outcome.added + outcome.replaced === 0) throw error;
    outcome.stopped ??= error.message;
  }
  const { news, tooOld, near1970, dropped } = loading;
  ctx.usage.dropped(collection, dropped);
  outcome.warnings.push(
    ...extended.warnings(),
    ...notNumbersWarnings(loading.notNumbers),
    ...fieldWarnings(ctx.catalog, collection, news),
    ...(await notesOf(loading)),
    ...near1970Warnings(near1970),
    ...tooOldWarnings(collection, tooOld),
    ...droppedWarnings(collection, dropped),
  );
  return outcome;
}

/** What the documents and the texts of their fields are, unless mappings make others of them. */
async function notesOf({ ctx, collection, outcome, look }: Loading): Promise<string[]> {
  const isMapped = collection.fieldMappings.length > 0 || collection.fieldMappingQuery !== null;
  if (isMapped || outcome.added + outcome.replaced === 0) return [];
  outcome.lasting = tableNotes(await look.seen(outcome.entries));
  return [...outcome.lasting.map(({ text }) => text), ...ctx.engine.textNotes(look.beginning, collection.table)];
}

/** Reads the first documents of a stream of JSON. */
export async function sampleDocuments(
  { engine }: Pick<CallContext, 'engine'>,
  body: AsyncIterable<Buffer>,
  options: LoadOptions,
  max: number,
): Promise<LoadSample> {
  const sample = await firstDocuments(body, options, max);
  const columns = await engine.columnsFor(sample.documents);
  const rows = tableNotes(new DocumentLook(options).seenOf(sample.documents, sample.isAll)).map(({ text }) => text);
  return {
    ...sample,
    columns,
    warnings: [...sample.warnings, ...rows, ...engine.textNotes(sample.documents, columns)],
  };
}

async function firstDocuments(
  body: AsyncIterable<Buffer>,
  options: LoadOptions,
  max: number,
): Promise<Omit<LoadSample, 'columns'>> {
  const sample: Omit<LoadSample, 'columns'> = {
    documents: [],
    refused: [],
    isAll: true,
    stopped: null,
    warnings: [],
  };
  const notNumbers: NotNumbers = { count: 0, line: 0 };
  const extended = new ExtendedParts();
  const parts = jsonParts(body, { isLines: options.format === 'jsonl', line: options.line });
  try {
    for await (const found of extended.read(parts)) {
      const read = await withoutNotNumbers(found);
      if (read !== undefined) note(notNumbers, read);
      sample.warnings = [...extended.warnings(), ...notNumbersWarnings(notNumbers)];
      const part = read?.part ?? found;
      for (const item of itemsOf(part)) {
        const isFull = sample.documents.length + sample.refused.length === max || item.start > SAMPLE_BYTES_MAX;
        if (isFull) return { ...sample, isAll: false };
        const entry = await entryOf(part.bytes, item, options);
        if ('document' in entry) sample.documents.push(entry.document);
        else sample.refused.push({ at: entry.line, id: null, why: entry.problem });
        if (sample.refused.length > 0 && options.onError === 'stop') return { ...sample, isAll: false };
      }
    }
  } catch (error) {
    if (!(error instanceof ApiError) || sample.documents.length === 0) throw error;
    sample.stopped = error.message;
  }
  return sample;
}

/** Each part is looked at while the one before it is stored, and stored after that. */
async function addParts(loading: Loading, parts: AsyncIterable<JsonPart>): Promise<void> {
  const { ctx, options, outcome } = loading;
  let before: Promise<void> = Promise.resolve();
  let isFirst = true;
  try {
    for await (const part of parts) {
      const { signal } = ctx;
      if (signal.aborted) throw givenUp();
      const adding = addPart(loading, part, before);
      const stored = adding.then(() => {
        if (outcome.stopped !== null) throw STOPPED;
        options.tell(outcome);
        // What was looked at meanwhile is not stored for a caller that is gone.
        if (signal.aborted) throw givenUp();
      });
      // It rejects while the next part is awaited, and is awaited only then.
      stored.catch(() => undefined);
      await before;
      before = stored;
      // What it teaches of the documents is needed to look at the next.
      if (isFirst) await before;
      isFirst = false;
    }
    await before;
  } catch (error) {
    await before.catch(() => undefined);
    if (error !== STOPPED) throw error;
  }
}

function givenUp(): ApiError {
  return new ApiError('aborted', 'The load was given up by its caller.');
}

/** Why nothing more is stored, once `outcome.stopped` says it. */
const STOPPED = new Error('the load has stopped');

async function addPart(loading: Loading, part: JsonPart, before: Promise<void>): Promise<void> {
  const { ctx, options, outcome } = loading;
  const { length } = part.bytes;
  const leave = await enterBody({ length, isWrite: true, caller: ctx.caller.keyHash, signal: ctx.signal });
  try {
    // How many are left to be skipped, only the part before it tells.
    if (options.skip > 0) await before;
    const left = outcome.entries < options.skip ? skipped(loading, part) : part;
    if (left.bytes.length > 0) await loading.look.take(left);
    if (left.bytes.length > 0 && (await addText(loading, left, before))) return;
    await before;
    const read = await withoutNotNumbers(left);
    if (read !== undefined) note(loading.notNumbers, read);
    if (read !== undefined && (await addText(loading, read.part, before))) return;
    await addItems(loading, read?.part ?? left);
  } finally {
    leave();
  }
}

/** Adds what was found in a further part. */
function note(notNumbers: NotNumbers, { count, line }: NotNumbers): void {
  if (notNumbers.count === 0) notNumbers.line = line;
  notNumbers.count += count;
}

/** A part without the documents that are to be left out. */
function skipped({ options, outcome }: Loading, part: JsonPart): JsonPart {
  for (const { start, line } of itemsOf(part)) {
    if (outcome.entries === options.skip) return { ...part, bytes: part.bytes.subarray(start), line };
    outcome.entries += 1;
  }
  return { ...part, bytes: part.bytes.subarray(part.bytes.length) };
}

/** Adds documents without parsing them; false, with nothing done, if some need a closer look. */
async function addText(loading: Loading, { bytes, isLines }: JsonPart, after: Promise<void>): Promise<boolean> {
  const { ctx, collection, options, outcome } = loading;
  const intake = textIntake(collection, options.idField);
  if (intake === undefined || options.fileField !== undefined || !isUtf8(bytes)) return false;
  const place = { bytes, start: 0, end: bytes.length, isList: false, isLines, max: Number.POSITIVE_INFINITY };
  const news: FieldNews[] = [];
  const outcomes = await write(ctx, collection, () =>
    ctx.engine.addText(collection.table, { ...intake, ...place, after }, (one) => news.push(one)),
  );
  if (outcomes === undefined) return false;
  const told = intake.told(outcomes);
  outcome.withoutId += told.withoutId;
  loading.tooOld += told.tooOld;
  loading.near1970 += told.near1970;
  loading.news.push(...news);
  outcome.entries += outcomes.length;
  count(loading, outcomes);
  return true;
}

interface Stored {
  status: string;
  bytes: number;
  id: string;
}

/** How many have the id of one before them; most loads replace nothing, and their ids are not looked at. */
function repeatedIn(stored: readonly Stored[]): number {
  if (!stored.some(({ status }) => status === 'replaced')) return 0;
  return stored.length - new Set(stored.map(({ id }) => id)).size;
}

function count({ ctx, collection, outcome }: Loading, stored: readonly Stored[]): void {
  const size = { inserted: 0, overwritten: 0 };
  outcome.repeated += repeatedIn(stored);
  for (const { status, bytes } of stored) {
    size.inserted += bytes;
    if (status === 'replaced') {
      size.overwritten += bytes;
      outcome.replaced += 1;
    } else outcome.added += 1;
  }
  if (stored.length > 0) ctx.usage.wrote(collection, size);
}

async function addItems(loading: Loading, part: JsonPart): Promise<void> {
  const { options, outcome } = loading;
  let batch: Entry[] = [];
  let from = 0;
  const pace = createPace();
  for (const item of itemsOf(part)) {
    batch.push(await entryOf(part.bytes, item, options));
    const turn = pace();
    if (turn !== undefined) await turn;
    if (batch.length < BATCH_MAX && item.end - from < BATCH_BYTES_MAX) continue;
    await store(loading, batch);
    if (outcome.stopped !== null) return;
    batch = [];
    from = item.end;
  }
  await store(loading, batch);
}

/** An entry as the collection takes it. */
type Ready = { line: number } & (
  | { document: NewDocument; bytes: number; isNear1970: boolean; made: boolean }
  | { id: string | null; problem: string; kind?: RefusalKind | undefined }
  | { isDropped: true }
);

/** Stores some documents; if the load is to end at the first entry that is refused, those before it. */
async function store(loading: Loading, entries: readonly Entry[]): Promise<void> {
  const { ctx, collection, options, outcome } = loading;
  const given = entries.flatMap((entry) => ('document' in entry ? [entry.document] : []));
  const prepared = await takeIn(ctx, collection, given);
  let next = 0;
  const ready = entries.map((entry): Ready => {
    const { line } = entry;
    if ('problem' in entry) return { line, id: null, problem: entry.problem };
    const one = prepared[next++];
    if (one === undefined) throw new ApiError('internal', 'A document of the load was lost.');
    if ('isDropped' in one) return { line, isDropped: true };
    return 'document' in one ? { line, made: (entry.document['_id'] ?? null) === null, ...one } : { line, ...one };
  });
  const bad = options.onError === 'stop' ? ready.findIndex((one) => 'problem' in one) : -1;
  const taken = bad < 0 ? ready : ready.slice(0, bad);
  const accepted = taken.flatMap((one) => ('document' in one ? [one] : []));
  const news: FieldNews[] = [];
  const outcomes =
    accepted.length === 0
      ? []
      : await write(ctx, collection, () =>
          ctx.engine.addDocuments(
            collection.table,
            accepted.map(({ document }) => document),
            (one) => news.push(one),
          ),
        );
  loading.news.push(...news);
  outcome.entries += taken.length;
  loading.dropped += taken.filter((one) => 'isDropped' in one).length;
  const stored = accepted.flatMap(({ line, document, bytes, made, isNear1970 }, index) => {
    const { status, ...rest } = outcomes[index] ?? { status: 'error', message: 'the engine gave no answer for it' };
    if ('message' in rest) {
      refuse(outcome, { at: line, id: document.id, why: rest.message });
      return [];
    }
    if (made) outcome.withoutId += 1;
    if (isNear1970) loading.near1970 += 1;
    if (isTooOld(collection, document.eventTimeMicros)) loading.tooOld += 1;
    return [{ status, bytes, id: document.id }];
  });
  count(loading, stored);
  for (const one of bad < 0 ? taken : [...taken, ready[bad]]) {
    if (one !== undefined && 'problem' in one) {
      const { line: at, id, problem: why, kind } = one;
      refuse(outcome, { at, id, why, kind });
    }
  }
  if (bad >= 0) outcome.stopped = stoppedBy(outcome);
}

function stoppedBy({ refused }: LoadOutcome): string {
  const [first] = refused;
  return first === undefined ? 'an entry was refused' : `line ${first.at}: ${first.why}`;
}
