import { counted } from '../contract/in-words.ts';
import type { Client } from '../http/client.ts';
import type { Assistant } from '../mcp/assistant.ts';
import type { Logger } from '../mcp/logger.ts';
import type { LambdaTools } from '../mcp/tools/lambda-tools.ts';
import type { ToolCard } from '../mcp/tools/tool.ts';
import type { Config } from '../settings.ts';

/** A client waits for this at its start, and starts without these tools if it takes longer. */
const WAIT_MS = 5_000;
/** Lambdas that the log names. */
const NAMED_MAX = 20;

/**
 * The lambdas that the settings offer as tools; undefined if they name no tag. Rejects, at the latest after `waitMs`, if
 * the service cannot be asked.
 */
export async function findLambdaTools(
  { lambdaTools: tag }: Pick<Config, 'lambdaTools'>,
  connect: () => Promise<Client>,
  waitMs = WAIT_MS,
): Promise<LambdaTools | undefined> {
  if (tag === undefined) return undefined;
  const stop = new AbortController();
  const { signal } = stop;
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const timer = setTimeout(() => stop.abort(new Error(`the service did not answer within ${waitMs} ms`)), waitMs);
  const find = async () => {
    const [client, { lambdaTools }] = await Promise.all([connect(), import('../mcp/tools/lambda-tools.ts')]);
    return lambdaTools(client, tag, signal);
  };
  try {
    return await Promise.race([find(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** As `findLambdaTools`; what was found, what was left out and what went wrong is logged, and an error is none. */
export async function startingLambdaTools(
  config: Pick<Config, 'lambdaTools'>,
  connect: () => Promise<Client>,
  log: Pick<Logger, 'info' | 'warn'>,
  waitMs?: number,
): Promise<LambdaTools | undefined> {
  try {
    const found = await findLambdaTools(config, connect, waitMs);
    if (found !== undefined) {
      const left = found.left.slice(0, NAMED_MAX);
      log[left.length > 0 ? 'warn' : 'info'](left.length > 0 ? { left } : {}, lambdaToolsText(found));
    }
    return found;
  } catch (error) {
    const tag = JSON.stringify(config.lambdaTools);
    log.warn(
      { err: error },
      `the lambdas tagged ${tag} cannot be listed, so none is a tool; the next start tries again`,
    );
    return undefined;
  }
}

/** What was found, in words. */
export function lambdaToolsText({ tag, tools, left, tokens }: LambdaTools): string {
  if (tools.size + left.length === 0) return `no lambda has the tag "${tag}", so none is a tool`;
  const are = tools.size === 1 ? 'is offered as a tool' : 'are offered as tools';
  return `${tools.size} of ${counted(tools.size + left.length, 'lambdas')} tagged "${tag}" ${are}, in about ${tokens} tokens`;
}

/** The offer of an assistant with the tools of lambdas: they come last, whatever toolsets are chosen, since all read. */
export function withLambdaTools(
  tools: Assistant['tools'],
  found: LambdaTools | undefined,
): Pick<Assistant, 'tools' | 'note'> {
  if (found === undefined) return { tools };
  const together = (offered: ReadonlyMap<string, ToolCard>) => new Map([...offered, ...found.tools]);
  return { tools: tools instanceof Promise ? tools.then(together) : together(tools), note: found.note };
}
