import { dirname, join } from 'node:path';

/** Folder beside the database file that results and collections are exported to: the only one that the engine writes to. */
export function exportsFolder(file: string): string {
  return join(dirname(file), 'exports');
}
