import type { Effect, Role } from '../../contract/row.ts';
import type { Means } from '../assistant.ts';
import type { ToolListing } from './catalog.ts';
import { tools } from './tools.ts';
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

/**
 * The cards of all tools by name, in the order in which they are listed.
 *
 * In the bundle this module is replaced by the list that it returns (`scripts/tool-cards.mjs`): a client waits for the
 * list at each start, which then needs neither the contract nor its schemas.
 */
export function toolCards(): ReadonlyMap<string, ToolCard> {
  return tools();
}
