import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Sources against real servers, which `scripts/test-sources.mjs` runs. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/sources/**/*.test.ts'],
    exclude: [],
    // Speeds are those of one source alone; with few items, most of the time is waited for servers and pauses.
    maxWorkers: process.env['SOURCES_ITEMS'] === undefined ? 3 : 1,
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
