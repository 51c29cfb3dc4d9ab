import { ROLES, rankOf } from '../contract/row.ts';
import type { Means } from './means.ts';
import type { ToolCard } from './tools/tool.ts';
import { toolCards } from './tools/tool-cards.ts';
import type { Choice } from './tools/toolsets.ts';

/** What decides which tools are offered: the operator's settings, and what the key may do. */
export interface Offer {
  /** Absent: all. */
  toolsets?: readonly Choice[] | undefined;
  readOnly?: boolean | undefined;
  /** Roles of the key's user; if absent, or none of them is known here, no tool is hidden because of its role. */
  roles?: readonly string[] | null | undefined;
  /** What the process provides to tools; absent: nothing. */
  means?: Means | undefined;
}

/** A tool that is not offered. */
export interface Hidden {
  tool: string;
  /** `settings`: because of the operator's settings; `role`: the key may not use it. */
  by: 'settings' | 'role';
  /** In words, for a model or a human, without a final period. */
  why: string;
  /** How to change that, unless the reason is a toolset, read-only mode or the role. */
  remedy?: string;
}

/** The tools that are offered, by name, in the order in which they are always listed. */
export function offeredTools(offer: Offer): ReadonlyMap<string, ToolCard> {
  return new Map([...toolCards()].filter(([, tool]) => reasonToHide(tool, offer) === undefined));
}

/** The tools that are not offered, each with the reason. */
export function hiddenTools(offer: Offer): Hidden[] {
  return [...toolCards()].flatMap(([name, tool]) => {
    const reason = reasonToHide(tool, offer);
    return reason === undefined ? [] : [{ tool: name, ...reason }];
  });
}

function reasonToHide(
  tool: ToolCard,
  { toolsets, readOnly, roles, means = {} }: Offer,
): Omit<Hidden, 'tool'> | undefined {
  const isRead = tool.effect === 'read';
  if (readOnly === true && !isRead) return { by: 'settings', why: 'the server is set to read only' };
  const chosen = toolsets?.filter(({ toolset }) => toolset === tool.toolset);
  if (chosen?.length === 0) return { by: 'settings', why: `toolset "${tool.toolset}" is not chosen` };
  if (chosen?.every((choice) => choice.readOnly) === true && !isRead) {
    return { by: 'settings', why: `of toolset "${tool.toolset}" only what reads is chosen` };
  }
  if (tool.needs !== undefined && means[tool.needs.means] === undefined) {
    return { by: 'settings', why: tool.needs.absent, remedy: tool.needs.remedy };
  }
  const rank = rankOf(roles);
  if (rank !== undefined && rank < ROLES.indexOf(tool.role)) {
    return { by: 'role', why: `it needs the role ${tool.role}, and the API key has ${ROLES[rank]}` };
  }
  return undefined;
}
