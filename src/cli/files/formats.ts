import { extname } from 'node:path';
import { FILE_FORMATS, type FileFormat } from '../../mcp/tools/file.ts';

const BY_EXTENSION: Readonly<Record<string, FileFormat>> = {
  '.json': 'json',
  '.geojson': 'json',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.parquet': 'parquet',
  '.pq': 'parquet',
  '.xml': 'xml',
  '.avro': 'avro',
  '.xlsx': 'xlsx',
  '.xlsm': 'xlsx',
};

const COMPRESSED = /\.(?:gz|zst|zstd)$/i;

/** The format that a file's name tells, if it tells one. */
export function formatByName(path: string): FileFormat | undefined {
  return BY_EXTENSION[extname(path.replace(COMPRESSED, '')).toLowerCase()];
}

/** All formats in words: `json, csv or parquet`. */
export const ALL_FORMATS = `${FILE_FORMATS.slice(0, -1).join(', ')} or ${FILE_FORMATS.at(-1)}`;
