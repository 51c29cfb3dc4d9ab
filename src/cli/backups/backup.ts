import type { Backup } from '../../contract/backup.ts';
import { bytesText, counted } from '../../contract/in-words.ts';
import { whileLooking } from '../../mcp/progress.ts';
import type { Config } from '../../settings.ts';
import { requireLocalService } from '../connect.ts';
import { plainText } from '../log.ts';
import { forPerson, withService } from '../person.ts';
import { shownProgress } from '../progress.ts';

/** A backup takes as long as the disk needs. */
const TIMEOUT_MS = 2 ** 31 - 1;
const STEPS = {
  wait: 'waiting for writes that run',
  copy: 'copying; writes wait',
  check: 'reading the copy again; writes go on',
} as const;

/**
 * Makes the local service, which is started if necessary, copy all that it stores into a new folder. Errors go to
 * standard error and make the exit code 1; if it is interrupted, nothing is left behind.
 */
export function backup({ config, path }: { config: Config; path: string }, bin: string): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return forPerson(async () => {
    requireLocalService(config, 'A backup is made');
    const made = await withService(config, bin, async (client) => {
      const shown = shownProgress(process.stderr);
      const look = async (signal: AbortSignal) => {
        const mine = (await client.listRunningBackups({}, { signal })).find((one) => one.path === path);
        if (mine !== undefined)
          shown.report(mine.done_bytes ?? 0, mine.total_bytes || undefined, STEPS[mine.step ?? 'wait']);
      };
      const create = () => client.createBackup({ path }, { timeoutMs: TIMEOUT_MS, signal: stop.signal });
      return whileLooking(look, create).finally(shown.clear);
    });
    process.stdout.write(
      plainText(
        `Backup made: ${heldText(made)}, ${bytesText(made.bytes ?? 0)}, in "${path}".\nIt holds keys: keep it as private as the data folder. "colloquy restore ${path}" puts it back.\n`,
      ),
    );
    return 0;
  });
}

/** `2 documents in 1 collection, and 3 documents in the trash`. */
export function heldText(held: Pick<Backup, 'documents' | 'collections' | 'trashed_documents'>): string {
  const trashed = held.trashed_documents ?? 0;
  const inTrash = trashed === 0 ? '' : `, and ${counted(trashed, 'documents')} in the trash`;
  return `${counted(held.documents ?? 0, 'documents')} in ${counted(held.collections ?? 0, 'collections')}${inTrash}`;
}
