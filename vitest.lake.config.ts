import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Lakes, and the tests of the engine and the service on them, against real servers: `scripts/test-lake.mjs` runs them. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/lake/**/*.test.ts', 'test/engine/**/*.test.ts', 'test/service/**/*.test.ts'],
    // Of one file: how it is stored, or read beside the service.
    exclude: [
      'test/engine/storage/**',
      'test/engine/tables/{copy,row-numbers,stored-schema}.test.ts',
      'test/service/{clock,start}.test.ts',
      'test/service/integrations/secrets.test.ts',
    ],
    globalSetup: ['test/lake/servers.ts'],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 600_000,
  },
});
