import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomFrom } from '../crash/load.ts';
import { buildFuzz } from './build.mjs';
import { type Catalogue, readCatalogue } from './catalogue.ts';
import { CORPUS } from './corpus.ts';
import { createRunner, FINDINGS, type Runner } from './run.ts';
import { createMaker } from './statements.ts';

/** Ends what is meant to take long. */
let hasty: Runner;
/** For what has to succeed, on a slow machine as well. */
let patient: Runner;
let catalogue: Catalogue;
beforeAll(async () => {
  const { child } = await buildFuzz(fileURLToPath(new URL('../..', import.meta.url)));
  catalogue = await readCatalogue();
  // What does not stop never does: patience costs nothing as long as there is no finding.
  hasty = createRunner({ child, memoryMib: 512, timeoutMs: 300, graceMs: 30_000 });
  patient = createRunner({ child, memoryMib: 512, timeoutMs: 30_000, graceMs: 30_000 });
});
afterAll(() => {
  hasty.close();
  patient.close();
});

test('what once ended the process, or kept it busy, is refused or stops', { timeout: 300_000 }, async () => {
  for (const { expected, ...statement } of CORPUS) {
    const { verdict, message } = await (expected === 'stopped' ? hasty : patient).run(statement);
    expect(verdict, `${statement.sql}: ${message}`).toBe(expected);
  }
});

/** As many as a test may take; `npm run fuzz` makes more. */
const EDGES = 600;

test('every allowed function answers', { timeout: 300_000 }, async () => {
  const succeeded = new Set<string>();
  for (const { calls, ...statement } of createMaker(catalogue).plain(randomFrom(1))) {
    // One success is enough.
    if (calls.every((name) => succeeded.has(name))) continue;
    const { verdict } = await patient.run(statement);
    if (verdict === 'ok') for (const name of calls) succeeded.add(name);
  }
  expect(catalogue.names.filter((name) => !succeeded.has(name))).toEqual([]);
});

test('edge values end no process, and every statement stops', { timeout: 300_000 }, async () => {
  const random = randomFrom(20_261_122);
  const maker = createMaker(catalogue);
  for (let index = 0; index < EDGES; index++) {
    const statement = maker.make(random);
    const { verdict, message } = await hasty.run(statement);
    expect(FINDINGS, `${statement.sql}: ${message}`).not.toContain(verdict);
  }
});
