import { type JsonObject, parseJson } from '../../../contract/json/json.ts';
import { endOfItem } from '../../../contract/json/json-scan.ts';
import { createPace, type Pace } from '../../../contract/turns/turns.ts';
import type { DocumentsText, NewDocument } from '../../engine.ts';
import { faultOf } from '../tables/accept.ts';
import { type Fitting, type TableShape, type TableWidening, widenTable } from '../tables/columns.ts';
import { isListed } from '../tables/insert.ts';
import { hasNewMaps } from '../tables/maps.ts';
import { changedIn, partsOf } from '../values/paths.ts';
import type { Shape } from '../values/shape.ts';
import { patternOf } from './pattern.ts';
import { createScanner, type Scanner, skipSpace } from './scan.ts';

export interface TextDocument {
  id: string;
  /** Offset of its `{`; `end` is that of the byte after its `}`. */
  start: number;
  end: number;
  /** Whether its id was generated because it has no `_id`. */
  isMade: boolean;
  /** As in `NewDocument`. */
  eventTimeMicros: bigint | null;
  /** Set if its text cannot be used as it is. */
  parsed: ParsedDocument | null;
}

export interface ParsedDocument extends Fitting {
  fields: JsonObject;
}

/** The documents in a text, scanned for a table of some shape. */
export interface ScannedText {
  documents: TextDocument[];
  /** The shape that holds them all; the given one itself if it does. */
  shape: TableShape;
}

/** To look at the clock behind each document takes a tenth of the time for small ones. */
const PACE_BYTES = 4 * 1024;

const OPEN = 0x7b;
const COMMA = 0x2c;
const CLOSE_LIST = 0x5d;
const LINE_FEED = 0x0a;

/**
 * A widened shape is used for comparison only after this many bytes per field of the earlier one were parsed: if each
 * document brings something new, preparing it each time would take longer than parsing them all. Until then, documents
 * that fit the earlier shape are still accepted.
 */
const PARSED_BYTES_PER_FIELD = 32;

/**
 * Documents whose shape a table already has go from the request's bytes to the engine as they are.
 *
 * Wins: adding 1,000 documents at once 2 times, 5,000 1.5 times (`npm run bench -- p`).
 */
export interface Unparsed {
  /**
   * Scans the documents of a text. Those of the known shape are not parsed; the others are, and widen the shape.
   * Undefined if one cannot be stored or is over a limit, two have the same id, an object turns out to be a map, or
   * fractions that were already read become JSON after all, which would keep them as spelled.
   */
  try(text: DocumentsText, shape: TableShape): Promise<ScannedText | undefined>;
  /** Whether all numbered lines of a text are of the known shape, and say nothing of their ids and event times. */
  tryLines(text: DocumentsText, shape: TableShape): Promise<boolean>;
}

export const unparsed: Unparsed = { try: scanText, tryLines: scanLines };

async function scanLines(text: DocumentsText, shape: TableShape): Promise<boolean> {
  const { bytes, numbered } = text;
  if (numbered === undefined || shape.columns.size === 0) return false;
  if (!numbered.every(({ prefix }) => isListed(prefix))) return false;
  const scanner = createScanner(bytes, patternOf(shape, text));
  const pace = createPace();
  let pacedAt = text.start;
  let before = text.start - 1;
  for (const { ends } of numbered) {
    for (const end of ends) {
      const to = scanner.fits(skipSpace(bytes, before + 1));
      if (to < 0 || scanner.id !== null || scanner.eventTime !== null) return false;
      // The engine divides the text by its lines.
      if (bytes.indexOf(LINE_FEED, before + 1) !== end || skipSpace(bytes, to) < end) return false;
      before = end;
      if (end - pacedAt < PACE_BYTES) continue;
      pacedAt = end;
      const turn = pace();
      if (turn !== undefined) await turn;
    }
  }
  return true;
}

