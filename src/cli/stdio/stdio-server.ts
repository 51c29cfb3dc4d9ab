import { randomBytes } from 'node:crypto';
import { VERSION } from '../../config.ts';
import type { Client } from '../../http/client.ts';
import { createApprovals } from '../../mcp/guard/signed-states.ts';
import { runStdio } from '../../mcp/transports/stdio.ts';
import type { Config } from '../../settings.ts';
import { connectService, loadConnection } from '../connect.ts';
import { ownCommand } from '../connect-lines.ts';
import { GUARD_OFF } from '../guard-notice.ts';
import { startingLambdaTools, withLambdaTools } from '../lambda-tools.ts';
import { auditOf, ownMeans, secretMeans } from '../means.ts';
import { toolsFor } from '../offer.ts';
import { laterLog } from './later-log.ts';

/**
 * Serves one MCP client on standard input and output, then ends the process. A client waits for this module to load at
 * each start, so it imports only what listing tools needs; the rest is loaded on use.
 */
export async function serveStdio(config: Config, bin: string): Promise<never> {
  const log = laterLog(config);
  const audit = auditOf(config, 'stdio', log);
  const started = ownCommand(config, bin);
  if (config.guard === 'off') log.warn({}, GUARD_OFF);
  const { hidden, tools } = toolsFor(config, log);
  let early: Promise<Client> | undefined;
  const connect = () => connectService(config, bin, log);
  const lambdas = await startingLambdaTools(config, () => (early = connect()), log);
  await runStdio({
    // The first call goes on with the connection that found the lambdas.
    connect: () => {
      const open = lambdas === undefined ? undefined : early;
      early = undefined;
      return open ?? connect();
    },
    version: VERSION,
    log,
    // For this process alone: approvals do not carry over to another one.
    principal: `stdio-${randomBytes(6).toString('hex')}`,
    hidden,
    ...withLambdaTools(tools, lambdas),
    approvals: createApprovals(),
    guard: config.guard,
    means: { ...secretMeans(config), ...ownMeans(config) },
    audit,
    command: started,
    approveCommand: config.url === undefined ? `${started} approve` : undefined,
    loadAhead: () => Promise.all([log.load(), loadConnection(config)]),
  });
  await audit?.settled();
  await log.settled();
  // Nobody is left to read an answer, so what is still running (such as waiting for a service) may end.
  process.exit(0);
}
