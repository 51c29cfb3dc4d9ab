import type { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { DocumentFile, FileEntry, FilePiece } from '../../mcp/tools/file.ts';

/** Formats that this process reads itself, entry by entry, are sent as JSON lines. */

/** An entry of a file, with its size there in bytes. */
export interface SizedEntry {
  entry: FileEntry;
  bytes: number;
}

/** The entries found; after a `failure` the rest cannot be read. */
export interface Found {
  entries: SizedEntry[];
  failure?: ApiError | undefined;
}

/** Parses the pieces of one file, in order, into entries. */
export interface EntryReader {
  read(piece: Buffer): Found | Promise<Found>;
  /** The remaining entries, at the end of the file. */
  end(): Found | Promise<Found>;
}

/** Some entries, in the order of the file. */
export interface Entries {
  entries: readonly { entry: FileEntry }[];
  bytesRead: number;
}

/** Problems whose reasons are kept. */
const PROBLEMS_MAX = 1_000;

/** What is sent of a file whose entries `open` reads, from its beginning each time. */
export function entryLines(open: () => AsyncIterable<Entries>): Pick<DocumentFile, 'sentAs' | 'pieces' | 'problemAt'> {
  const problems = new Map<number, string>();
  async function* pieces(): AsyncGenerator<FilePiece> {
    let line = 1;
    for await (const { entries, bytesRead } of open()) {
      const lines: string[] = [];
      for (const { entry } of entries) {
        // Line `at` has the entry `at`. One that is no document is refused there, for the reason that is known here.
        lines.push('\n'.repeat(Math.max(0, entry.at - line)));
        line = Math.max(line, entry.at) + 1;
        if ('document' in entry) lines.push(stringifyJson(entry.document), '\n');
        else {
          if (problems.size < PROBLEMS_MAX) problems.set(entry.at, entry.problem);
          lines.push('null\n');
        }
      }
      if (lines.length > 0) yield { piece: Buffer.from(lines.join('')), bytesRead };
    }
  }
  return { sentAs: 'jsonl', pieces, problemAt: (at) => problems.get(at) };
}

/** The entries that a reader finds in pieces. Rejects, after all entries before that, if the rest cannot be read. */
export async function* entriesOf(pieces: AsyncIterable<FilePiece>, reader: EntryReader): AsyncGenerator<Entries> {
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
