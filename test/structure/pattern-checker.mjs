// Checks a part of the patterns, in a thread of its own: one pattern may take seconds, and cores are idle meanwhile.
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js');

/** One pattern takes milliseconds; this is for a machine that does something else at the time. */
const TIMEOUT_MS = 60_000;

function faultOf({ source, flags }) {
  // Without running an attack to confirm it: what is proven needs none.
  const verdict = checkSync(source, flags, { checker: 'automaton', timeout: TIMEOUT_MS, recallTimeout: -1 });
  if (verdict.status === 'safe') return undefined;
  if (verdict.status === 'unknown') return `it cannot be decided (${verdict.error.kind})`;
  return `${verdict.complexity.summary} for ${verdict.attack.pattern}`;
}

parentPort.postMessage(workerData.map(faultOf));
