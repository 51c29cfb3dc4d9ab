import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Made, madeOnLoad, type Pattern, patternsOf } from './patterns.ts';

/*
 * One thread serves everybody, and a pattern that backtracks holds it for as long as a stranger's text wants: so every
 * regular expression of the source is proven to take time linear in the text, by `recheck`, in its form that is pure
 * JavaScript (package.json puts an empty package in place of its Java and native forms). A pattern that the checker
 * cannot decide counts as one that it refuted: write it more plainly, or scan the text.
 */

type Verdict =
  | { status: 'safe' }
  | { status: 'unknown'; error: { kind: string } }
  | { status: 'vulnerable'; complexity: { summary: string }; attack: { pattern: string } };

type Check = (
  source: string,
  flags: string,
  parameters: { checker: 'automaton'; timeout: number; recallTimeout: number },
) => Verdict;

const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js') as { checkSync: Check };

/** One pattern takes milliseconds; this is for a machine that does something else at the time. */
const TIMEOUT_MS = 60_000;

function faultOf({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string | undefined {
  // Without running an attack to confirm it: what is proven needs none.
  const verdict = checkSync(source, flags, { checker: 'automaton', timeout: TIMEOUT_MS, recallTimeout: -1 });
  if (verdict.status === 'safe') return undefined;
  if (verdict.status === 'unknown') return `it cannot be decided (${verdict.error.kind})`;
  return `${verdict.complexity.summary} for ${verdict.attack.pattern}`;
}

describe('the checker', () => {
  it('finds what is not linear, and what it cannot decide', () => {
    expect(faultOf({ source: '^\\d+\\.?\\d*$', flags: '' })).toContain('2nd degree polynomial');
    expect(faultOf({ source: '\\s+$', flags: '' })).toContain('2nd degree polynomial');
    expect(faultOf({ source: '^(a+)+$', flags: '' })).toContain('exponential');
    expect(faultOf({ source: '^(a*)b\\1$', flags: '' })).toContain('cannot be decided');
    expect(faultOf({ source: '^\\d+(?:\\.\\d*)?$', flags: '' })).toBeUndefined();
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

  it('take time linear in the length of the text', { timeout: 240_000 }, () => {
    const checked = new Map<string, string | undefined>();
    const faults = [...literals, ...loaded].flatMap(({ file, line, source, flags }) => {
      const key = `/${source}/${flags}`;
      if (!checked.has(key)) checked.set(key, faultOf({ source, flags }));
      const fault = checked.get(key);
      return fault === undefined ? [] : [`src/${file}:${line} ${key}: ${fault}`];
    });
    expect(faults).toEqual([]);
  });
});
