import type { ApiError } from '../contract/errors.ts';
import type { TrashEntry } from '../contract/trash.ts';
import type { ToolContext } from './tools/tool.ts';

/** The names in the messages of the service about a collection that is not there. */
const IN_WORKSPACE = /^Collection "([^"]+)" does not exist in workspace "([^"]+)"/;

/**
 * The newest entry of the trash for the collection that an error says is not there; undefined if it has none, or if the
 * caller may not see the trash.
 */
export async function inTrash(
  { client, signal, means }: Pick<ToolContext, 'client' | 'signal' | 'means'>,
  error: ApiError,
): Promise<TrashEntry | undefined> {
  const [, name, workspace] = IN_WORKSPACE.exec(error.message) ?? [];
  if (name === undefined || means.reachesTrash !== true) return undefined;
  try {
    const entries = await client.listTrash({}, { signal });
    return entries.find((entry) => entry.kind === 'collection' && entry.name === name && entry.workspace === workspace);
  } catch {
    // The hint is optional: its own failure, such as that of a key of a lower role, must not hide the error.
    return undefined;
  }
}
