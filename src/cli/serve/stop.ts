import type { InvocationOf } from '../../commands.ts';
import { forPerson } from '../person.ts';
import { leaveService } from './leave-service.ts';

/** Asks the local service of the data folder to leave, and waits until all is durable and its process has ended. */
export function stop({ config: { dataDir }, force }: InvocationOf<'stop'>): Promise<number> {
  return forPerson(async () => {
    const left = await leaveService(dataDir, { startMs: 0, force });
    process.stdout.write(left ? `The local service of "${dataDir}" has left.\n` : `Nothing serves "${dataDir}".\n`);
    return 0;
  });
}
