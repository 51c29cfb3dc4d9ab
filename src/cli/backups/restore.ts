import { existsSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { InvocationOf } from '../../commands.ts';
import { bytesText } from '../../contract/in-words.ts';
import { ASIDE, closeToOthers, type DataFolder, openFolder, STAGED } from '../../local/folder.ts';
import { liveCounts, type Manifest, readManifest } from '../../service/backups/backup-files.ts';
import { requireLocalService } from '../connect.ts';
import { plainText } from '../log.ts';
import { forPerson } from '../person.ts';
import { shownProgress } from '../progress.ts';
import { askAtTerminal, isYes } from '../terminal.ts';
import { heldText } from './backup.ts';
import { checkVersions, describeAside, refuseWhileServed, removeStaging, stage, swap } from './restore-files.ts';

/**
 * Replaces what the data folder stores by a backup; the old files are moved aside, never deleted. Nothing changes
 * before the backup was copied, compared with its manifest and opened. Asks at the terminal, and is refused if there is
 * none, unless `yes` is set. Errors go to standard error and make the exit code 1.
 */
export function restore(command: InvocationOf<'restore'>): Promise<number> {
  return forPerson(() => replaceBy(command));
}

async function replaceBy({ config, path, yes }: InvocationOf<'restore'>): Promise<number> {
  const shown = shownProgress(process.stderr);
  let staging: string | undefined;
  let made: string[] = [];
  try {
    requireLocalService(config, 'A backup is restored');
    const { folder: from, manifest } = await readManifest(path);
    checkVersions(manifest);
    made = missingFolders(config.dataDir);
    const folder = await openFolder(config.dataDir);
    await closeToOthers(folder);
    await refuseWhileServed(folder);
    if (!yes && !(await confirm(folder, manifest))) return 1;
    const time = new Date().toISOString().replace(/[-:.]/g, '');
    staging = join(folder.path, `${STAGED}${time}`);
    await mkdir(staging, { mode: 0o700 });
    const counts = await stage({ from, manifest }, { staging, databaseFile: folder.databaseFile }, (done, total) =>
      shown.report(done, total, 'copying and checking the backup'),
    );
    const aside = join(folder.path, `${ASIDE}${time}`);
    const old = await swap(folder, staging, aside);
    shown.clear();
    if (old.length > 0) await describeAside(aside, old);
    print(`Restored into "${folder.path}": ${contentsOf({ ...manifest, counts })}.\n`);
    if (old.length > 0) {
      print(`What was there is in "${aside}".\nTo undo: colloquy stop, then colloquy restore "${aside}"\n`);
    }
    return 0;
  } finally {
    shown.clear();
    if (staging !== undefined) await removeStaging(staging);
    // Folders made for a restore that changed nothing; rmdir keeps any that is not empty.
    for (const path of made) await rmdir(path).catch(() => undefined);
  }
}

/** Those of the folder and its ancestors that do not exist, innermost first. */
function missingFolders(path: string): string[] {
  return existsSync(path) ? [] : [path, ...missingFolders(dirname(path))];
}

async function confirm(folder: DataFolder, manifest: Manifest): Promise<boolean> {
  // Nothing can be lost.
  if (!existsSync(folder.databaseFile)) return true;
  const typed = await askAtTerminal(
    `Put this backup in the place of what "${folder.path}" stores now, which is moved aside: ${contentsOf(manifest)}? [y/N] `,
  );
  if (isYes(typed)) return true;
  const why = typed === undefined ? ': there is no terminal to ask at. Add --yes' : '';
  process.stderr.write(`colloquy: Nothing was restored${why}.\n`);
  return false;
}

function contentsOf({ counts, created_at: createdAt, files }: Manifest): string {
  const bytes = bytesText(files.reduce((sum, file) => sum + file.bytes, 0));
  const time = `${createdAt.slice(0, 16).replace('T', ' ')}Z`;
  if (counts === null) return `${bytes}, of ${time}`;
  const { documents, collections, trashedDocuments } = liveCounts(counts);
  return `${heldText({ documents, collections, trashed_documents: trashedDocuments })}, ${bytes}, of ${time}`;
}

function print(text: string): void {
  process.stdout.write(plainText(text));
}