async function scanText(text: DocumentsText, shape: TableShape): Promise<ScannedText | undefined> {
  const { bytes } = text;
  let known = shape;
  let scanner = createScanner(bytes, patternOf(known, text));
  /** Begun with the first document that has to be parsed. */
  let widening: TableWidening | undefined;
  let changes = 0;
  let parsedBytes = 0;
  /** So many have to be parsed before the shape is replaced. */
  let bytesMin = 0;
  const documents: TextDocument[] = [];
  const pace = createPace();
  let pacedAt = text.start;
  const isList = text.isList ?? true;
  let at = skipSpace(bytes, isList ? text.start + 1 : text.start);
  if (bytes[at] === CLOSE_LIST) return undefined;
  for (;;) {
    if (documents.length === text.max) return undefined;
    const place = documents.length;
    let document = fitting(text, scanner, at, place);
    if (document === undefined) {
      if (widening === undefined) {
        widening = widenTable(shape);
        bytesMin = bytesToWiden(known);
      }
      document = await parseOne(text, widening, at, place, pace);
    }
    if (document === undefined || !isInPlace(text, document, place)) return undefined;
    documents.push(document);
    if (document.parsed !== null) parsedBytes += document.end - document.start;
    if (widening !== undefined && widening.changes > changes && parsedBytes > bytesMin) {
      const wider = widening.result();
      if (losesDoubles(known, wider) || hasNewMaps(known, wider)) return undefined;
      known = { ...wider, columns: new Map(wider.columns) };
      scanner = createScanner(bytes, patternOf(known, text, shape));
      changes = widening.changes;
      parsedBytes = 0;
      bytesMin = bytesToWiden(known);
    }
    if (document.end - pacedAt >= PACE_BYTES) {
      pacedAt = document.end;
      const turn = pace();
      if (turn !== undefined) await turn;
    }
    at = skipSpace(bytes, document.end);
    if (text.isLines === true && !isAloneOnLine(text, document, at)) return undefined;
    if (isList ? bytes[at] === CLOSE_LIST : at === text.end) break;
    if (!isList) continue;
    if (bytes[at] !== COMMA) return undefined;
    at = skipSpace(bytes, at + 1);
  }
  const wider = widening?.result() ?? shape;
  if ((isList ? at + 1 : at) !== text.end || losesDoubles(known, wider) || hasNewMaps(known, wider)) return undefined;
  const ids = new Set(documents.map(({ id }) => id));
  return ids.size === documents.length ? { documents, shape: wider } : undefined;
}

/** Whether a document is all that the text has where it is known to be. */
function isInPlace({ known }: DocumentsText, { start, end }: TextDocument, place: number): boolean {
  return known === undefined || (start >= (known[place - 1]?.end ?? 0) && end <= (known[place]?.end ?? -1));
}

/** Whether a document that the next one follows at an offset is one line. */
function isAloneOnLine({ bytes, end: textEnd }: DocumentsText, { start, end }: TextDocument, next: number): boolean {
  const feed = bytes.indexOf(LINE_FEED, start);
  return feed < 0 || feed >= textEnd ? next === textEnd : feed >= end && feed < next;
}

/** Whether numbers of a column of doubles, or within a column, become JSON. */
function losesDoubles(before: TableShape, after: TableShape): boolean {
  const changed = before === after ? [] : [...changedIn({ fields: before.columns }, { fields: after.columns })];
  return changed.some(({ from, to }) => to === 'json' && from !== undefined && holdsDouble(from));
}

function bytesToWiden({ columns }: TableShape): number {
  return fieldsIn({ fields: columns }) * PARSED_BYTES_PER_FIELD;
}

function fieldsIn(shape: Shape): number {
  return partsOf(shape).reduce((count, [, part]) => count + 1 + fieldsIn(part), 0);
}

function holdsDouble(shape: Shape): boolean {
  return shape === 'double' || partsOf(shape).some(([, part]) => holdsDouble(part));
}

function fitting(text: DocumentsText, scanner: Scanner, start: number, place: number): TextDocument | undefined {
  const end = scanner.fits(start);
  if (end < 0) return undefined;
  const { id: own, eventTime } = scanner;
  const known = text.known?.[place];
  if (own === null && text.idField !== undefined) return undefined;
  if (known !== undefined && own !== null && own !== known.id) return undefined;
  const given = known?.eventTimeMicros ?? null;
  const eventTimeMicros = eventTime === null ? given : text.readTime(eventTime.value, eventTime.isField);
  if (eventTimeMicros === undefined) return undefined;
  const id = known?.id ?? own;
  return { id: id ?? text.makeId(), start, end, isMade: id === null, eventTimeMicros, parsed: null };
}

async function parseOne(
  text: DocumentsText,
  widening: TableWidening,
  start: number,
  place: number,
  pace: Pace,
): Promise<TextDocument | undefined> {
  const end = text.bytes[start] === OPEN ? endOfItem(text.bytes, start) : -1;
  const turn = pace();
  if (turn !== undefined) await turn;
  const document = end < 0 ? undefined : read(text, text.bytes.toString('utf8', start, end), place);
  if (document === undefined) return undefined;
  const { id, eventTimeMicros, fields, declared } = document;
  const parsed = { fields, ...widening.add(fields, declared) };
  return { id, start, end, isMade: false, eventTimeMicros, parsed };
}

function read(text: DocumentsText, json: string, place: number): NewDocument | undefined {
  try {
    const document = text.read(parseJson(json), place);
    if (document === undefined) return undefined;
    return faultOf(document.id, document.eventTimeMicros, document.fields) === null ? document : undefined;
  } catch (error) {
    // Parsing the whole text will report where it is not JSON.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
