import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomFrom } from '../crash/load.ts';
import { buildFuzz } from './build.mjs';
import { type Catalogue, readCatalogue } from './catalogue.ts';
import { CORPUS } from './corpus.ts';
import { createRunner, FINDINGS, type Runner, type Verdict } from './run.ts';
import { createMaker } from './statements.ts';

let runner: Runner;
let catalogue: Catalogue;
beforeAll(async () => {
  const { child } = await buildFuzz(fileURLToPath(new URL('../..', import.meta.url)));
  catalogue = await readCatalogue();
  // What does not stop never does: patience costs nothing as long as there is no finding.
  runner = createRunner({ child, memoryMib: 512, timeoutMs: 400, graceMs: 30_000 });
});
afterAll(() => runner.close());

test('what once ended the process, or kept it busy, is refused or stops', { timeout: 300_000 }, async () => {
  for (const { expected, ...statement } of CORPUS) {
    const { verdict, message } = await runner.run(statement);
    expect(expected, `${statement.sql}: ${verdict}, ${message}`).toContain(verdict);
  }
});

/** As many as a test may take; `npm run fuzz` makes more. */
const EDGES = 1_500;

test('every allowed function answers, and takes edge values without ending the process', {
  timeout: 300_000,
}, async () => {
  const random = randomFrom(20_261_122);
  const maker = createMaker(catalogue);
  const succeeded = new Set<string>();
  const isFinding = (verdict: Verdict) => (FINDINGS as readonly Verdict[]).includes(verdict);
  const tried = [...maker.plain(random), ...Array.from({ length: EDGES }, () => maker.make(random))];
  for (const { calls, ...statement } of tried) {
    const { verdict, message } = await runner.run(statement);
    expect(isFinding(verdict), `${statement.sql}: ${verdict}, ${message}`).toBe(false);
    if (verdict === 'ok') for (const name of calls) succeeded.add(name);
  }
  expect(catalogue.names.filter((name) => !succeeded.has(name))).toEqual([]);
});
