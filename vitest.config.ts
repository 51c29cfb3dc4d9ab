import { defineConfig } from 'vitest/config';

/** Markdown is text, as in the bundle. */
const markdown = {
  name: 'markdown',
  transform: (code: string, id: string) =>
    id.endsWith('.md') ? { code: `export default ${JSON.stringify(code)};`, map: null } : undefined,
};

export default defineConfig({
  plugins: [markdown],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/browser/**', '**/*.long.test.ts'],
    pool: 'forks',
    // Loading the modules anew for each file would take a quarter of all the time: none keeps anything between files.
    isolate: false,
    // Most of a test's time is a service's in a process of its own.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/reporter.ts'],
  },
});
