#!/usr/bin/env node
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine } from './command-line.ts';
import { DEFAULT_FOLDERS } from './default-folders.ts';
import { isPrivateFolder } from './private-folder.ts';

// Node.js 22.1 and later can cache compiled code, but its default folder for that may be writable by others.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
const compiled = join(DEFAULT_FOLDERS.cache, 'compiled');
if (enableCompileCache !== undefined && isPrivateFolder(compiled)) enableCompileCache(compiled);

const bin = fileURLToPath(import.meta.url);

/** Reads the command line, with no more code than it takes. */
async function start(): Promise<number> {
  const [command, ...flags] = commandLine();
  // The process that starts the service again needs no settings: the service reads them, and complains if need be.
  const isService = flags.some((flag) => flag === '--local' || flag === '--supervised');
  if (command === 'serve' && !isService) {
    return (await import('./cli/serve/supervise.ts')).supervise(bin, commandLine());
  }
  const [{ readInvocation }, { runCommand }] = await Promise.all([import('./commands.ts'), import('./run-command.ts')]);
  return runCommand(readInvocation(), bin);
}

process.exitCode = await start();
