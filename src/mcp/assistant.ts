import type { Client } from '../http/client.ts';
import type { Audit } from './audit.ts';
import type { Changes } from './changes.ts';
import type { Approvals } from './guard/signed-states.ts';
import type { KeyOwner } from './key-owner.ts';
import type { Logger } from './logger.ts';
import type { Means } from './means.ts';
import type { Hidden } from './offer.ts';
import type { ToolCard } from './tools/tool.ts';

/**
 * What the connections of one principal share: the connection to the service, the tools offered, and what this process
 * provides. Over stdio there is one `Assistant`; over HTTP, one per API key.
 */
export interface Assistant {
  /** Connects to the service. Called at each use, so it should return one shared connection. */
  connect: () => Promise<Client>;
  version: string;
  log: Logger;
  /** Identifies the caller: what was approved or kept for one principal is not available to another. */
  principal: string;
  /** Whose API key it calls with; absent: the service is asked once it is connected to. */
  owner?: KeyOwner | undefined;
  /** The tools that are listed and can be called, by name. The list never changes. */
  tools: ReadonlyMap<string, ToolCard> | Promise<ReadonlyMap<string, ToolCard>>;
  /** Why each of the other tools is not offered; absent if all are. */
  hidden?: readonly Hidden[] | Promise<readonly Hidden[]>;
  /** A further line of the instructions that a client gets; absent: none. */
  note?: string | undefined;
  approvals: Approvals;
  /** `off`: deletes run without asking. Chosen by the operator at start, never by the model. */
  guard: 'ask' | 'off';
  /** How a human starts this program in a shell, with the flags for the same service. */
  command: string;
  /** How a human answers a question in a shell: `command` with the subcommand for that; absent for a remote service. */
  approveCommand?: string | undefined;
  means: Means;
  /** Absent: resources cannot be subscribed to. */
  changes?: Changes | undefined;
  /** Records tool calls; absent: they are not recorded. */
  audit?: Audit | undefined;
  /** Loads what `connect` and `log` would load at their first use; called some time after the first list of tools. */
  loadAhead?: (() => Promise<unknown>) | undefined;
}
