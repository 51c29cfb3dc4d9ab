import type { Effect, Role } from '../../contract/row.ts';
import type { Means } from '../assistant.ts';
import type { ToolListing } from './catalog.ts';
import { tools } from './tools.ts';
import type { Toolset } from './toolsets.ts';

/** What has to be known of a tool to offer and list it, and not to run it. */
export interface ToolCard {
  listing: ToolListing;
  effect: Effect;
  /** The least role whose key can use it. */
  role: Role;
  toolset: Toolset;
  /** What of the process it cannot do without, why that is absent, and what lends it: it is offered only where it is there. */
  needs?: { means: keyof Means; absent: string; remedy: string };
}

/**
 * The cards of all tools by name, in the order they are listed.
 *
 * In the bundle this module is replaced by what it returns (`scripts/tool-cards.mjs`): a client waits for the list at each
 * start, and neither the contract nor its schemas are loaded for that.
 */
export function toolCards(): ReadonlyMap<string, ToolCard> {
  return tools();
}
