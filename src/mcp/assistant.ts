import type { Client } from '../http/client.ts';
import type { Audit } from './audit.ts';
import type { Changes } from './changes.ts';
import type { Approvals } from './guard/signed-states.ts';
import type { Hidden } from './offer.ts';
import type { OpenFile } from './tools/file.ts';
import type { ToolCard } from './tools/tool-cards.ts';

/** The part of a pino logger that is used here. */
export interface Logger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

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
  /** The tools that are listed and can be called, by name. The list never changes. */
  tools: ReadonlyMap<string, ToolCard> | Promise<ReadonlyMap<string, ToolCard>>;
  /** Why each of the other tools is not offered; absent if all are. */
  hidden?: readonly Hidden[] | Promise<readonly Hidden[]>;
  approvals: Approvals;
  /** `off`: deletes run without asking. Chosen by the operator at start, never by the model. */
  guard: 'ask' | 'off';
  /** How a human starts this program in a shell, with the flags for the same service. */
  command: string;
  /** How a human answers a question in a shell: `command` with the subcommand for that; absent for a remote service. */
  approveCommand?: string | undefined;
  /** Codes of the questions that wait outside the client; absent if nobody withdraws them. */
  waiting?: Set<string> | undefined;
  means: Means;
  /** Absent: resources cannot be subscribed to. */
  changes?: Changes | undefined;
  /** Records tool calls; absent: they are not recorded. */
  audit?: Audit | undefined;
  /** Loads what `connect` and `log` would load at their first use; called some time after the first list of tools. */
  loadAhead?: (() => Promise<unknown>) | undefined;
}

/** What this process provides to tools, besides the service. Whatever is absent is not available here. */
export interface Means {
  /**
   * Stores a new secret where only the human finds it, and resolves to a description of that place. `label` says whose
   * or what secret it is. Absent: calls that would create a secret are refused.
   */
  keepSecret?: (label: string, secret: string) => Promise<string>;
  /** Absent: arguments cannot refer to secrets. */
  secretOf?: SecretOf;
  /** Absent: no files can be loaded. */
  openFile?: OpenFile;
  /** The user of this process is on another machine than the service: paths there are not revealed. */
  isElsewhere?: boolean;
}

/**
 * The secret that a reference (`env:NAME`, `file:PATH`) stands for. Throws `invalid_input`, naming only the reference.
 */
export type SecretOf = (reference: string) => string;
