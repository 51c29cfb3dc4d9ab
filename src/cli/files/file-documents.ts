import { markedEncoding } from '../../contract/byte-order-marks.ts';
import { requireOwnTypes } from '../../contract/column-types.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import type { DocumentFile, FileFormat, FilePiece, FileRequest } from '../../mcp/tools/file.ts';
import type { openXml, XmlOpened } from '../../service/ingest/xml-file.ts';
import { formatByContent } from './content-format.ts';
import { entriesOf, entryLines } from './entry-lines.ts';
import { type AllowedFile, type AllowedFolders, openAllowed } from './file-access.ts';
import { type FileBytes, fileBytes } from './file-bytes.ts';
import { ALL_FORMATS, formatByName } from './formats.ts';
import { membersOf } from './json-members.ts';
import { type Dictionary, type ObjectList, type Outline, OutlineScanner } from './json-outline.ts';
import { refuseOtherBytes } from './other-bytes.ts';

const LISTS_SHOWN = 10;
const TABBED = /\.(?:tsv|tab)(?:\.\w+)?$/i;

/** Opens a file of documents in the allowed folders; see `OpenFile`. */
export async function openDocuments(allowed: AllowedFolders, request: FileRequest): Promise<DocumentFile> {
  return documentsOf(await openAllowed(allowed, request.path), request);
}

/** The documents of an open file, which is closed with them, or if they cannot be read. */
export async function documentsOf(file: AllowedFile, request: FileRequest): Promise<DocumentFile> {
  try {
    const bytes = await fileBytes(file.handle);
    const format = request.format ?? formatByName(file.path) ?? formatByContent(bytes.head, bytes.isWhole);
    if (format !== undefined && format !== 'csv' && format !== 'xlsx')
      requireOwnTypes(request.types ?? 'infer', format);
    if (format === 'parquet') return parquetFile(file, bytes);
    if (format === 'avro') return await avroFile(file, bytes);
    if (format === 'xlsx') {
      if (bytes.compression === undefined) return await xlsxFile(file, bytes, request);
      throw refused(request, `it is a workbook compressed with ${bytes.compression}. Decompress it first.`);
    }
    refuseOtherBytes(bytes.head, isWide(bytes.head, format, request) ? 'wide' : undefined);
    if (format === 'xml') return await xmlFile(file, bytes, request.xml);
    if (format !== undefined) return await textFile(file, bytes, format, request);
    const name = JSON.stringify(request.path);
    throw new ApiError(
      'invalid_input',
      `Cannot tell the format of the file ${name} by its name or its content. Give "format": ${ALL_FORMATS}.`,
    );
  } catch (error) {
    await file.handle.close();
    throw error;
  }
}

/** UTF-16, which the service reads of CSV where a mark at its beginning or the caller says so. */
function isWide(head: Buffer, format: FileFormat | undefined, { encoding }: FileRequest): boolean {
  if (format !== 'csv') return false;
  return markedEncoding(head)?.startsWith('utf-16') === true || /^utf-?16/i.test(encoding ?? '');
}

function refused({ path }: FileRequest, why: string): ApiError {
  return new ApiError('invalid_input', `Cannot read the file ${JSON.stringify(path)}: ${why}`);
}

type TextFormat = Exclude<FileFormat, 'parquet' | 'avro' | 'xlsx' | 'xml'>;

async function avroFile(file: AllowedFile, bytes: FileBytes): Promise<DocumentFile> {
  const { openAvro } = await import('../../contract/avro/container.ts');
  let opened = openAvro(bytes);
  const entries = () => {
    opened = openAvro(bytes);
    return opened.entries;
  };
  return {
    path: file.path,
    format: 'avro',
    bytes: file.bytes,
    unit: 'row',
    ...entryLines(entries),
    unwritable: () => opened.unwritable(),
    asText: () => opened.asText(),
    close: () => file.handle.close(),
  };
}

