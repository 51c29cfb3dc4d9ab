import { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { DocumentFile, FileBatch, FileEntry, FileFormat, FileRequest } from '../../mcp/tools/file.ts';
import { type AllowedFile, type AllowedFolders, openAllowed } from './file-access.ts';
import { type FileBytes, type Piece as FilePiece, fileBytes } from './file-bytes.ts';
import { ALL_FORMATS, formatByName } from './formats.ts';
import { type EntryReader, jsonReader, linesReader } from './json-entries.ts';
import { type ObjectList, OutlineScanner } from './json-outline.ts';
import { refuseOtherBytes } from './other-bytes.ts';
import { separatorOf } from './separator.ts';

/** A request may have 10 MiB, and numbers can be longer when sent than in the file. */
const BATCH_BYTES = 3 * 1024 * 1024;
const BATCH_ENTRIES = 5_000;
const LISTS_SHOWN = 10;

/** Opens a file of documents in the allowed folders; see `OpenFile`. */
export async function openDocuments(allowed: AllowedFolders, request: FileRequest): Promise<DocumentFile> {
  return documentsOf(await openAllowed(allowed, request.path), request);
}

/** The documents of an open file, which is closed with them, or if they cannot be read. */
export async function documentsOf(file: AllowedFile, request: FileRequest): Promise<DocumentFile> {
  try {
    const format = request.format ?? formatByName(file.path);
    const bytes = await fileBytes(file.handle);
    if (format === 'parquet') {
      if (bytes.compression === undefined) return await parquetFile(file);
      throw refused(request, `it is Parquet compressed with ${bytes.compression}. Decompress it first.`);
    }
    if (format === 'avro') return await avroFile(file, bytes);
    if (format === 'xlsx') {
      if (bytes.compression === undefined) return await xlsxFile(file, bytes, request.sheet);
      throw refused(request, `it is a workbook compressed with ${bytes.compression}. Decompress it first.`);
    }
    refuseOtherBytes(bytes.head);
    if (format !== undefined) return await textFile(file, bytes, format, request);
    const name = JSON.stringify(request.path);
    throw new ApiError(
      'invalid_input',
      `Cannot tell the format of the file ${name} by its name. Give "format": ${ALL_FORMATS}.`,
    );
  } catch (error) {
    await file.handle.close();
    throw error;
  }
}

function refused({ path }: FileRequest, why: string): ApiError {
  return new ApiError('invalid_input', `Cannot read the file ${JSON.stringify(path)}: ${why}`);
}

type TextFormat = Exclude<FileFormat, 'parquet' | 'avro' | 'xlsx'>;

async function textFile(file: AllowedFile, bytes: FileBytes, format: TextFormat, request: FileRequest) {
  const { list, lists } = format === 'json' ? await listOf(bytes, request) : {};
  const separator = format === 'csv' ? separatorFor(file.path, bytes, request) : undefined;
  const xml = format === 'xml' ? await (await import('./xml-entries.ts')).openXml(bytes, request.xml) : undefined;
  const reader = xml?.reader ?? (await readerOf(format, { ...request.csv, separator }, list?.line));
  const pieces = list === undefined ? bytes.pieces() : part(bytes, list);
  const isRecognized = request.csv?.separator === undefined && separator !== usualSeparator(file.path);
  const opened: DocumentFile = {
    path: file.path,
    format,
    bytes: file.bytes,
    unit: 'line',
    batches: batchesOf(textEntries(pieces, reader)),
    unwritable: () => 0,
    asText: () => [],
    ...(reader.rows === undefined ? {} : { rows: reader.rows }),
    ...(isRecognized && separator !== undefined ? { separator } : {}),
    ...(list === undefined ? {} : { list: { path: list.path, beside: list.beside } }),
    ...(lists === undefined ? {} : { lists: lists.map(({ path, items }) => ({ path, items })) }),
    ...(xml === undefined ? {} : { docTag: xml.docTag, lists: xml.lists }),
    close: () => file.handle.close(),
  };
  return opened;
}

async function readerOf(format: TextFormat, csv: NonNullable<FileRequest['csv']>, line = 1): Promise<EntryReader> {
  if (format === 'json') return jsonReader(line);
  if (format === 'jsonl') return linesReader();
  const { csvReader } = await import('./csv-entries.ts');
  return csvReader(csv);
}

function separatorFor(path: string, { head, isWhole }: FileBytes, { csv }: FileRequest): string {
  if (csv?.separator !== undefined) return csv.separator;
  const usual = usualSeparator(path);
  return usual === ',' ? (separatorOf(head.toString(), isWhole) ?? usual) : usual;
}

function usualSeparator(path: string): string {
  return /\.tsv(?:\.\w+)?$/i.test(path) ? '\t' : ',';
}

/** The path that stands for the file as one document. */
const WHOLE = '.';

interface Lists {
  /** The list whose items are the documents, with the keys beside it. */
  list?: ObjectList & { beside: string[] };
  /** Those of a file that is one document. */
  lists?: ObjectList[];
}

/**
 * The list of objects in a file that is one object: the one that is asked for, or the only one, unless the object has an
 * `_id` and is a document itself.
 */
async function listOf(bytes: FileBytes, request: FileRequest): Promise<Lists> {
  const { listPath } = request;
  if (listPath === WHOLE) return {};
  const scanner = new OutlineScanner();
  for await (const { piece } of bytes.pieces()) if (!scanner.read(piece)) break;
  const outline = scanner.end();
  if (outline === undefined && listPath === undefined) return {};
  if (outline === undefined) throw refused(request, 'it is not one JSON object, so "list_path" names nothing in it.');
  const { lists, keys } = outline;
  const isDocument = keys.includes('_id');
  const list = listPath === undefined ? lists[0] : lists.find(({ path }) => path === listPath);
  if (listPath === undefined && (lists.length > 1 || isDocument)) return { lists };
  if (list !== undefined)
    return { list: { ...list, beside: keys.filter((key) => key !== list.path.split('.', 1)[0]) } };
  if (listPath === undefined) return {};
  const known = lists.slice(0, LISTS_SHOWN).map(({ path }) => JSON.stringify(path));
  const hint = known.length > 0 ? `Lists of objects are at ${known.join(', ')}.` : 'It has no list of objects.';
  throw refused(request, `there is no list of objects at the "list_path" ${JSON.stringify(listPath)}. ${hint}`);
}

async function* part(bytes: FileBytes, { begin, end }: ObjectList): AsyncGenerator<FilePiece> {
  let offset = 0;
  for await (const { piece, bytesRead } of bytes.pieces()) {
    const inside = piece.subarray(Math.max(0, begin - offset), Math.max(0, end - offset));
    offset += piece.length;
    if (inside.length > 0) yield { piece: inside, bytesRead };
    if (offset >= end) return;
  }
}

interface Piece {
  entries: { entry: FileEntry; bytes: number }[];
  bytesRead: number;
}

/** Rejects, after all entries before that, if the rest cannot be read. */
async function* textEntries(pieces: AsyncGenerator<FilePiece>, reader: EntryReader): AsyncGenerator<Piece> {
  let read = 0;
  for await (const { piece, bytesRead } of pieces) {
    read = bytesRead;
    const { entries, failure } = await reader.read(piece);
    yield { entries, bytesRead };
    if (failure !== undefined) throw failure;
  }
  const { entries, failure } = await reader.end();
  yield { entries, bytesRead: read };
  if (failure !== undefined) throw failure;
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

async function avroFile(file: AllowedFile, bytes: FileBytes): Promise<DocumentFile> {
  const { openAvro } = await import('./avro-entries.ts');
  const { entries, unwritable, asText } = openAvro(bytes);
  return {
    path: file.path,
    format: 'avro',
    bytes: file.bytes,
    unit: 'row',
    batches: batchesOf(entries),
    unwritable,
    asText,
    close: () => file.handle.close(),
  };
}

async function xlsxFile(file: AllowedFile, { head }: FileBytes, asked: string | undefined): Promise<DocumentFile> {
  refuseOtherBytes(head, 'xlsx');
  const { openXlsx } = await import('./xlsx-entries.ts');
  const { entries, sheet, sheets, unwritable } = await openXlsx(file.handle, file.bytes, asked);
  return {
    path: file.path,
    format: 'xlsx',
    bytes: file.bytes,
    unit: 'row',
    batches: batchesOf(entries),
    unwritable,
    asText: () => [],
    sheet,
    sheets,
    close: () => file.handle.close(),
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
