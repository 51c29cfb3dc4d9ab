import type { Client } from '../http/client.ts';
import type { Audit } from './audit.ts';
import type { Changes } from './changes.ts';
import type { OpenFile } from './file.ts';
import type { Hidden } from './offer.ts';
import type { Approvals } from './signed-states.ts';
import type { ToolCard } from './tool-cards.ts';

/** The part of a pino logger that is used here. */
export interface Logger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/**
 * What the connections of one principal share: the way to the service, the tools it is offered, and what this process
 * lends to them. Over stdio there is one; over HTTP one per API key.
 */
export interface Assistant {
  /** The way to the service; called at each use, so it should share one connection. */
  connect: () => Promise<Client>;
  version: string;
  log: Logger;
  /** Who calls: what was approved for one principal, or kept for it, is none of another's. */
  principal: string;
  /** The tools that are listed, and that can be called, by name: the same for as long as it lasts. */
  tools: ReadonlyMap<string, ToolCard> | Promise<ReadonlyMap<string, ToolCard>>;
  /** Why each of the others is not among them; absent where all are. */
  hidden?: readonly Hidden[] | Promise<readonly Hidden[]>;
  approvals: Approvals;
  /** `off`: deletes run without a question. The operator's choice at the start, never the model's. */
  guard: 'ask' | 'off';
  /** How a human starts this program in a shell, with the flags that lead to the same service. */
  command: string;
  /** How a human answers a question in a shell: `command` with what it needs there; absent for a service elsewhere. */
  approveCommand?: string | undefined;
  /** Codes of questions that wait outside the client; absent where nobody takes them back. */
  waiting?: Set<string> | undefined;
  means: Means;
  /** Absent: resources cannot be subscribed to. */
  changes?: Changes | undefined;
  /** Where calls of tools are put on record; absent: nowhere. */
  audit?: Audit | undefined;
  /** Loads what `connect` and `log` load at their first use; called some time after the first list of tools. */
  loadAhead?: (() => Promise<unknown>) | undefined;
}

/** What a tool may use of the process it runs in, beside the service; what is absent is not to be had there. */
export interface Means {
  /**
   * Puts a new secret where only the human finds it, and resolves to that place, in words. `label` says what it belongs
   * to. Absent: what would make a secret is refused.
   */
  keepSecret?: (label: string, secret: string) => Promise<string>;
  /** Absent: arguments take no references to secrets. */
  secretOf?: SecretOf;
  /** Absent: no files can be loaded. */
  openFile?: OpenFile;
  /** Whoever uses this process is not at the machine of the service: paths there are not told. */
  isElsewhere?: boolean;
}

/** The secret that a reference (`env:NAME`, `file:PATH`) stands for. Throws `invalid_input`, which names the reference alone. */
export type SecretOf = (reference: string) => string;
