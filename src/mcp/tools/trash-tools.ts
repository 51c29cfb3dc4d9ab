import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { MOMENT_SHOWN, momentIn } from '../../contract/moment.ts';
import { type TrashEntry, trash } from '../../contract/trash.ts';
import { wantedRecords } from '../audit.ts';
import type { Fenced } from '../fence.ts';
import { BUDGET, presentList, presentObject } from '../results.ts';
import { DONE_OUTPUT } from './catalog.ts';
import { handTool } from './hand-tool.ts';
import type { Tool, ToolContext } from './tool.ts';

/** To see what was deleted and called, and to undo what can be undone. */

const ON_ITS_MACHINE = {
  means: 'reachesTrash',
  absent: 'the trash is reached over the local socket of the service only, and this connection is another one',
  remedy: 'on the machine of the service, without COLLOQUY_URL, run "colloquy trash" or connect an assistant',
} as const;

const RESTORED_IN_PART =
  'Documents whose _id exists again stay in the trash: skipped_ids names them. Ask the human which of the two is wanted.';

const ALL_THERE = 'Nothing is missing; if the human wants a tag on this version, tag_lambda_version moves it.';

export function listTrashTool(): Tool {
  return handTool({
    name: 'list_trash',
    effect: trash.listTrash.effect,
    role: trash.listTrash.role,
    toolset: 'trash',
    title: trash.listTrash.title,
    description: trash.listTrash.summary,
    shape: {},
    output: { items: { type: 'array' } },
    needs: ON_ITS_MACHINE,
    run: async ({ client, signal }) => presentList((await client.listTrash({}, { signal })).map(withMore)),
  });
}

/** Of its documents an entry names a few. */
function withMore(entry: TrashEntry): TrashEntry {
  const { ids, documents } = entry;
  return ids == null || ids.length === 0 || ids.length >= (documents ?? 0) ? entry : { ...entry, ids: [...ids, '…'] };
}

export function restoreTool(): Tool {
  return handTool<{ id: string }>({
    name: 'restore_from_trash',
    effect: trash.restoreTrash.effect,
    role: trash.restoreTrash.role,
    toolset: 'trash',
    title: trash.restoreTrash.title,
    description: trash.restoreTrash.summary,
    shape: trash.restoreTrash.params.shape,
    output: DONE_OUTPUT,
    needs: ON_ITS_MACHINE,
    run: restore,
    next: ({ code, message }) => {
      if (message.endsWith('There is nothing to restore.')) return ALL_THERE;
      if (code === 'already_exists')
        return 'To keep both, copy the one that is there under another name first (copy_collection, create_lambda).';
      if (code === 'dependent_resources') return 'Call again in a while; list_trash shows how much is in it.';
      return code === 'not_found' ? 'list_trash shows what can be restored.' : undefined;
    },
  });
}

async function restore({ client, signal }: ToolContext, { id }: { id: string }): Promise<Fenced> {
  const restored = await client.restoreTrash({ id }, { signal });
  const { kind, workspace, name, documents, skipped } = restored;
  const count = documents == null ? '' : `, documents: ${documents}`;
  const shown = presentObject(restored);
  return {
    ...shown,
    data: { done: `Restored: ${kind?.replace('_', ' ')} ${workspace}.${name}${count}.`, ...shown.data },
    next: (skipped ?? 0) > 0 ? RESTORED_IN_PART : shown.next,
  };
}

interface AuditInput {
  tool?: string;
  outcome?: string;
  since?: string;
  limit?: number;
}

/** What was called by all chats; their arguments are data like any other. */
export function readAuditTool(): Tool {
  return handTool<AuditInput>({
    name: 'read_audit',
    effect: 'read',
    role: 'admin',
    toolset: 'trash',
    title: 'Read the audit log',
    description: 'List tool calls of all chats, newest first, with arguments and what a human answered.',
    shape: {
      tool: z.string().min(1).optional(),
      outcome: z.string().min(1).optional().describe('ok, failed or an error code'),
      since: z.string().min(1).optional().describe(MOMENT_SHOWN),
      limit: z.int().min(1).max(BUDGET.rowsMax).optional(),
    },
    output: { items: { type: 'array' } },
    needs: {
      means: 'readAudit',
      absent: 'the operator does not let assistants read the audit log (--audit-tool)',
      remedy: 'set --audit-tool on, or run "colloquy audit"',
    },
    run: readAudit,
  });
}

const CALLS_SHOWN = 20;

async function readAudit({ means }: ToolContext, { tool, outcome, since, limit }: AuditInput): Promise<Fenced> {
  const sinceMs = since === undefined ? undefined : momentIn(since);
  if (since !== undefined && sinceMs === undefined) {
    throw new ApiError('invalid_input', `Cannot call read_audit: "since" must be ${MOMENT_SHOWN}.`);
  }
  const max = limit ?? CALLS_SHOWN;
  const found = (await means.readAudit?.(wantedRecords({ tool, outcome, sinceMs }), max + 1)) ?? [];
  const shown = presentList(found.slice(0, max));
  const { items, returned, total, truncated } = shown.data;
  if (found.length <= max && truncated !== true) return shown;
  // Nobody counts those that are not wanted.
  const extent = found.length > max ? { at_least: found.length } : { total };
  return {
    ...shown,
    data: { items, returned, ...extent, truncated: true },
    next: `There are more, earlier ones: narrow it down with tool, outcome or since${truncated === true ? '' : ', or raise limit'}.`,
  };
}
