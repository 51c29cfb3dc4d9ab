import type { Config } from '../../settings.ts';
import { errorLine } from '../log.ts';
import { leaveService } from './leave-service.ts';

export interface StopCommand {
  config: Config;
  /** Also stop a service that was started with `serve`, which is refused otherwise. */
  force: boolean;
}

/** Asks the local service of the data folder to leave, and waits until all is durable and its process has ended. */
export async function stop({ config: { dataDir }, force }: StopCommand): Promise<number> {
  try {
    const left = await leaveService(dataDir, { startMs: 0, force });
    process.stdout.write(left ? `The local service of "${dataDir}" has left.\n` : `Nothing serves "${dataDir}".\n`);
    return 0;
  } catch (error) {
    process.stderr.write(errorLine(error));
    return 1;
  }
}
