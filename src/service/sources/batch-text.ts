import { isUtf8 } from 'node:buffer';
import { isObject } from '../../contract/json/json.ts';
import {
  type DocumentsText,
  derivedId,
  type KnownDocument,
  lineCount,
  type NumberedLines,
} from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { problemOfId } from '../ingest/document-id.ts';
import { type TextIntake, textIntake } from '../ingest/text-intake.ts';
import type { SourceChange, TextChange, TextRows } from './source.ts';

/* The documents of a batch as one text, on a line each; undefined: each has to be parsed. */

export function textOfRows(collection: CollectionRecord, rows: readonly TextRows[]): DocumentsText | undefined {
  const intake = textIntake(collection);
  if (intake === undefined || rows.some(({ prefix }) => problemOfId(prefix) !== undefined)) return undefined;
  let before = 0;
  const pieces: Buffer[] = [];
  const numbered = rows.map(({ prefix, first, ends, bytes }): NumberedLines => {
    const at = before;
    pieces.push(bytes, LINE_END);
    before += bytes.length + 1;
    return { prefix, first, ends: ends.map((end) => at + end) };
  });
  // Most batches are stored without it.
  let known: KnownDocument[] | undefined;
  const knownOf = () => {
    known ??= numbered.flatMap(({ prefix, first, ends }) =>
      ends.map((end, place) => ({ id: derivedId(prefix, first + place), end })),
    );
    return known;
  };
  return documentsText(
    intake,
    Buffer.concat(pieces),
    lineCount(numbered),
    knownOf,
    areDistinct(numbered) ? numbered : undefined,
  );
}

/** Not if an object was read twice. */
function areDistinct(lines: readonly NumberedLines[]): boolean {
  const lasts = new Map<string, number>();
  return lines.every(({ prefix, first, ends }) => {
    const isBehind = first > (lasts.get(prefix) ?? -1);
    lasts.set(prefix, first + ends.length - 1);
    return isBehind;
  });
}

export function textOf(collection: CollectionRecord, changes: readonly SourceChange[]): DocumentsText | undefined {
  const intake = textIntake(collection);
  if (intake === undefined || changes.length === 0 || !areTexts(changes)) return undefined;
  const bytes = Buffer.allocUnsafe(changes.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0));
  let end = 0;
  const known = changes.map(({ id, text, declared, timeMs }): KnownDocument => {
    end += typeof text === 'string' ? bytes.write(text, end) : text.copy(bytes, end);
    bytes[end++] = LINE_FEED;
    return { id, end, declared, eventTimeMicros: timeMs === undefined ? null : BigInt(timeMs) * 1_000n };
  });
  return documentsText(intake, bytes, known.length, () => known);
}

const LINE_FEED = 10;
const LINE_END = Buffer.of(LINE_FEED);

/** What else is wrong with a document is seen when it is scanned. */
function areTexts(changes: readonly SourceChange[]): changes is readonly TextChange[] {
  return changes.every(({ id, text }) => text !== undefined && problemOfId(id) === undefined);
}

function documentsText(
  intake: TextIntake,
  bytes: Buffer,
  max: number,
  knownOf: () => readonly KnownDocument[],
  numbered?: readonly NumberedLines[],
): DocumentsText | undefined {
  if (!isUtf8(bytes)) return undefined;
  return {
    ...intake,
    bytes,
    start: 0,
    end: bytes.length,
    isList: false,
    max,
    get known() {
      return knownOf();
    },
    numbered,
    read(document, at) {
      const one = knownOf()[at];
      if (one === undefined || !isObject(document) || (document['_id'] ?? one.id) !== one.id) return undefined;
      const read = intake.read({ ...document, _id: one.id }, at);
      return (
        read && {
          ...read,
          declared: one.declared,
          eventTimeMicros: read.eventTimeMicros ?? one.eventTimeMicros ?? null,
        }
      );
    },
  };
}
