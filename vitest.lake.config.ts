import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Lakes, and the engine's own tests on one, against real servers: `scripts/test-lake.mjs` runs them. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/lake/**/*.test.ts', 'test/engine/**/*.test.ts'],
    exclude: ['test/engine/storage/**', 'test/engine/tables/{copy,migrations,reshape,row-numbers}.test.ts'],
    globalSetup: ['test/lake/servers.ts'],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 600_000,
  },
});
