import { copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDocuments } from '../../../src/cli/files/file-documents.ts';
import { type JsonObject, parseJson } from '../../../src/contract/json/json.ts';
import type { DocumentFile, FileEntry, FileRequest } from '../../../src/mcp/tools/file.ts';

/** What was read of a file: its documents, or why they are none, and why reading ended. */
export interface Opened {
  documents: object[];
  /** Where these were. */
  places: number[];
  error: string | undefined;
  file: DocumentFile | undefined;
  nulled: number;
  asText: readonly string[];
}

/** Reads what is sent of a file as lines, of which line `at` has the entry `at`; those before a failure are kept. */
export async function readEntries(file: DocumentFile, entries: FileEntry[]): Promise<void> {
  let text = '';
  const take = () => {
    for (const [index, line] of text.split('\n').entries()) {
      if (line.trim() === '') continue;
      const at = index + 1;
      const problem = file.problemAt?.(at);
      entries.push(problem === undefined ? { at, document: parseJson(line) as JsonObject } : { at, problem });
    }
  };
  try {
    for await (const { piece } of file.pieces()) text += piece.toString();
  } finally {
    take();
  }
}

/** A folder of files to read, for one test file. */
export function filesFolder() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'colloquy-formats-')));
  return {
    root,
    remove: () => rmSync(root, { recursive: true, force: true }),
    fixture(name: string) {
      copyFileSync(join(import.meta.dirname, 'fixtures', name), join(root, name));
      return name;
    },
    async read(
      path: string,
      content?: string | Buffer | Uint8Array,
      request: Partial<FileRequest> = {},
    ): Promise<Opened> {
      if (content !== undefined) writeFileSync(join(root, path), content);
      const entries: FileEntry[] = [];
      let file: DocumentFile | undefined;
      let error: string | undefined;
      try {
        file = await openDocuments({ folders: [root], dataDir: join(root, 'none') }, { path, ...request });
        await readEntries(file, entries);
      } catch (caught) {
        if ((caught as { code?: string }).code !== 'invalid_input') throw caught;
        error = (caught as Error).message;
      } finally {
        await file?.close();
      }
      return {
        documents: entries.map((one) => ('document' in one ? one.document : { problem: one.problem })),
        places: entries.map(({ at }) => at),
        error,
        file,
        nulled: file?.unwritable?.() ?? 0,
        asText: file?.asText?.() ?? [],
      };
    },
  };
}
