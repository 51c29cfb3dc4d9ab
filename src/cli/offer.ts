import type { Logger } from '../mcp/logger.ts';
import type { Means } from '../mcp/means.ts';
import type { Hidden, Offer } from '../mcp/offer.ts';
import { hiddenTools, offeredTools } from '../mcp/offer.ts';
import type { ToolCard } from '../mcp/tools/tool.ts';
import { chosenToolsets } from '../mcp/tools/toolsets.ts';
import type { Config } from '../settings.ts';
import { ownMeans } from './means.ts';

/** How long the first list of tools waits for the role of a remote key. */
const ROLE_WAIT_MS = 1_500;

/** The operator's choices; the role of the key is not included. */
export function offerOf(config: Config, means: Means = ownMeans(config)): Offer {
  const { toolsets, profile, readOnly } = config;
  return { toolsets: chosenToolsets(profile, toolsets), readOnly, means };
}

/**
 * The tools of a process that talks to one service, and those it hides. For a remote service, the role of the key is
 * asked for at once; if that fails or takes longer than `roleWaitMs`, nothing is hidden because of it, since a list
 * that changes later would be worse than a tool that is refused. The key of the local service may do everything.
 */
export function toolsFor(
  config: Config,
  log: Pick<Logger, 'info'>,
  roleWaitMs = ROLE_WAIT_MS,
): {
  tools: ReadonlyMap<string, ToolCard> | Promise<ReadonlyMap<string, ToolCard>>;
  hidden: readonly Hidden[] | Promise<readonly Hidden[]>;
} {
  const offer = offerOf(config);
  const { url, apiKey } = config;
  if (url === undefined || apiKey === undefined) return { tools: offeredTools(offer), hidden: hiddenTools(offer) };
  const complete = rolesOf({ url, apiKey, timeoutMs: roleWaitMs }, log).then((roles) => ({ ...offer, roles }));
  return { tools: complete.then(offeredTools), hidden: complete.then(hiddenTools) };
}

async function rolesOf(
  { url, apiKey, timeoutMs }: { url: string; apiKey: string; timeoutMs: number },
  log: Pick<Logger, 'info'>,
): Promise<readonly string[] | undefined> {
  try {
    const { createClient } = await import('../http/client.ts');
    const client = createClient({ target: { url }, apiKey, timeoutMs, readOnly: true });
    try {
      return (await client.getCurrentUser({})).roles ?? undefined;
    } finally {
      await client.close();
    }
  } catch (error) {
    log.info({ err: error }, 'the role of the API key is not known, so no tool is hidden for it');
    return undefined;
  }
}
