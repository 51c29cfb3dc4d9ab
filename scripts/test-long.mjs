// Runs the long suites (`long-suites.mjs`): `npm run test:long` in their short form, each within its budget;
// `npm run test:long -- full` in their long form, which takes more than an hour.
import { spawn } from 'node:child_process';
import { root, SUITES } from './long-suites.mjs';

const isFull = process.argv[2] === 'full';

/** Resolves to whether the command succeeded, or to undefined if it, with all that it started, was ended in time. */
function run([command, ...args], env, seconds) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', env, detached: true });
    let isOver = false;
    const end = () => {
      isOver = true;
      process.kill(-child.pid, 'SIGKILL');
    };
    const timer = seconds === undefined ? undefined : setTimeout(end, seconds * 1_000);
    process.once('exit', end);
    child.once('exit', (code) => {
      clearTimeout(timer);
      process.removeListener('exit', end);
      resolve(isOver ? undefined : code === 0);
    });
  });
}

process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
let failed = 0;
for (const { name, seconds, long, usual = [], env, short = [], longEnv, further = [] } of SUITES) {
  const startedAt = performance.now();
  const config = long === undefined ? 'vitest.config.ts' : 'vitest.long.config.ts';
  const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--config', config, ...(long ?? usual)];
  if (!isFull) vitest.push(...short);
  let hasPassed = true;
  for (const command of [vitest, ...(isFull ? further : [])]) {
    console.log(`\n${name}: ${command.join(' ')}`);
    const all = { ...process.env, TESTS: 'long', ...env, ...(isFull ? longEnv : {}) };
    hasPassed &&= await run(command, all, isFull ? undefined : seconds);
  }
  const took = Math.round((performance.now() - startedAt) / 1_000);
  const outcome = hasPassed === undefined ? 'over its budget' : hasPassed ? 'passed' : 'FAILED';
  console.log(`${name}: ${outcome} in ${took} s${isFull ? '' : ` of ${seconds} s`}`);
  if (!hasPassed) failed += 1;
}
console.log(`\n${SUITES.length - failed} of ${SUITES.length} long suites passed`);
process.exit(failed === 0 ? 0 : 1);
