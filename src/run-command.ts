import { commandLine } from './command-line.ts';
import type { Invocation } from './commands.ts';

/**
 * Runs a command, whose code is loaded only then, so that an MCP client does not wait for code that it does not use.
 * Resolves to the exit code.
 */
export async function runCommand(invocation: Invocation, bin: string): Promise<number> {
  switch (invocation.command) {
    case 'exit':
      process.stdout.write(invocation.stdout);
      process.stderr.write(invocation.stderr);
      return invocation.exitCode;
    case 'stdio':
      return (await import('./cli/stdio/stdio.ts')).stdio(invocation.config, bin);
    case 'serve':
      if (!invocation.role.local && invocation.role.supervised === undefined)
        return (await import('./cli/serve/supervise.ts')).supervise(bin, commandLine());
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
    case 'import-lambdas':
      return (await import('./cli/lambdas/import-lambdas.ts')).importLambdas(invocation, bin);
    case 'export':
      return (await import('./cli/exports/export.ts')).exportData(invocation, bin);
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
