import { afterAll, beforeAll, describe, it } from 'vitest';
import { buildIfStale, dataFolder } from './binary.ts';
import { LONG_WORK } from './long-work.ts';
import { RESOURCES } from './resources.ts';
import { RESULTS } from './results.ts';
import { SCENARIOS } from './scenarios.ts';
import type { Driver, Session } from './session.ts';
import { STORIES } from './stories.ts';

/**
 * Runs every scenario with each driver, on a folder per driver. They share the session that each opens first, unless it
 * has a human: a process less to start, and a conversation about one thing has no part in the next.
 */
export function play(drivers: readonly Driver[]): void {
  beforeAll(buildIfStale, 60_000);

  describe.each(drivers)('$name', (driver) => {
    let folder: Awaited<ReturnType<typeof dataFolder>>;
    let stop: (() => Promise<void>) | undefined;
    let shared: Session | undefined;
    beforeAll(async () => {
      folder = await dataFolder();
      stop = await driver.serve?.(folder.path);
    }, 30_000);
    afterAll(async () => {
      await shared?.close();
      await stop?.();
      await folder.remove();
    });

    const scenarios = [...SCENARIOS, ...STORIES, ...LONG_WORK, ...RESOURCES, ...RESULTS].map((scenario, index) => ({
      ...scenario,
      index,
    }));
    it.each(scenarios.filter(({ ownProcess }) => ownProcess !== true || driver.serve === undefined))(
      '$name',
      async ({ run, index, ownSession }) => {
        const sessions: Session[] = [];
        let mayShare = ownSession !== true;
        try {
          await run({
            dataDir: folder.path,
            workspace: `ws${index}`,
            open: async (human) => {
              if (human === undefined && mayShare) {
                mayShare = false;
                shared ??= await driver.open({ dataDir: folder.path });
                return shared;
              }
              const session = await driver.open({ dataDir: folder.path, ...(human === undefined ? {} : { human }) });
              sessions.push(session);
              return session;
            },
          });
        } finally {
          await Promise.all(sessions.map((session) => session.close()));
        }
      },
    );
  });
}
