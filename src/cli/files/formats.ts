import { basename, extname } from 'node:path';
import { FILE_FORMATS, type FileFormat } from '../../mcp/tools/file.ts';

const BY_EXTENSION: Readonly<Record<string, FileFormat>> = {
  '.json': 'json',
  '.geojson': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.jl': 'jsonl',
  '.ldjson': 'jsonl',
  '.geojsonl': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.tab': 'csv',
  '.psv': 'csv',
  '.parquet': 'parquet',
  '.pq': 'parquet',
  '.xml': 'xml',
  '.rss': 'xml',
  '.atom': 'xml',
  '.gpx': 'xml',
  '.kml': 'xml',
  '.avro': 'avro',
  '.xlsx': 'xlsx',
  '.xlsm': 'xlsx',
};

const COMPRESSED = /\.(?:gz|zst|zstd)$/i;

/** The format that a file's name tells, if it tells one. */
export function formatByName(path: string): FileFormat | undefined {
  return BY_EXTENSION[extname(path.replace(COMPRESSED, '')).toLowerCase()];
}

const OF_TEXT = new Set(['', '.txt', '.text', '.log', '.dat', '.data', '.out']);

/** Whether a name says no more than that there may be text in the file, of any format. */
export function mayBeText(path: string): boolean {
  return OF_TEXT.has(extname(path.replace(COMPRESSED, '')).toLowerCase());
}

const LEFT_BEHIND = /^(?:~\$.*|thumbs\.db|desktop\.ini)$/i;

/** Whether a file is one that programs leave in folders, such as the lock of an open workbook, whatever its name ends with. */
export function isLeftBehind(path: string): boolean {
  return LEFT_BEHIND.test(basename(path));
}

/** All formats in words: `json, csv or parquet`. */
export const ALL_FORMATS = `${FILE_FORMATS.slice(0, -1).join(', ')} or ${FILE_FORMATS.at(-1)}`;
