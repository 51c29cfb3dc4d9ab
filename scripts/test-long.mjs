// Runs the long suites: `npm run test:long` in their short form, each within a budget; `npm run test:long -- full` in
// their long form, which takes more than an hour.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const isFull = process.argv[2] === 'full';
const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = (config, ...rest) => [
  process.execPath,
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config',
  config,
  ...rest,
];
const long = (...files) => vitest('vitest.long.config.ts', ...files);

/** What it is, how many seconds its short form may take on two cores, and its commands. */
const SUITES = [
  { name: 'patterns are linear', seconds: 90, short: long('test/structure') },
  {
    name: 'properties',
    seconds: 180,
    short: long('test/engine/storage-property', 'test/service/model', 'test/engine/gate/gate-fuzz'),
    env: { COLLOQUY_PROPERTY_RUNS: '1000' },
  },
  {
    name: 'hostile requests, and functions at their edges',
    seconds: 240,
    short: long('test/fuzz', 'test/engine/queries', 'test/service/hostile'),
    full: ['npm', 'run', 'fuzz', '--', '10000'],
  },
  {
    name: 'crashes',
    seconds: 120,
    short: long('test/crash'),
    full: ['npm', 'run', 'crash', '--', '60'],
  },
  {
    name: 'full disks and long logs',
    seconds: 180,
    short: long('test/engine/storage/', 'test/engine/tables', 'test/cli/full-disk'),
  },
  { name: 'services that hang, crash or idle', seconds: 240, short: long('test/cli/comes-back', 'test/local') },
  { name: 'every transport and protocol', seconds: 240, short: long('test/scenarios') },
  { name: 'what npm test tries in part', seconds: 900, short: vitest('vitest.config.ts') },
  {
    name: 'the engine without shortcuts',
    seconds: 300,
    short: vitest(
      'vitest.config.ts',
      ...['tables', 'queries', 'gate', 'storage', 'results'].map((f) => `test/engine/${f}/`),
    ),
    always: { TESTS: '', SHORTCUTS: 'off' },
  },
];

let failed = 0;
for (const { name, seconds, short, full, env, always } of SUITES) {
  const startedAt = performance.now();
  const [command, ...args] = isFull && full !== undefined ? full : short;
  console.log(`\n${name}: ${[command, ...args].join(' ')}`);
  const { status, signal } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TESTS: 'long', ...always, ...(isFull ? env : {}) },
    ...(isFull ? {} : { timeout: seconds * 1_000, killSignal: 'SIGKILL' }),
  });
  const took = Math.round((performance.now() - startedAt) / 1_000);
  const limit = isFull ? '' : ` of ${seconds} s`;
  const outcome = signal !== null ? 'over its budget' : status === 0 ? 'passed' : 'FAILED';
  console.log(`${name}: ${outcome} in ${took} s${limit}`);
  if (status !== 0) failed += 1;
}
console.log(`\n${SUITES.length - failed} of ${SUITES.length} long suites passed`);
process.exit(failed === 0 ? 0 : 1);
