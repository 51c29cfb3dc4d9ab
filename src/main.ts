#!/usr/bin/env node
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine } from './command-line.ts';
import type { Invocation } from './commands.ts';
import { DEFAULT_FOLDERS } from './default-folders.ts';
import { isPrivateFolder } from './private-folder.ts';

// Node.js 22.1 and later can cache compiled code, but its default folder for that may be writable by others.
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown };
const compiled = join(DEFAULT_FOLDERS.cache, 'compiled');
if (enableCompileCache !== undefined && isPrivateFolder(compiled)) enableCompileCache(compiled);

const bin = fileURLToPath(import.meta.url);

// Each command's code is loaded only when it runs, so that an MCP client does not wait for code that it does not use.
async function run(invocation: Invocation): Promise<number> {
  switch (invocation.command) {
    case 'exit':
      process.stdout.write(invocation.stdout);
      process.stderr.write(invocation.stderr);
      return invocation.exitCode;
    case 'stdio':
      return (await import('./cli/stdio/stdio.ts')).stdio(invocation.config, bin);
    case 'serve':
      if (!invocation.role.local && invocation.role.supervised === undefined) return supervised();
      return (await import('./cli/serve/serve.ts')).serve(invocation.config, invocation.role, bin);
    case 'setup':
      return (await import('./cli/setup/setup.ts')).setup(invocation, bin);
    case 'call':
      return (await import('./cli/call.ts')).call(invocation, bin);
    case 'stop':
      return (await import('./cli/serve/stop.ts')).stop(invocation);
    case 'doctor':
      return (await import('./cli/doctor/doctor.ts')).doctor(invocation, bin);
    case 'trash':
      return (await import('./cli/trash.ts')).trash(invocation, bin);
    case 'backup':
      return (await import('./cli/backups/backup.ts')).backup(invocation, bin);
    case 'restore':
      return (await import('./cli/backups/restore.ts')).restore(invocation);
    case 'audit':
      return (await import('./cli/audit.ts')).audit(invocation);
    case 'open':
      return (await import('./cli/approvals/open.ts')).openPage(invocation, bin);
    case 'approve':
      return (await import('./cli/approvals/approve.ts')).approve(invocation, bin);
    case 'demo':
      return (await import('./cli/demo/demo.ts')).runDemo();
  }
}

async function supervised(): Promise<number> {
  return (await import('./cli/serve/supervise.ts')).supervise(bin, commandLine());
}

/** Reads the command line, with no more code than it takes. */
async function start(): Promise<number> {
  const [command, ...flags] = commandLine();
  // The process that starts the service again needs no settings: the service reads them, and complains if need be.
  const isService = flags.some((flag) => flag === '--local' || flag === '--supervised');
  if (command === 'serve' && !isService) return supervised();
  return run((await import('./commands.ts')).readInvocation());
}

process.exitCode = await start();
