import type { FileHandle } from 'node:fs/promises';
import { extname } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { DocumentFile, FileBatch, FileEntry, FileFormat, FileRequest } from '../../mcp/tools/file.ts';
import { type AllowedFile, type AllowedFolders, openAllowed } from './file-access.ts';
import { formatByName } from './formats.ts';
import { type EntryReader, jsonReader, linesReader } from './json-entries.ts';

const PIECE_BYTES = 512 * 1024;
/** A request may have 10 MiB, and numbers can be longer when sent than in the file. */
const BATCH_BYTES = 3 * 1024 * 1024;
const BATCH_ENTRIES = 5_000;

/** Opens a file of documents in the allowed folders; see `OpenFile`. */
export async function openDocuments(allowed: AllowedFolders, request: FileRequest): Promise<DocumentFile> {
  const file = await openAllowed(allowed, request.path);
  try {
    const format = request.format ?? formatByName(file.path);
    if (format === undefined) {
      await refuseOtherBytes(file.handle);
      throw new ApiError(
        'invalid_input',
        `Cannot tell the format of the file ${JSON.stringify(request.path)} by its name. Give "format": json, jsonl, csv or parquet.`,
      );
    }
    return format === 'parquet' ? await parquetFile(file) : await textFile(file, format, request);
  } catch (error) {
    await file.handle.close();
    throw error;
  }
}

async function textFile(file: AllowedFile, format: Exclude<FileFormat, 'parquet'>, request: FileRequest) {
  await refuseOtherBytes(file.handle);
  const reader = await readerOf(file, format, request);
  const opened: DocumentFile = {
    path: file.path,
    format,
    bytes: file.bytes,
    unit: 'line',
    batches: batchesOf(textEntries(file.handle, reader)),
    unwritable: () => 0,
    asText: () => [],
    ...(reader.rows === undefined ? {} : { rows: reader.rows }),
    close: () => file.handle.close(),
  };
  return opened;
}

async function readerOf(file: AllowedFile, format: FileFormat, { csv = {} }: FileRequest): Promise<EntryReader> {
  if (format === 'json') return jsonReader();
  if (format === 'jsonl') return linesReader();
  const { csvReader } = await import('./csv-entries.ts');
  const isTabbed = extname(file.path).toLowerCase() === '.tsv';
  return csvReader({ ...csv, separator: csv.separator ?? (isTabbed ? '\t' : ',') });
}

/** How files begin that are not the text their name promises. */
const OTHER_BYTES = [
  { begin: [0x1f, 0x8b], what: 'compressed (gzip)', instead: 'Decompress it first, with gunzip.' },
  { begin: [0xff, 0xfe], what: 'UTF-16 text', instead: 'Convert it to UTF-8 first.' },
  { begin: [0xfe, 0xff], what: 'UTF-16 text', instead: 'Convert it to UTF-8 first.' },
  { begin: [0x50, 0x41, 0x52, 0x31], what: 'Parquet', instead: 'Give "format": "parquet".' },
] as const;

async function refuseOtherBytes(handle: FileHandle): Promise<void> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  const begins = buffer.subarray(0, bytesRead);
  const other = OTHER_BYTES.find(({ begin }) => begin.every((byte, index) => begins[index] === byte));
  if (other !== undefined) throw new ApiError('invalid_input', `The file is ${other.what}. ${other.instead}`);
}

interface Piece {
  entries: { entry: FileEntry; bytes: number }[];
  bytesRead: number;
}

/** Rejects, after all entries before that, if the rest cannot be read. */
async function* textEntries(handle: FileHandle, reader: EntryReader): AsyncGenerator<Piece> {
  let bytesRead = 0;
  for (let isEnd = false; !isEnd; ) {
    const { buffer, bytesRead: count } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, bytesRead);
    bytesRead += count;
    isEnd = count === 0;
    const { entries, failure } = await (isEnd ? reader.end() : reader.read(buffer.subarray(0, count)));
    yield { entries, bytesRead };
    if (failure !== undefined) throw failure;
  }
}

async function parquetFile(file: AllowedFile): Promise<DocumentFile> {
  if (/[*?[\]]/.test(file.path)) {
    throw new ApiError(
      'invalid_input',
      `Cannot read ${JSON.stringify(file.path)}: the path of a Parquet file must not hold *, ?, [ or ]. Rename it.`,
    );
  }
  // The reader for Parquet is the engine, native code that no other format needs.
  const { openParquet } = await import('../../engine/duckdb/results/parquet.ts');
  const parquet = await openParquet(file.path);
  return {
    path: file.path,
    format: 'parquet',
    bytes: file.bytes,
    unit: 'row',
    batches: batchesOf(parquetEntries(file, parquet)),
    unwritable: parquet.unwritable,
    asText: parquet.asText,
    async close() {
      parquet.close();
      await file.handle.close();
    },
  };
}

type Parquet = Awaited<ReturnType<typeof import('../../engine/duckdb/results/parquet.ts')['openParquet']>>;

async function* parquetEntries({ bytes }: AllowedFile, parquet: Parquet): AsyncGenerator<Piece> {
  let at = 0;
  for await (const documents of parquet.documents) {
    const entries = documents.map((document) => {
      at += 1;
      return { entry: { at, document }, bytes: stringifyJson(document).length };
    });
    yield { entries, bytesRead: Math.floor((bytes * at) / Math.max(parquet.rows, at)) };
  }
}

/** The entries in batches that each fit into one request. */
async function* batchesOf(pieces: AsyncGenerator<Piece>): AsyncGenerator<FileBatch> {
  let batch: FileEntry[] = [];
  let batchBytes = 0;
  let bytesRead = 0;
  try {
    for await (const piece of pieces) {
      bytesRead = piece.bytesRead;
      for (const { entry, bytes } of piece.entries) {
        if (batch.length > 0 && (batch.length === BATCH_ENTRIES || batchBytes + bytes > BATCH_BYTES)) {
          yield { entries: batch, bytesRead };
          batch = [];
          batchBytes = 0;
        }
        batch.push(entry);
        batchBytes += bytes;
      }
    }
  } catch (error) {
    // The entries before the failure are good.
    if (batch.length > 0) yield { entries: batch, bytesRead };
    throw error;
  }
  if (batch.length > 0) yield { entries: batch, bytesRead };
}
