// Loaded before the program: what it reads with one of these words in it hangs the thread that reads it, as a flaw of
// the program would. The thread that watches ticks twice as fast, so that a test takes half the time.
import { isMainThread } from 'node:worker_threads';

const TICK_MS = 500;
const { setInterval: every } = globalThis;
globalThis.setInterval = (work, ms, ...given) => every(work, ms === TICK_MS ? ms / 2 : ms, ...given);

const { parse } = JSON;
if (isMainThread) {
  JSON.parse = (text, ...given) => {
    const isBody = text.includes?.('hang_in_body') && text.startsWith('{"sql"');
    // The engine's tree of a statement.
    const isTree = text.includes?.('hang_in_gate') && text.startsWith('{"error"');
    while (isBody || isTree);
    return parse(text, ...given);
  };
}
