import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue, parseJsonInTurns } from '../../contract/json/json.ts';
import { scanJson } from '../../contract/json/json-scan.ts';
import type { FileFormat } from '../catalog/records.ts';
import { csvReader, type Parsed } from './csv.ts';
import { type Draft, draftOf, refusedDraft } from './drafts.ts';
import { xmlDocuments } from './xml.ts';

/** Turns text into documents: each text is a piece of one file, in order, and consists of whole lines or elements. */
export interface PieceReader {
  /** The drafts of a piece, named by `place` in messages, e.g. `data[3]`; stops after `max` + 1 of them. */
  read(text: string, place: string, max: number): Promise<Draft[]>;
}

/** A reader for the pieces of one request. */
export function pieceReader(format: FileFormat): PieceReader {
  const parse = parserOf(format);
  return {
    read: async (text, place, max) =>
      (await parse(text, max)).map((parsed) =>
        'document' in parsed ? draftOf(parsed.document, true) : refusedDraft(`${place} ${parsed.problem}`, true),
      ),
  };
}

function parserOf(format: FileFormat): (text: string, max: number) => Promise<Parsed[]> {
  switch (format.kind) {
    case 'csv':
      return csvReader(format).read;
    case 'xml':
      return async (text) => {
        try {
          return xmlDocuments(text, format);
        } catch (error) {
          return [{ problem: `is no XML: ${error instanceof Error ? error.message : String(error)}` }];
        }
      };
    case 'json':
      return parseJsonPiece;
  }
}

/** A piece of JSON is one object, an array of objects, or one object per line. */
async function parseJsonPiece(text: string, max: number): Promise<Parsed[]> {
  try {
    const value = await parseScanned(text);
    if (!Array.isArray(value)) return [toDocument(value, '')];
    return value.slice(0, max + 1).map((item) => toDocument(item, 'holds an item that'));
  } catch (error) {
    if (error instanceof ApiError) return [{ problem: inClause(error) }];
    const lines: Parsed[] = [];
    let number = 0;
    for (const line of linesOf(text)) {
      number += 1;
      if (line.trim() !== '') lines.push(await parseLine(line, `line ${number}`));
      if (lines.length > max) break;
    }
    return lines.length < 2 ? [notJson('is', error)] : lines;
  }
}

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf('\n', from);
    yield text.slice(from, end < 0 ? text.length : end);
    if (end < 0) return;
    from = end + 1;
  }
}

async function parseScanned(text: string): Promise<JsonValue> {
  await scanJson(Buffer.from(text), { what: 'It' });
  return parseJsonInTurns(text);
}

async function parseLine(line: string, place: string): Promise<Parsed> {
  try {
    return toDocument(await parseScanned(line), `${place}:`);
  } catch (error) {
    return error instanceof ApiError ? { problem: `${place}: ${inClause(error)}` } : notJson(`${place}: is`, error);
  }
}

/** What a scan refuses, to follow the name of the text. */
function inClause({ message }: ApiError): string {
  return message.replace(/^It /, '').replace(/\.$/, '');
}

function notJson(what: string, error: unknown): Parsed {
  return { problem: `${what} no JSON: ${error instanceof Error ? error.message : String(error)}` };
}

function toDocument(value: JsonValue, place: string): Parsed {
  if (isObject(value)) return { document: value as JsonObject };
  return { problem: `${place} must be a JSON object`.trim() };
}
