import { writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

// Loaded into a service: with each SIGUSR2 it writes the longest time, in milliseconds, that its thread was held since
// the last one, to a pipe. (A channel of Node.js would be taken for one to a supervisor.)
const RESOLUTION_MS = 2;
const PIPE = 3;

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  process.on('SIGUSR2', () => {
    writeSync(PIPE, `${delay.max / 1e6 - RESOLUTION_MS}\n`);
    delay.reset();
  });
}
