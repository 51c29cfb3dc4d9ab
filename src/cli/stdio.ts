import { VERSION } from '../config.ts';
import { type Config, SETTINGS } from '../settings.ts';

/** Serves MCP on standard input and output; for a person at a terminal it prints how to connect a client instead. */
export async function stdio(config: Config, bin: string): Promise<number> {
  if (process.stdin.isTTY) {
    process.stdout.write(`${(await introduction(bin)).join('\n')}\n`);
    return 0;
  }
  const [
    { commandLine, serverCommand },
    { createLog },
    { connectService },
    { runStdio },
    { createApprovals },
    { toolsFor },
    { auditOf, secretMeans },
    { fileMeans },
  ] = await Promise.all([
    import('./connect-lines.ts'),
    import('./log.ts'),
    import('./connect.ts'),
    import('../mcp/stdio.ts'),
    import('../mcp/approvals.ts'),
    import('./offer.ts'),
    import('./means.ts'),
    import('./file-documents.ts'),
  ]);
  const log = createLog(config);
  const audit = auditOf(config, 'stdio', log);
  const { command, args } = serverCommand(bin);
  const started = commandLine({ command, args: [...args, ...placeFlags(config)] });
  if (config.guard === 'off') log.warn(GUARD_OFF);
  await runStdio({
    connect: () => connectService(config, bin, log),
    version: VERSION,
    log,
    principal: 'stdio',
    ...toolsFor(config, log),
    approvals: createApprovals(),
    guard: config.guard,
    means: { ...secretMeans(config), ...fileMeans(config) },
    audit,
    command: started,
    approveCommand: config.url === undefined ? `${started} approve` : undefined,
  });
  await audit?.settled();
  // Nobody is left to read an answer, so what still runs (a service being waited for) need not be.
  process.exit(0);
}

/** What the log says at the start where nobody is asked. */
export const GUARD_OFF = 'deletes run without asking a human, since the setting "guard" is off';

/** The flags with which another process of this program reaches the same service. */
export function placeFlags({ url, dataDir }: Config): string[] {
  if (url !== undefined) return ['--url', url];
  return dataDir === SETTINGS.dataDir.default ? [] : ['--data-dir', dataDir];
}

async function introduction(bin: string): Promise<string[]> {
  const { connectLines, serverCommand } = await import('./connect-lines.ts');
  return [
    `Colloquy ${VERSION}: an MCP server with which an assistant explores JSON collections in SQL.`,
    'It speaks to an MCP client on standard input, and this is a terminal. To connect it to a client:',
    '',
    ...connectLines(serverCommand(bin)),
    '',
    '"colloquy --help" lists commands and settings; "colloquy demo" shows it at work.',
  ];
}
