import { isUtf8 } from 'node:buffer';
import { isObject, type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import type { DocumentFile } from '../../../src/mcp/tools/file.ts';
import { itemsOf, jsonParts } from '../../../src/service/loading/json-parts.ts';

/** An entry of a file, with its line. */
export type Entry = { at: number } & ({ document: JsonObject } | { problem: string });

/** The bytes that are sent of a file, in the pieces in which it is read. */
export async function piecesOf(file: DocumentFile): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let read = 0;
  for await (const { piece, bytesRead } of file.pieces()) {
    if (bytesRead < read || bytesRead > file.bytes) throw new Error(`${bytesRead} bytes are read after ${read}`);
    read = bytesRead;
    pieces.push(Buffer.from(piece));
  }
  return pieces;
}

/** The entries of a file of JSON, as the service finds them in what is sent. */
export async function entriesOf(file: DocumentFile): Promise<Entry[]> {
  async function* body() {
    for await (const { piece } of file.pieces()) yield piece;
  }
  const entries: Entry[] = [];
  const { sentAs, firstLine } = file;
  for await (const part of jsonParts(body(), { isLines: sentAs === 'jsonl', line: firstLine ?? 1 })) {
    for (const { start, end, line } of itemsOf(part)) entries.push(entryOf(line, part.bytes.subarray(start, end)));
  }
  return entries;
}

function entryOf(at: number, bytes: Buffer): Entry {
  if (!isUtf8(bytes)) return { at, problem: 'is not text in UTF-8' };
  try {
    const document = parseJson(bytes.toString());
    return isObject(document) ? { at, document } : { at, problem: 'is no JSON object' };
  } catch (error) {
    return { at, problem: `is no JSON: ${(error as Error).message}` };
  }
}
