import type { ToolCard } from './tool.ts';
import { tools } from './tools.ts';

/**
 * The cards of all tools by name, in the order in which they are listed.
 *
 * In the bundle this module is replaced by the list that it returns (`scripts/tool-cards.mjs`): a client waits for the
 * list at each start, which then needs neither the contract nor its schemas.
 */
export function toolCards(): ReadonlyMap<string, ToolCard> {
  return tools();
}
