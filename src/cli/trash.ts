import type { TrashRequest } from '../commands.ts';
import { ApiError } from '../contract/errors.ts';
import { bytesText, counted } from '../contract/in-words.ts';
import { cut } from '../contract/text.ts';
import type { TrashEntry } from '../contract/trash.ts';
import type { Client } from '../http/client.ts';
import type { Config } from '../settings.ts';
import { requireLocalService } from './connect.ts';
import { aligned, plainText, print } from './log.ts';
import { forPerson, withService } from './person.ts';
import { askAtTerminal, isYes } from './terminal.ts';

const ID_CHARS_MAX = 40;

/**
 * Lists what was deleted from the local service, restores it, or removes it for good. Errors go to standard error and
 * make the exit code 1, as does a restore that leaves documents in the trash. Removing asks at the terminal, and is
 * refused if there is none, unless `yes` is set. `ask` stands for the terminal.
 */
export function trash(
  request: TrashRequest & { config: Config },
  bin: string,
  ask: typeof askAtTerminal = askAtTerminal,
): Promise<number> {
  const { config, action } = request;
  return forPerson(async () => {
    requireLocalService(config, 'The trash is reached');
    return withService(config, bin, (client) => {
      if (action === 'list') return list(client);
      return action === 'restore' ? restore(client, request.id ?? '') : empty(client, request, ask);
    });
  });
}

async function list(client: Client): Promise<number> {
  const entries = await client.listTrash({});
  print(...(entries.length === 0 ? [await emptyText(client)] : [...tableOf(entries), '', sumOf(entries)]));
  return 0;
}

async function emptyText(client: Client): Promise<string> {
  const { trash_days: days } = await client.getAbout({});
  const kept = days === 0 ? 'nothing is kept there (--trash-days 0)' : `what is deleted stays there for ${days} days`;
  return `The trash is empty; ${kept}.`;
}

async function restore(client: Client, id: string): Promise<number> {
  const {
    kind,
    workspace,
    name,
    documents,
    skipped,
    skipped_ids: ids,
    warnings,
    past_retention: past,
  } = await client.restoreTrash({ id });
  const what = `${kindText(kind)} ${workspace}.${name}`;
  const left = skipped ?? 0;
  const inIt = typeof documents === 'number' ? ` with ${counted(documents, 'documents')}` : '';
  print(
    kind === 'documents'
      ? `Restored: ${counted(documents ?? 0, 'documents')} of ${workspace}.${name}.`
      : `Restored: ${what}${inIt}.`,
  );
  for (const warning of warnings ?? []) process.stderr.write(`colloquy: ${plainText(warning)}\n`);
  if (left > 0) {
    const shown = idsShown(ids ?? [], left);
    process.stderr.write(
      `colloquy: ${plainText(`${counted(left, 'documents')} stay${left === 1 ? 's' : ''} in the trash, because the _id exists again: ${shown}`)}\n`,
    );
  }
  return left + (past ?? 0) > 0 ? 1 : 0;
}

async function empty(client: Client, { id, yes }: TrashRequest, ask: typeof askAtTerminal): Promise<number> {
  const all = await client.listTrash({});
  const entries = id === undefined ? all : all.filter((entry) => entry.id === id);
  if (id !== undefined && entries.length === 0) {
    throw new ApiError('not_found', `There is no "${id}" in the trash. "colloquy trash list" shows what there is.`);
  }
  if (entries.length === 0) {
    print(await emptyText(client));
    return 0;
  }
  if (!yes && !(await confirm(entries, ask))) return 1;
  if (yes && id === undefined) {
    const removed = await client.emptyTrash({});
    print(`Removed for good: ${entriesText(removed.entries ?? 0)}, ${bytesText(removed.bytes ?? 0)}.`);
  } else {
    print(`Removed for good: ${sumOf(await removeShown(client, entries))}`);
  }
  return 0;
}

/** Removes these, and nothing that came into the trash while a person was asked about them. */
async function removeShown(client: Client, entries: readonly TrashEntry[]): Promise<TrashEntry[]> {
  const removed: TrashEntry[] = [];
  for (const { id } of entries) {
    try {
      removed.push(await client.removeTrash({ id: id ?? '' }));
    } catch (error) {
      // Restored or removed meanwhile.
      if (!(error instanceof ApiError) || error.code !== 'not_found') throw error;
    }
  }
  return removed;
}

async function confirm(entries: readonly TrashEntry[], ask: typeof askAtTerminal): Promise<boolean> {
  const question = [...tableOf(entries), '', `Remove ${sumOf(entries).replace(/\.$/, '')} for good? [y/N] `].join('\n');
  const typed = await ask(question);
  if (isYes(typed)) return true;
  const why = typed === undefined ? ': this cannot be undone and there is no terminal to ask at. Add --yes' : '';
  process.stderr.write(`colloquy: Nothing was removed${why}.\n`);
  return false;
}

function tableOf(entries: readonly TrashEntry[]): string[] {
  const head = ['ID', 'KIND', 'NAME', 'DOCUMENTS', 'SIZE', 'DELETED', 'BY', 'UNTIL'];
  const rows = entries.map((entry) => [
    entry.id ?? '',
    kindText(entry.kind),
    `${entry.workspace}.${entry.name}${idsText(entry)}`,
    typeof entry.documents === 'number' ? entry.documents.toLocaleString('en-US') : '-',
    bytesText(entry.bytes ?? 0),
    minuteOf(entry.deleted_at),
    entry.deleted_by ?? '',
    minuteOf(entry.expires_at),
  ]);
  return aligned([head, ...rows]);
}

/** Some of an entry's documents, so that a person knows which deletion it is. */
function idsText({ ids, documents }: TrashEntry): string {
  if (ids == null || ids.length === 0) return '';
  const short = ids.map((id) => cut(id, ID_CHARS_MAX));
  return ` (${idsShown(short, documents ?? 0)})`;
}

/** Some of so many ids. */
function idsShown(ids: readonly string[], all: number): string {
  return `${ids.map((id) => JSON.stringify(id)).join(', ')}${all > ids.length ? ', …' : ''}`;
}

function sumOf(entries: readonly TrashEntry[]): string {
  const documents = entries.reduce((sum, entry) => sum + (entry.documents ?? 0), 0);
  const bytes = entries.reduce((sum, entry) => sum + (entry.bytes ?? 0), 0);
  return `${entriesText(entries.length)}, ${counted(documents, 'documents')}, ${bytesText(bytes)}.`;
}

function kindText(kind: TrashEntry['kind']): string {
  return (kind ?? '').replace('_', ' ');
}

function entriesText(count: number): string {
  return count === 1 ? '1 entry' : `${count.toLocaleString('en-US')} entries`;
}

/** A time in UTC, to the minute. */
function minuteOf(time: string | null | undefined): string {
  return time == null ? '' : `${time.slice(0, 16).replace('T', ' ')}Z`;
}
