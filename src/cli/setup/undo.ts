import { readdir, readFile, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObject } from '../../contract/json/json.ts';
import { type AssistantKind, isOurs, pathOf } from './clients.ts';
import {
  backUp,
  type ConfigFile,
  copyStart,
  readConfigFile,
  removeConfigFile,
  writeConfigFile,
} from './config-file.ts';
import { type Entry, entryAt, Refusal, withEntry, withoutEntry } from './format.ts';
import type { Plan } from './plan.ts';

/** How to undo our change to a configuration. */
export interface UndoPlan extends Plan {
  /** The copy from which the file is restored exactly; it is removed afterwards. */
  restored: string | undefined;
}

/**
 * How to undo setup's last change; undefined if nothing of ours is there. A file still as setup left it becomes what it
 * was before; if it has changed since, only our entry is removed, or replaced by the one it had replaced.
 */
export async function planUndo(kind: AssistantKind, path: string): Promise<UndoPlan | undefined> {
  const file = await readConfigFile(path);
  const text = file.text ?? '';
  const entry = entryAt(kind.format, text, pathOf(kind));
  if (entry === undefined) return undefined;
  if (!isEntry(entry)) throw new Refusal('its entry "colloquy" is not one that setup writes');
  const copy = await newestBackup(file);
  if (copy === undefined) return withoutBackup(kind, file, entry);
  const before = copy.text;
  if (leads(kind, before, entry, text)) return { kind, file, text: before, restored: copy.path };
  const replaced = entryAt(kind.format, before, pathOf(kind));
  const undone = isEntry(replaced)
    ? withEntry(kind.format, text, pathOf(kind), replaced)
    : withoutEntry(kind.format, text, pathOf(kind));
  return undone === text ? undefined : { kind, file, text: undone, restored: undefined };
}

function withoutBackup(kind: AssistantKind, file: ConfigFile, entry: Entry): UndoPlan {
  // If there was no file, there is no copy of it.
  if (leads(kind, '', entry, file.text ?? '')) return { kind, file, text: undefined, restored: undefined };
  if (!isOurs(entry)) {
    throw new Refusal(
      'there is no backup beside it, and its entry "colloquy" does not look like one that setup writes',
    );
  }
  return { kind, file, text: withoutEntry(kind.format, file.text ?? '', pathOf(kind)), restored: undefined };
}

/** Whether putting the entry into `before`, as setup does, gives `after`. */
function leads(kind: AssistantKind, before: string, entry: Entry, after: string): boolean {
  try {
    return withEntry(kind.format, before, pathOf(kind), entry) === after;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function isEntry(value: unknown): value is Entry {
  return isObject(value);
}

/** Carries out the undo. If the file has changed since setup, it is copied first; resolves to the path of that copy. */
export async function carryOutUndo({ file, text, restored }: UndoPlan): Promise<string | undefined> {
  if (text === undefined) {
    await removeConfigFile(file);
    return undefined;
  }
  const copy = restored === undefined ? await backUp(file, 'undone') : undefined;
  await writeConfigFile(file, text);
  if (restored !== undefined) await unlink(restored).catch(() => {});
  return copy;
}

async function newestBackup({ path, hasMark }: ConfigFile): Promise<{ path: string; text: string } | undefined> {
  const start = basename(copyStart(path, 'backup'));
  const names = (await readdir(dirname(path)).catch(() => [])).filter((name) => name.startsWith(start));
  // The time in the name sorts as text.
  const newest = names.sort().at(-1);
  if (newest === undefined) return undefined;
  const copy = join(dirname(path), newest);
  const text = await readFile(copy, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : { path: copy, text: hasMark ? text.replace(/^\uFEFF/, '') : text };
}
