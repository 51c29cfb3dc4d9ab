import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { allowedUrl, type Download, type DownloadRequest, download } from '../../http/download.ts';
import type { DocumentFile, FileFormat, FileRequest } from '../../mcp/tools/file.ts';
import { documentsOf } from './file-documents.ts';
import { formatByName } from './formats.ts';

/** What the operator allows, and how it is reached. */
export type AllowedHosts = Pick<DownloadRequest, 'hosts' | 'limits' | 'network'>;

/** What servers call the formats. */
const BY_TYPE: Readonly<Record<string, FileFormat>> = {
  'application/json': 'json',
  'application/geo+json': 'json',
  'application/x-ndjson': 'jsonl',
  'application/jsonl': 'jsonl',
  'text/csv': 'csv',
  'application/xml': 'xml',
  'text/xml': 'xml',
  'application/avro': 'avro',
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
};

/**
 * Opens what a URL of an allowed host has, as a file: readers begin anew, or look at its end, so it is in a temporary
 * one until it is closed. Rejects as `OpenFile` does.
 */
export async function openUrl(allowed: AllowedHosts, request: FileRequest): Promise<DocumentFile> {
  const { path, signal } = request;
  const url = allowedUrl(path, allowed.hosts);
  const content = await download({ ...allowed, url, signal });
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-url-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  let handle: FileHandle | undefined;
  const end = async () => {
    await content.close();
    await handle?.close().catch(() => undefined);
    remove();
    process.off('exit', remove);
  };
  try {
    const format = request.format ?? formatByName(fileNameIn(url)) ?? formatOf(content);
    const spooled = join(folder, spoolName(fileNameIn(url)));
    handle = await open(spooled, 'wx+', 0o600);
    // It needs no name any more, and so leaves nothing behind.
    if (process.platform !== 'win32') remove();
    const bytes = await spool(content, handle);
    const opened = await documentsOf({ path: spooled, bytes, handle }, { ...request, format });
    return {
      ...opened,
      path,
      close: async () => {
        await opened.close();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

function formatOf({ contentType }: Download): FileFormat | undefined {
  return BY_TYPE[contentType.split(';', 1)[0]?.trim().toLowerCase() ?? ''];
}

/** The last name in the path of a URL; that of the host if there is none. */
export function fileNameIn({ pathname, hostname }: URL): string {
  const name = pathname.split('/').findLast((step) => step !== '') ?? hostname;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A name that tells the same of the content, and that any system has. */
function spoolName(name: string): string {
  return `f${name.replace(/[^\w.-]/g, '_').slice(-100)}`;
}

async function spool(content: Download, handle: FileHandle): Promise<number> {
  let bytes = 0;
  for await (const piece of content.pieces) {
    try {
      await handle.appendFile(piece);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const message = `Cannot load from this URL: there is no room for a temporary file in ${tmpdir()} (${code}).`;
      throw new ApiError('invalid_input', message, { cause: error });
    }
    bytes += piece.length;
  }
  return bytes;
}
