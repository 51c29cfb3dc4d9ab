// Loaded before the program: the engine no longer hears that a statement is to stop, as some steps of it do not.
import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const require = createRequire(import.meta.url);
  const engine = require('@duckdb/node-bindings');
  const deaf = Object.create(engine, { interrupt: { value: () => {} } });
  require.cache[require.resolve('@duckdb/node-bindings')].exports = deaf;
}
