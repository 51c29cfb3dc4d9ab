import { counted } from '../../contract/in-words.ts';
import { isObject } from '../../contract/json/json.ts';
import type { Fenced } from '../fence.ts';
import type { Blast } from './blast.ts';
import type { Verdict } from './guard.ts';

const BY = {
  chat: 'a human in the chat',
  page: "a human on the service's page",
  terminal: 'a human at a terminal',
} as const;

/** The id of an entry of the trash, as a service makes it: only this gets out of the fence. */
const ENTRY = /^[\w-]{1,64}$/;

/** What a model reads of the answer: the rest is what was deleted, which it has named. */
const TOLD = new Set(['done', 'counts', 'failed', 'left', 'left_because', 'stopped', 'warnings']);

interface Done {
  blast: Blast;
  /** How it came to be done. */
  consent: Verdict | undefined;
  offered: ReadonlyMap<string, unknown> | undefined;
}

/**
 * The answer of a delete, which begins with what was deleted, who agreed and how it is undone, in one line. An answer that
 * is an error stays as it is.
 */
export function withReceipt(answer: Fenced, { blast, consent, offered }: Done): Fenced {
  if (answer.isError === true) return answer;
  const { trash, ...data } = answer.data;
  const by = consent?.kind === 'approved' ? `Confirmed by ${BY[consent.by]}` : 'Nobody was asked: the guard is off';
  const { id, until, how } = undoOf(trash, offered);
  const undo =
    deletedOf(data) === 0
      ? 'Nothing was deleted'
      : until === undefined
        ? blast.undo.replace(/\.$/, '')
        : `It can be undone until ${until}: ${how}`;
  return {
    ...answer,
    brief: (all) =>
      Object.fromEntries(
        Object.entries(all).filter(([key, value]) => TOLD.has(key) && !(key === 'counts' && hasOnlyDeleted(value))),
      ),
    data: {
      done: [`${past(blast.what)}${goneWith(blast, data)}.`, ...(blast.afterwards ?? []), `${by}.`, `${undo}.`].join(
        ' ',
      ),
      ...(id === undefined ? {} : { trash_id: id, undo_until: until }),
      ...data,
    },
  };
}

/** Whether the first line says all of these. */
function hasOnlyDeleted(counts: unknown): boolean {
  return !isObject(counts) || Object.keys(counts).every((status) => status === 'DELETED');
}

function undoOf(trash: unknown, offered: Done['offered']): { id?: string; until?: string; how?: string } {
  if (!isObject(trash)) return {};
  const { id, expires_at: until } = trash;
  if (typeof id !== 'string' || typeof until !== 'string' || !ENTRY.test(id)) return {};
  const how =
    offered?.has('restore_from_trash') === true
      ? `restore_from_trash {"id":"${id}"}`
      : `a human can run "colloquy trash restore ${id}" on the machine of the service`;
  return { id, until, how };
}

/** "Delete a collection: …" as what was done. */
function past(what: string): string {
  return what.replace(/^(Delete|Remove)\b/, '$1d');
}

/** How many documents went, as the service counted them; undefined if something else did. */
function deletedOf({ counts, deleted }: Fenced['data']): number | undefined {
  const done = typeof deleted === 'number' ? deleted : isObject(counts) ? (counts['DELETED'] ?? 0) : undefined;
  return typeof done === 'number' ? done : undefined;
}

/** How much went: as the service counted it, or as it was when the human was asked. */
function goneWith({ extent }: Blast, data: Fenced['data']): string {
  const done = deletedOf(data);
  if (done !== undefined) {
    const { left } = data;
    const rest =
      typeof left === 'number' && left > 0 ? `, of ${counted(done + left, 'documents')} that were counted` : '';
    return `: ${counted(done, 'documents')}${rest}`;
  }
  const parts = Object.entries(extent).flatMap(([kind, { count }]) => (count > 0 ? [counted(count, kind)] : []));
  return parts.length === 0 ? '' : `, with ${parts.join(', ')}`;
}
