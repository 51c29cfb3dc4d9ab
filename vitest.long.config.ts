import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** The long suites, which `scripts/test-long.mjs` runs one by one. */
export default defineConfig({
  ...base,
  test: { ...base.test, include: ['test/**/*.long.test.ts'], exclude: [] },
});
