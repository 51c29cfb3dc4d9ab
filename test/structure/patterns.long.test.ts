import { Worker } from 'node:worker_threads';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Made, madeOnLoad, type Pattern, patternsOf } from './patterns.ts';

/*
 * One thread serves everybody, and a pattern that backtracks holds it for as long as a stranger's text wants: so every
 * regular expression of the source is proven to take time linear in the text, by `recheck`, in its form that is pure
 * JavaScript (package.json puts an empty package in place of its Java and native forms). A pattern that the checker
 * cannot decide counts as one that it refuted: write it more plainly, or scan the text.
 */

type Text = Pick<Pattern, 'source' | 'flags'>;

const THREADS = 2;

/** What is wrong with each of the patterns, if anything. */
async function faultsOf(patterns: readonly Text[]): Promise<(string | undefined)[]> {
  const shares = Array.from({ length: THREADS }, (_, n) => patterns.filter((_one, at) => at % THREADS === n));
  const found = await Promise.all(shares.map(checked));
  return patterns.map((_, at) => found[at % THREADS]?.[Math.floor(at / THREADS)]);
}

function checked(workerData: readonly Text[]): Promise<(string | undefined)[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('pattern-checker.mjs', import.meta.url), { workerData });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the checker ended with ${code}`)));
  });
}

describe('the checker', () => {
  it('finds what is not linear, and what it cannot decide', async () => {
    const sources = ['^\\d+\\.?\\d*$', '\\s+$', '^(a+)+$', '^(a*)b\\1$', '^\\d+(?:\\.\\d*)?$'];
    expect(await faultsOf(sources.map((source) => ({ source, flags: '' })))).toEqual([
      expect.stringContaining('2nd degree polynomial'),
      expect.stringContaining('2nd degree polynomial'),
      expect.stringContaining('exponential'),
      expect.stringContaining('cannot be decided'),
      undefined,
    ]);
  });
});

describe('the regular expressions of the source', () => {
  let literals: Pattern[] = [];
  let made: Made[] = [];
  let loaded: Pattern[] = [];
  beforeAll(async () => {
    ({ literals, made } = patternsOf());
    loaded = await madeOnLoad([...new Set(made.map(({ file }) => file))]);
  });

  it('are found', () => {
    expect(literals.length).toBeGreaterThan(250);
  });

  it('are made of texts only while a module is loaded: never of a text from outside', () => {
    expect(made.filter(({ isInFunction }) => isInFunction).map(({ file, line }) => `${file}:${line}`)).toEqual([]);
    const filesOf = (of: readonly { file: string }[]) => of.map(({ file }) => file).toSorted();
    expect(filesOf(loaded)).toEqual(filesOf(made));
  });

  it('take time linear in the length of the text', { timeout: 240_000 }, async () => {
    const all = [...new Map([...literals, ...loaded].map((one) => [`/${one.source}/${one.flags}`, one])).entries()];
    const found = await faultsOf(all.map(([, { source, flags }]) => ({ source, flags })));
    const faults = all.flatMap(([key, { file, line }], at) =>
      found[at] === undefined ? [] : [`src/${file}:${line} ${key}: ${found[at]}`],
    );
    expect(faults).toEqual([]);
  });
});
