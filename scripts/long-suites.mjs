// The long suites: what each is, how many seconds its short form may take on two cores, and what it runs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** The paths of all files with tests. */
export const testFiles = readdirSync(join(root, 'test'), { recursive: true })
  .map((file) => `test/${String(file).replaceAll('\\', '/')}`)
  .filter((file) => file.endsWith('.test.ts'));

const textOf = (file) => readFileSync(join(root, file), 'utf8');

/** Tests of the engine whose engines have no shortcuts where they are switched off (test/engine/harness.ts). */
const withoutShortcuts = testFiles
  .filter((file) => /^test\/engine\/(?:tables|queries|gate|storage|results)\//.test(file))
  .filter((file) => !file.endsWith('.long.test.ts') && /\bopenSmall\b/.test(textOf(file)));

/** Files that have more to try than `npm test` does. */
const inPart = testFiles
  .filter((file) => !file.endsWith('.long.test.ts'))
  .filter((file) => /\/(?:long|property)\.ts'/.test(textOf(file)));

/**
 * `long`: files named `*.long.test.ts`, by the beginning of their paths. `usual`: other tests. `short`: arguments of the
 * short form. `further`: commands that only the long form runs, after these.
 */
export const SUITES = [
  { name: 'patterns are linear', seconds: 180, long: ['test/structure/'] },
  {
    name: 'properties',
    seconds: 180,
    long: ['test/engine/storage-property', 'test/service/model', 'test/engine/gate/'],
    longEnv: { COLLOQUY_PROPERTY_RUNS: '500' },
  },
  {
    name: 'hostile requests, and functions at their edges',
    seconds: 240,
    long: ['test/fuzz/', 'test/engine/queries/', 'test/service/hostile'],
    further: [['npm', 'run', 'fuzz', '--', '10000']],
  },
  {
    name: 'crashes, full disks, and files that shrink',
    seconds: 180,
    long: ['test/crash/', 'test/cli/full-disk', 'test/engine/storage/'],
    further: [['npm', 'run', 'crash', '--', '60']],
  },
  {
    // Services that hang are waited for, and leave the cores to the others.
    name: 'services that hang, crash or idle, and every transport and protocol',
    seconds: 300,
    long: ['test/cli/comes-back', 'test/local/', 'test/scenarios/'],
  },
  {
    // All of them again in the long form.
    name: 'what npm test leaves out',
    seconds: 420,
    usual: inPart,
    env: { TESTS: 'more' },
    short: ['--tags-filter=more'],
    longEnv: { TESTS: 'long' },
  },
  {
    name: 'the engine without shortcuts',
    seconds: 240,
    usual: withoutShortcuts,
    env: { TESTS: '', SHORTCUTS: 'off' },
  },
];
