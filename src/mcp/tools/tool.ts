import type { ApiError } from '../../contract/errors.ts';
import type { Effect, Role } from '../../contract/row.ts';
import type { Client } from '../../http/client.ts';
import type { Fenced } from '../fence.ts';
import type { Blast } from '../guard/blast.ts';
import type { Means } from '../means.ts';
import type { Progress } from '../progress.ts';
import type { CallSecrets } from '../secrets.ts';
import type { Argument, ToolListing } from './catalog.ts';
import type { Arguments } from './relations.ts';
import type { Toolset } from './toolsets.ts';

/** What is needed to offer and list a tool, but not to run it. */
export interface ToolCard {
  listing: ToolListing;
  effect: Effect;
  /** The lowest role whose keys can use it. */
  role: Role;
  toolset: Toolset;
  /** What the tool is not offered without in this process, why that may be absent, and how to provide it. */
  needs?: { means: keyof Means; absent: string; remedy: string };
}

/** What a tool needs from outside. */
export interface ToolContext {
  client: Client;
  signal: AbortSignal | undefined;
  /** Reports progress to the caller. */
  progress: Progress;
  means: Means;
  /** The tools that the caller has; absent: all. */
  offered?: ReadonlyMap<string, unknown> | undefined;
  /** Whether a human is asked before a delete; absent: yes. */
  isGuarded?: boolean | undefined;
}

/** A tool as this server runs it. */
export interface Tool extends ToolCard {
  /** All its arguments. */
  arguments: readonly Argument[];
  /** The arguments that can contain secrets. */
  secretArguments?: readonly Argument[];
  /** Checks and normalizes the arguments, and resolves references to secrets; throws `invalid_input`. */
  read(sent: Arguments, secrets?: CallSecrets): Arguments;
  /** Which arguments were sent under names that are understood and not listed, in words; of what `read` took. */
  renamed?(sent: Arguments): readonly string[];
  /**
   * What to ask a human about before it runs; present if and only if the tool deletes. `shown`: what stands for what the
   * human was shown, see `Human`.
   */
  blast?: (context: ToolContext, input: Arguments, shown?: string) => Promise<Blast>;
  /** `blast`: what `blast()` found, if the tool deletes. */
  run(context: ToolContext, input: Arguments, blast?: Blast): Promise<Fenced>;
  /** What to do about an error, if the tool knows more than the error's code says; `input` is empty if it was refused. */
  next?(error: ApiError, input: Arguments): string | undefined;
  /** Existing names similar to the one that was not found; absent: it looks for none. */
  nearest?(context: ToolContext, input: Arguments, error: ApiError): Promise<string[]>;
}
