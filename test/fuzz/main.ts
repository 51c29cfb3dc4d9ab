import { randomFrom } from '../crash/load.ts';
import { readCatalogue } from './catalogue.ts';
import { createRunner, FINDINGS, type Outcome, type Verdict } from './run.ts';
import { createMaker, type Made } from './statements.ts';

/** `main.mjs <child.mjs> [statements] [seed]`: exits with 1 if there are findings. */

const MEMORY_MIB = 512;
/** A slow machine is no finding: what did not stop in time is tried again with ten times as much. */
const TIMES = { timeoutMs: 1_000, graceMs: 4_000 };
const AGAIN = { timeoutMs: 2_000, graceMs: 10_000 };
const SQL_SHOWN = 400;

const say = (line: string) => process.stdout.write(`${line}\n`);
const [child = '', count = '10000', seedText = String(Math.floor(Math.random() * 2 ** 32))] = process.argv.slice(2);
const seed = Number(seedText);
const runner = createRunner({ child, memoryMib: MEMORY_MIB, ...TIMES });
const patient = createRunner({ child, memoryMib: MEMORY_MIB, ...AGAIN });
const isFinding = (verdict: Verdict) => (FINDINGS as readonly Verdict[]).includes(verdict);

async function judge(statement: Made): Promise<Outcome> {
  const outcome = await runner.run(statement);
  if (outcome.verdict !== 'does not stop') return outcome;
  const again = await patient.run(statement);
  patient.close();
  return again;
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/[^\x20-\x7e\u00a0-\uffff]/g, '?');
  return line.length <= SQL_SHOWN ? line : `${line.slice(0, SQL_SHOWN)}… (${line.length} characters)`;
}

const catalogue = await readCatalogue();
const maker = createMaker(catalogue);
const random = randomFrom(seed);
const counts = new Map<string, number>();
const succeeded = new Set<string>();
const slowest: { ms: number; sql: string }[] = [];
say(
  `seed ${seed}: ${count} statements, ${catalogue.names.length} allowed names, ${catalogue.signatures.length} signatures`,
);

async function tryOut(statement: Made, index: number): Promise<void> {
  const outcome = await judge(statement);
  counts.set(outcome.verdict, (counts.get(outcome.verdict) ?? 0) + 1);
  if (outcome.verdict === 'ok') for (const name of statement.calls) succeeded.add(name);
  slowest.push({ ms: outcome.ms, sql: statement.sql });
  slowest.sort((a, b) => b.ms - a.ms).splice(15);
  if (!isFinding(outcome.verdict) && outcome.verdict !== 'flawed') return;
  say(`#${index} ${outcome.verdict.toUpperCase()}: ${shown(statement.sql)}`);
  say(`    ${shown(outcome.message)}; parameters ${shown(JSON.stringify(statement.parameters ?? []))}`);
}

const plain = maker.plain(random);
for (let index = 0; index < plain.length + Number(count); index++) {
  // First what should succeed, so that no allowed function is left out.
  await tryOut(plain[index] ?? maker.make(random), index);
  if (index % 500 === 499)
    say(`${index + 1}: ${[...counts].map(([verdict, times]) => `${times} ${verdict}`).join(', ')}`);
}
runner.close();

say(`\n${[...counts].map(([verdict, times]) => `${verdict}: ${times}`).join('\n')}`);
const never = catalogue.names.filter((name) => !succeeded.has(name));
say(`allowed, but never successfully called: ${never.length === 0 ? 'none' : never.join(' ')}`);
say('slowest:');
for (const { ms, sql } of slowest) say(`${Math.round(ms)} ms ${shown(sql).slice(0, 200)}`);
process.exitCode = [...counts.keys()].some((verdict) => isFinding(verdict as Verdict)) ? 1 : 0;
