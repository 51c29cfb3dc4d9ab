import type { ApiError } from '../contract/errors.ts';
import type { TrashEntry } from '../contract/trash.ts';
import type { Arguments } from './tools/relations.ts';
import type { ToolContext } from './tools/tool.ts';

/** The names in the messages of the service about a collection that is not there, and about a workspace. */
const IN_WORKSPACE = /^Collection "([^"]+)" does not[^"]*"([^"]+)"/;
const WORKSPACE = /^Workspace with name "([^"]+)" does not exist/;

/** A collection in the trash. */
export interface Deleted {
  entry: TrashEntry;
  /** Its workspace is not there, which has to be made before it can be restored. */
  lacksWorkspace: boolean;
}

/**
 * The newest entry of the trash for the collection that an error says is not there, or that was in the workspace that is
 * not there (the one that the call names, if it does); undefined if it has none, or if the caller may not see the trash.
 */
export async function inTrash(
  { client, signal, means }: Pick<ToolContext, 'client' | 'signal' | 'means'>,
  { message }: ApiError,
  { collection }: Arguments,
): Promise<Deleted | undefined> {
  const [, name = collection, inside] = IN_WORKSPACE.exec(message) ?? [];
  const workspace = inside ?? WORKSPACE.exec(message)?.[1];
  if (workspace === undefined || means.reachesTrash !== true) return undefined;
  try {
    const isNamed = (one: string | null | undefined) => typeof name !== 'string' || isSame(one, name);
    const entries = await client.listTrash({}, { signal });
    const entry = entries.find(
      (one) => one.kind === 'collection' && isSame(one.workspace, workspace) && isNamed(one.name),
    );
    return entry && { entry, lacksWorkspace: inside === undefined };
  } catch {
    // The hint is optional: its own failure, such as that of a key of a lower role, must not hide the error.
    return undefined;
  }
}

/** SQL names them in any letter case. */
const isSame = (one: string | null | undefined, other: string) => one?.toLowerCase() === other.toLowerCase();
