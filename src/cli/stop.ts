import type { Config } from '../settings.ts';
import { leaveService } from './leave-service.ts';
import { errorLine } from './log.ts';

/** Asks the local service of the data folder to leave, and waits until everything is durable and it has ended. */
export async function stop({ dataDir }: Config): Promise<number> {
  try {
    const left = await leaveService(dataDir, { startMs: 0 });
    process.stdout.write(left ? `The local service of "${dataDir}" has left.\n` : `Nothing serves "${dataDir}".\n`);
    return 0;
  } catch (error) {
    process.stderr.write(errorLine(error));
    return 1;
  }
}
