import { isObject, type JsonObject, type JsonValue, parseJson } from '../../contract/json.ts';
import type { FileFormat } from '../records.ts';
import { csvReader, type Parsed } from './csv.ts';
import { type Draft, draftOf, refusedDraft } from './drafts.ts';
import { xmlDocuments } from './xml.ts';

/** Turns text into documents: each text is a piece of one file, in order, and consists of whole lines or elements. */
export interface PieceReader {
  /** The drafts of a piece, named by `place` in messages, e.g. `data[3]`. CSV stops after `max` + 1 of them. */
  read(text: string, place: string, max: number): Draft[];
}

/** A reader for the pieces of one request. */
export function pieceReader(format: FileFormat): PieceReader {
  const parse = parserOf(format);
  return {
    read: (text, place, max) =>
      parse(text, max).map((parsed) =>
        'document' in parsed ? draftOf(parsed.document, true) : refusedDraft(`${place} ${parsed.problem}`, true),
      ),
  };
}

function parserOf(format: FileFormat): (text: string, max: number) => Parsed[] {
  switch (format.kind) {
    case 'csv':
      return csvReader(format).read;
    case 'xml':
      return (text) => {
        try {
          return xmlDocuments(text, format).map((document) => ({ document }));
        } catch (error) {
          return [{ problem: `is no XML: ${error instanceof Error ? error.message : String(error)}` }];
        }
      };
    case 'json':
      return parseJsonPiece;
  }
}

/** A piece of JSON is one object, an array of objects, or one object per line. */
function parseJsonPiece(text: string): Parsed[] {
  try {
    const value = parseJson(text);
    return Array.isArray(value) ? value.map((item) => toDocument(item, 'holds an item that')) : [toDocument(value, '')];
  } catch (error) {
    const lines = text.split('\n');
    if (lines.filter((line) => line.trim() !== '').length < 2) return [notJson('is', error)];
    return lines.flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, `line ${index + 1}`)]));
  }
}

function parseLine(line: string, place: string): Parsed {
  try {
    return toDocument(parseJson(line), `${place}:`);
  } catch (error) {
    return notJson(`${place}: is`, error);
  }
}

function notJson(what: string, error: unknown): Parsed {
  return { problem: `${what} no JSON: ${error instanceof Error ? error.message : String(error)}` };
}

function toDocument(value: JsonValue, place: string): Parsed {
  if (isObject(value)) return { document: value as JsonObject };
  return { problem: `${place} must be a JSON object`.trim() };
}