async function xlsxFile(file: AllowedFile, { head }: FileBytes, asked: FileRequest): Promise<DocumentFile> {
  refuseOtherBytes(head, 'xlsx');
  const { openXlsx } = await import('./xlsx-entries.ts');
  let opened = await openXlsx(file.handle, file.bytes, asked);
  async function* entries() {
    opened = await openXlsx(file.handle, file.bytes, asked);
    yield* opened.entries;
  }
  const { sheet, sheets } = opened;
  return {
    path: file.path,
    format: 'xlsx',
    bytes: file.bytes,
    unit: 'row',
    ...entryLines(entries),
    unwritable: () => opened.unwritable(),
    warnings: () => opened.warnings(),
    sheet,
    sheets,
    close: () => file.handle.close(),
  };
}

async function xmlFile(file: AllowedFile, bytes: FileBytes, xml: FileRequest['xml']): Promise<DocumentFile> {
  const { openXml } = await import('../../service/ingest/xml-file.ts');
  const { docTag, lists, newReader }: XmlOpened = await openXml(beginningOf(bytes), xml);
  async function* entries() {
    let element = 0;
    for await (const { entries: some, bytesRead } of entriesOf(bytes.pieces(), newReader())) {
      // Several elements may be on one line, so they are counted.
      const counted = some.map(({ entry }) => {
        element += 1;
        const at = element;
        return {
          entry: 'problem' in entry ? { at, problem: `${entry.problem} (line ${entry.at})` } : { ...entry, at },
        };
      });
      yield { entries: counted, bytesRead };
    }
  }
  return {
    path: file.path,
    format: 'xml',
    bytes: file.bytes,
    unit: 'element',
    ...entryLines(entries),
    docTag,
    lists,
    close: () => file.handle.close(),
  };
}

function beginningOf(bytes: FileBytes): Parameters<typeof openXml>[0] {
  return {
    head: bytes.head,
    async *begin() {
      for await (const { piece } of bytes.pieces()) yield piece;
    },
  };
}

function parquetFile(file: AllowedFile, bytes: FileBytes): DocumentFile {
  return {
    path: file.path,
    format: 'parquet',
    bytes: file.bytes,
    unit: 'row',
    sentAs: 'parquet',
    pieces: () => bytes.pieces(),
    close: () => file.handle.close(),
  };
}

async function textFile(file: AllowedFile, bytes: FileBytes, format: TextFormat, request: FileRequest) {
  const { list, lists, members, note } = format === 'json' ? await listOf(bytes, request) : {};
  const within = list ?? members;
  const isTabbed = format === 'csv' && TABBED.test(file.path);
  const opened: DocumentFile = {
    path: file.path,
    format,
    bytes: file.bytes,
    unit: 'line',
    sentAs: format,
    ...(within === undefined ? {} : { firstLine: within.line }),
    pieces: () => piecesOf(bytes, list, members),
    ...(note === undefined ? {} : { warnings: () => [note] }),
    ...(isTabbed ? { separator: '\t' } : {}),
    ...(list === undefined ? {} : { list: { path: list.path, beside: list.beside } }),
    ...(lists === undefined ? {} : { lists: lists.map(({ path, items }) => ({ path, items })) }),
    close: () => file.handle.close(),
  };
  return opened;
}

function piecesOf(
  bytes: FileBytes,
  list: ObjectList | undefined,
  members: Dictionary | undefined,
): AsyncIterable<FilePiece> {
  if (members !== undefined) return membersOf(part(bytes, members), members.hasId ? '_key' : '_id');
  return list === undefined ? bytes.pieces() : part(bytes, list);
}

/** The path that stands for the file as one document. */
const WHOLE = '.';
/** Behind a path: the members of the object there are the documents. */
const MEMBERS = '*';

