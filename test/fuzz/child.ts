import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '../../src/contract/errors.ts';
import type { JsonObject } from '../../src/contract/json/json.ts';
import { openEngine } from '../../src/engine/duckdb/open.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Answer, Memory, Statement } from './run.ts';

/** Runs statements in the real gate and engine, one by one, in a process that they may end. */

const LIMITS = {
  resultRowsMax: 1_000,
  resultBytesMax: 4 * 1024 * 1024,
  queriesMax: 1,
  // So that a place is free only when the engine is done with its statement.
  stuckMax: 0,
  threads: 1,
  tempBytesMax: 256 * 1024 * 1024,
};
const DOCUMENTS = 5_000;

function documentOf(n: number): JsonObject {
  const extremes = [0, -1, 1, 2 ** 31, -(2 ** 31), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 42];
  const texts = ['', ' ', 'abc', 'é', '👩‍👩‍👧', '2024-02-29', '%', '_', '[', '12', 'x'.repeat(300)];
  return {
    n: extremes[n % extremes.length] ?? 0,
    d: n % 7 === 0 ? -n / 3 : n * 1e300,
    t: n % 9 === 0 ? null : (texts[n % texts.length] ?? ''),
    l: Array.from({ length: n % 20 }, (_, index) => index * n),
    o: { a: n, b: String(n) },
    j: n % 2 === 0 ? { a: n, b: [n, null] } : [n, 'two'],
  };
}

/** The collections `fuzz.small` and `fuzz.docs`. */
async function fill(engine: Engine): Promise<void> {
  await engine.commit([
    { do: 'createWorkspace', workspace: 'fuzz' },
    { do: 'createCollection', table: 'small', workspace: 'fuzz', name: 'small' },
    { do: 'createCollection', table: 'docs', workspace: 'fuzz', name: 'docs' },
  ]);
  for (const [table, count] of [
    ['small', 12],
    ['docs', DOCUMENTS],
  ] as const) {
    const documents = Array.from({ length: count }, (_, n) => ({
      id: `d${n}`,
      eventTimeMicros: BigInt(n) * 86_400_000_000n,
      fields: documentOf(n),
    }));
    await engine.addDocuments(table, documents);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-fuzz-'));
const send = (answer: Answer) => process.send?.(answer);
const [memoryMib = '512', timeoutMs = '1000'] = process.argv.slice(2);

const engine = await openEngine({
  file: join(folder, 'fuzz.duckdb'),
  limits: { ...LIMITS, memoryBytes: Number(memoryMib) * 1024 * 1024, queryTimeoutMs: 600_000 },
  giveUp: ({ message }) => send({ kind: 'gave up', message }),
});
await fill(engine);
// The files stay open; they are not left behind however the process ends.
if (process.platform !== 'win32') rmSync(folder, { recursive: true, force: true });
// A statement that needs more than its memory writes here; of a process that is killed, an empty folder stays.
mkdirSync(join(folder, 'temp'), { recursive: true });
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Linux counts the peak anew when told so; elsewhere it is that of the whole process. */
function resetPeak(): void {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5');
}

function memory(): Memory {
  const leftMib = Math.round(process.memoryUsage.rss() / 1024 ** 2);
  const [, peakKib] =
    process.platform === 'linux' ? (/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []) : [];
  return { peakMib: Math.round(Number(peakKib ?? process.resourceUsage().maxRSS) / 1024), leftMib };
}

process.on('disconnect', () => process.exit(0));
process.on('message', async ({ sql, parameters }: Statement) => {
  resetPeak();
  try {
    const { rows } = await engine.query({ sql, parameters, timeoutMs: Number(timeoutMs) });
    send({ kind: 'answered', memory: memory(), rows: rows.length });
  } catch (error) {
    const code = error instanceof ApiError ? error.code : 'not an ApiError';
    // The answer does not wait until the engine has stopped; this does.
    await engine.query({ sql: 'SELECT 1' });
    send({ kind: 'failed', memory: memory(), code, message: String(error instanceof Error ? error.message : error) });
  }
});
send({ kind: 'ready' });
