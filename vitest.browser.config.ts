import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** What needs a Chromium, which not every machine has: apart from the other tests. */
export default defineConfig({
  ...base,
  test: { ...base.test, include: ['test/browser/**/*.test.ts'], exclude: [], testTimeout: 60_000 },
});
