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
    exclude: ['test/browser/**', 'test/sources/**', 'test/lake/**', '**/*.long.test.ts'],
    tags: [{ name: 'more', description: 'Tests of which `npm test` tries only a part.' }],
    pool: 'forks',
    // Many tests wait for a process of their own: a third worker uses what is left of two cores.
    maxWorkers: 3,
    // Loading the modules anew for each file would take a third of the time.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/reporter.ts'],
  },
});
