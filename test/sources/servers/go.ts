import { join } from 'node:path';
import { command, installed } from './server.ts';

/** Builds a program from the Go module proxy, once; returns its file. */
export async function installedGo(name: string, program: string, version: string): Promise<string> {
  const folder = await installed(`${name}-${version}`, async (into) => {
    await command('go', ['install', `${program}@${version}`], {
      env: { ...process.env, GOBIN: into, GOFLAGS: '-buildvcs=false' },
    });
  });
  return join(folder, name);
}
