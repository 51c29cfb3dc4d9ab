import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { playRounds, summary } from './rounds.ts';

/** More than two pieces of a table, as the engine divides it. */
const LARGE = 260_000;

const [bin = '', rounds = '200', seed = String(Math.floor(Math.random() * 2 ** 32)), documents = String(LARGE)] =
  process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'colloquy-crash-'));
const say = (line: string) => process.stdout.write(`${line}\n`);
say(`seed ${seed}, in ${folder}`);
const result = await playRounds({
  bin,
  folder,
  rounds: Number(rounds),
  seed: Number(seed),
  documents: Number(documents),
  loadMs: 4_000,
  quietShare: 0.15,
  backupShare: 0.15,
  commandShare: 0.15,
  clockShare: 0.1,
  handOverShare: 0.1,
  report: say,
});
say(summary(result));
for (const text of [...result.lost.map((one) => `LOST ${one}`), ...result.half.map((one) => `HALF ${one}`)]) say(text);
const isFine = result.lost.length + result.half.length === 0;
// If something is wrong, the files are kept for inspection.
if (isFine) rmSync(folder, { recursive: true, force: true });
process.exitCode = isFine ? 0 : 1;