interface Lists {
  /** The list whose items are the documents, with the keys beside it. */
  list?: ObjectList & { beside: string[] };
  /** Those of a file that is one document. */
  lists?: ObjectList[];
  /** The object whose members are the documents. */
  members?: Dictionary;
  /** What is told of a file that is one document, and might be several. */
  note?: string | undefined;
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
  const { keys, dictionaries } = outline;
  if (listPath?.split('.').at(-1) === MEMBERS) return { members: dictionaryAt(outline, listPath, request) };
  // What is in one of many members that are alike is none of the file's.
  const alike = dictionaries.filter(({ isAlike }) => isAlike);
  const isOwn = ({ begin }: ObjectList) =>
    listPath !== undefined || !alike.some((one) => begin > one.begin && begin < one.end);
  const lists = outline.lists.filter(isOwn);
  const isDocument = keys.includes('_id');
  const list = listPath === undefined ? lists[0] : lists.find(({ path }) => path === listPath);
  const note = isDocument ? undefined : shapeNote(outline);
  if (listPath === undefined && (lists.length > 1 || isDocument)) return { lists, note };
  if (list !== undefined)
    return { list: { ...list, beside: keys.filter((key) => key !== list.path.split('.', 1)[0]) } };
  if (listPath === undefined) {
    if (!isDocument) refuseTable(outline, request);
    return { note };
  }
  const known = lists.slice(0, LISTS_SHOWN).map(({ path }) => JSON.stringify(path));
  const hint = known.length > 0 ? `Lists of objects are at ${known.join(', ')}.` : 'It has no list of objects.';
  throw refused(request, `there is no list of objects at the "list_path" ${JSON.stringify(listPath)}. ${hint}`);
}

function pathTo({ path }: Dictionary): string {
  return JSON.stringify(path === '' ? MEMBERS : `${path}.${MEMBERS}`);
}

function dictionaryAt({ dictionaries }: Outline, listPath: string, request: FileRequest): Dictionary {
  const found = dictionaries.find((one) => pathTo(one) === JSON.stringify(listPath));
  if (found !== undefined) return found;
  const known = dictionaries.slice(0, LISTS_SHOWN).map(pathTo);
  const hint = known.length > 0 ? `These are at ${known.join(', ')}.` : 'It has none.';
  const which = `an object whose members are all objects at the "list_path" ${JSON.stringify(listPath)}`;
  throw refused(request, `there is not ${which}. ${hint}`);
}

/** What is told of a file that is one document by its form, and more by its content. */
function shapeNote({ dictionaries, keys }: Outline): string | undefined {
  const alike = dictionaries.filter(({ isAlike }) => isAlike).sort((a, b) => b.items - a.items)[0];
  if (alike !== undefined) {
    const where = alike.path === '' ? '' : ` of ${JSON.stringify(alike.path)}`;
    const field = alike.hasId ? '_key' : '_id';
    return `The file is one document, and its ${counted(alike.items, 'members')}${where} are alike: "list_path": ${pathTo(alike)} in "format_params" makes each of them a document, with its key as ${field}.`;
  }
  if (!isSplit(keys) && dictionaries.every(({ isColumns, path }) => !isColumns || path !== '')) return undefined;
  return `The file is one document, and seems to be a table by columns: written with orient="records", as pandas has it, its rows are the documents.`;
}

/** With `index`, and names of these. */
const SPLIT_KEYS_MAX = 5;

function isSplit(keys: readonly string[]): boolean {
  return keys.length <= SPLIT_KEYS_MAX && ['columns', 'data'].every((key) => keys.includes(key));
}

/** A file that nobody means as one document: what pandas writes unless it is told otherwise, and one of its other forms. */
function refuseTable({ keys, dictionaries }: Outline, request: FileRequest): void {
  const isColumns = dictionaries.some(({ isFromZero, path }) => isFromZero && path === '');
  if (!isColumns && !(isSplit(keys) && keys.includes('index'))) return;
  const orient = isColumns ? 'columns' : 'split';
  throw refused(
    request,
    `it is one object with a table by columns, as pandas writes it with orient="${orient}". Write it with orient="records": then each row is a document. "list_path": "." in "format_params" loads it as one document.`,
  );
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
