import { afterAll, beforeAll, describe, it } from 'vitest';
import { buildIfStale, dataFolder } from './binary.ts';
import { legacyStdio, modernStdio } from './drivers.ts';
import { SCENARIOS } from './scenarios.ts';
import type { Session } from './session.ts';
import { STORIES } from './stories.ts';

beforeAll(buildIfStale, 60_000);

describe.each([legacyStdio, modernStdio])('$name', (driver) => {
  let folder: Awaited<ReturnType<typeof dataFolder>>;
  beforeAll(async () => {
    folder = await dataFolder();
  });
  afterAll(() => folder.remove());

  it.each([...SCENARIOS, ...STORIES].map((scenario, index) => ({ ...scenario, index })))(
    '$name',
    async ({ run, index }) => {
      const sessions: Session[] = [];
      try {
        await run({
          dataDir: folder.path,
          workspace: `ws${index}`,
          open: async (human) => {
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
