import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineDiff } from '../../../src/mcp/tools/line-diff.ts';

const lines = (...all: string[]) => all.join('\n');

describe('lineDiff()', () => {
  it('is empty where nothing differs', () => {
    expect(lineDiff('a\nb', 'a\nb')).toBe('');
    expect(lineDiff('', '')).toBe('');
  });

  it('marks what goes and what comes, with what is around it', () => {
    expect(lineDiff('SELECT a\nFROM t\nWHERE x', 'SELECT a, b\nFROM t\nWHERE x')).toBe(
      lines('- SELECT a', '+ SELECT a, b', '  FROM t', '  WHERE x'),
    );
  });

  it('leaves out what is far from a change, visibly', () => {
    const long = Array.from({ length: 20 }, (_, n) => `l${n}`);
    const changed = long.with(10, 'new');
    expect(lineDiff(long.join('\n'), changed.join('\n'))).toBe(
      lines('…', '  l8', '  l9', '- l10', '+ new', '  l11', '  l12', '…'),
    );
  });

  it('does not take a line break of another kind for a change of every line', () => {
    expect(lineDiff('a\r\nb\r\nc', 'a\nx\nc')).toBe(lines('  a', '- b', '+ x', '  c'));
  });

  it('copes with texts too long to compare line by line', () => {
    const long = Array.from({ length: 1_500 }, (_, n) => `l${n}`).join('\n');
    expect(lineDiff(long, 'x').split('\n')).toHaveLength(1_501);
  });

  it('leads from one text to the other, for any two texts', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const diff = lineDiff(a.join('\n'), b.join('\n'));
        if (diff === '') return a.join() === b.join();
        // So short that nothing is left out.
        const steps = diff.split('\n').filter((step) => step !== '…');
        const left = steps.filter((step) => step.startsWith('-') || step.startsWith(' ')).map((step) => step.slice(2));
        const right = steps.filter((step) => step.startsWith('+') || step.startsWith(' ')).map((step) => step.slice(2));
        const ends = (whole: string[], part: string[]) => whole.join().includes(part.join());
        return ends(a, left) && ends(b, right);
      }),
    );
  });
});
