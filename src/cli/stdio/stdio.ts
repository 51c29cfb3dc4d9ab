import { VERSION } from '../../config.ts';
import type { Config } from '../../settings.ts';

/** Serves MCP on standard input and output; at a terminal it prints how to connect a client instead. */
export async function stdio(config: Config, bin: string): Promise<number> {
  if (!process.stdin.isTTY) return (await import('./stdio-server.ts')).serveStdio(config, bin);
  process.stdout.write(`${(await introduction(bin)).join('\n')}\n`);
  return 0;
}

async function introduction(bin: string): Promise<string[]> {
  const { connectLines, serverCommand } = await import('../connect-lines.ts');
  return [
    `Colloquy ${VERSION}: an MCP server with which an assistant explores JSON collections in SQL.`,
    'It speaks to an MCP client on standard input, and this is a terminal. To connect it to a client:',
    '',
    ...connectLines(serverCommand(bin)),
    '',
    '"colloquy --help" lists commands and settings; "colloquy demo" shows it at work.',
  ];
}
