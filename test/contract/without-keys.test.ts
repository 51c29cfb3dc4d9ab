import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutWithoutKeys } from '../../src/contract/without-keys.ts';

const keyOf = (char: string) => `${char}9Zq`.padEnd(64, char);

describe('cutWithoutKeys()', () => {
  it('says how much is missing, and cuts nothing that fits', () => {
    expect(cutWithoutKeys('abc', 3)).toBe('abc');
    expect(cutWithoutKeys('abcd', 3)).toBe('abc…[+1]');
    expect(cutWithoutKeys('', 0)).toBe('');
  });

  it('shows nothing of a key after others that masks have shortened', () => {
    const earlier = `select '${keyOf('a')}', '${keyOf('b')}', '`;
    for (const at of [1_999, 2_000, 2_001, 2_064]) {
      const text = `${earlier.padEnd(at, ' ')}${keyOf('c')}' from t`;
      expect(cutWithoutKeys(text, 2_000)).not.toContain('9Zqcc');
    }
  });

  it('masks a key at any place of the cut, also one that ends the text', () => {
    const key = keyOf('k');
    for (let at = 0; at < 80; at++) {
      for (const rest of ['', "' tail"]) {
        const shown = cutWithoutKeys(`${"'".padStart(at)}${key}${rest}`, 70);
        expect(shown).not.toContain('9Zqk');
      }
    }
    expect(cutWithoutKeys(`a ${key}`, 10)).toBe('a k9Zq…');
    expect(cutWithoutKeys(`a ${key} b`, 10)).toBe('a k9Zq……[+2]');
  });

  it('shows no more than four characters of any key', () => {
    const piece = fc.oneof(
      fc.constantFrom(...'abcdefgh').map(keyOf),
      fc.string({ maxLength: 90 }).map((text) => text.replace(/[A-Za-z0-9]/g, '.')),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.integer({ min: 0, max: 400 }), (pieces, charsMax) => {
        expect(cutWithoutKeys(pieces.join(' '), charsMax)).not.toMatch(/[a-h]9Zq[a-h]/);
      }),
    );
  });
});
