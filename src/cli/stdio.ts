import { type Config, SETTINGS, VERSION } from '../config.ts';

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
  ] = await Promise.all([
    import('./connect-lines.ts'),
    import('./log.ts'),
    import('./connect.ts'),
    import('../mcp/stdio.ts'),
    import('../mcp/approvals.ts'),
    import('./offer.ts'),
  ]);
  const log = createLog(config);
  const { command, args } = serverCommand(bin);
  await runStdio({
    connect: () => connectService(config, bin, log),
    version: VERSION,
    log,
    principal: 'stdio',
    ...toolsFor(config, log),
    approvals: createApprovals(),
    means: {},
    command: commandLine({ command, args: [...args, ...placeFlags(config)] }),
  });
  // Nobody is left to read an answer, so what still runs (a service being waited for) need not be.
  process.exit(0);
}

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
