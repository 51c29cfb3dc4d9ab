import { randomUUID } from 'node:crypto';
import type { Client } from '../http/client.ts';
import type { Config } from '../settings.ts';
import { connectService } from './connect.ts';
import { errorLine, personLog } from './log.ts';

/**
 * Runs a command for a person: an error goes to standard error, on one line, and makes the exit code 1. `endsWithOutput`:
 * so does the process at once if the reader of its output goes away (`| head`); otherwise `work` has to see to that.
 */
export async function forPerson(work: () => Promise<number>, { endsWithOutput = true } = {}): Promise<number> {
  process.stdout.once('error', () => {
    if (endsWithOutput) process.exit(1);
  });
  try {
    return await work();
  } catch (error) {
    process.stderr.write(errorLine(error));
    return 1;
  }
}

/** Runs `work` with a client of the service; a local one that is started for that leaves afterwards, unless it `stays`. */
export async function withService<T>(
  config: Config,
  bin: string,
  work: (client: Client) => Promise<T>,
  { stays = false } = {},
): Promise<T> {
  const client = await connectService(config, bin, personLog(config), stays ? undefined : randomUUID());
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
