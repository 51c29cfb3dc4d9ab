import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distinctText, shownEscape, visibleJson, visibleText } from '../../src/contract/visible.ts';
import { hiddenIn } from '../mcp/injections.ts';

describe('visibleText()', () => {
  it.each([
    ['NUL', 'a\u0000b', 'a\\u0000b'],
    ['bell', 'a\u0007b', 'a\\u0007b'],
    ['escape sequence lead', 'a\u001b[31mb', 'a\\u001b[31mb'],
    ['delete', 'a\u007fb', 'a\\u007fb'],
    ['carriage return', 'a\rb', 'a\\u000db'],
    ['next line', 'a\u0085b', 'a\\u0085b'],
    ['soft hyphen', 'a\u00adb', 'a\\u00adb'],
    ['zero-width space', 'a\u200bb', 'a\\u200bb'],
    ['joiners between letters that do not join', 'a\u200cb\u200dc', 'a\\u200cb\\u200dc'],
    ['mark of direction', 'a\u200eb\u200fc\u061cd', 'a\\u200eb\\u200fc\\u061cd'],
    ['bidirectional override', 'a\u202eb', 'a\\u202eb'],
    ['isolate', 'a\u2066b', 'a\\u2066b'],
    ['line separator', 'a\u2028b', 'a\\u2028b'],
    ['word joiner', 'a\u2060b', 'a\\u2060b'],
    ['byte order mark', 'a\ufeffb', 'a\\ufeffb'],
    ['Hangul filler', 'a\u3164b', 'a\\u3164b'],
    ['variation selector of no emoji', 'a\ufe0fb\u{e0100}', 'a\\ufe0fb\\u{e0100}'],
    ['selector behind a selector', '❤\ufe0f\ufe0f', '❤\ufe0f\\ufe0f'],
    ['selector of a digit that is no keycap', '1\ufe0f', '1\\ufe0f'],
    ['tag characters', 'a\u{e0041}\u{e0042}b', 'a\\u{e0041}\\u{e0042}b'],
    ['tags behind a flag that is none', '🏴\u{e0064}\u{e007f}', '🏴\\u{e0064}\\u{e007f}'],
    ['joiner behind an emoji', '👨\u200dx', '👨\\u200dx'],
    ['joiners in a row', 'م\u200c\u200cن', 'م\\u200c\\u200cن'],
    ['joiner at the end of a word', 'م\u200c ن', 'م\\u200c ن'],
    ['joiner behind a hidden mark', 'ن\ufe0f\u20e3\u200dक', 'ن\\ufe0f\u20e3\\u200dक'],
    ['joiner behind marks of no letter', '\u094d\u064e\u200cक', '\u094d\u064e\\u200cक'],
  ])('shows a %s as an escape', (_, text, shown) => {
    expect(visibleText(text)).toBe(shown);
    expect(visibleText(shown)).toBe(shown);
  });

  it.each([
    ['text', 'tab\tline\nfeed\r\n', 'Zoë — 日本語 العربية', '<data-1234> "quotes" \\u0041 \\n'],
    ['Persian', 'می‌خواهم', 'کتاب\u064e\u200cها'],
    ['Indic joiners', 'क्‍ष', 'র‌্য', 'അവന്‍ വന്നു', 'ශ්‍රී'],
    ['emoji sequences', '👨‍👩‍👧', '👩🏽‍🚀', '🏳️‍🌈', '❤️‍🔥', '👁️‍🗨️', '🧑🏻‍❤️‍💋‍🧑🏿', '☺︎ ☺️'],
    ['keycaps and flags', '1️⃣ #️⃣', '🇩🇪', '🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿'],
  ])('leaves %s as it is', (_, ...texts) => {
    for (const text of texts) expect(visibleText(text)).toBe(text);
  });

  it('sums up runs, so that they take little room', () => {
    expect(visibleText(`a${'\u200b'.repeat(5_000)}b`)).toBe('a\\u{200b×5000}b');
    const mixed = visibleText('\u200b\u200c'.repeat(5_000));
    expect(mixed).toMatch(/\\u\{…\+9968\}$/);
    expect(mixed.length).toBeLessThan(250);
  });

  it('replaces half a surrogate pair', () => {
    expect(visibleText('a\ud800b')).toBe('a\ufffdb');
  });

  const alphabet = fc.constantFrom(
    ...['a', '1', ' ', 'م', 'ن', 'क', '\u094d', '\u064e', '😀', '❤', '🏻', '🏴', '\u20e3', '\n', '\r', '\\', '\ud83d'],
    ...['\u200b', '\u200c', '\u200d', '\u200e', '\u202e', '\ufe0e', '\ufe0f', '\u{e0041}', '\u{e007f}', '\0', '\x1b'],
  );
  const texts = fc.array(alphabet, { maxLength: 24 }).map((parts) => parts.join(''));

  it('leaves nothing hidden in any text, nor two selectors or joiners in a row, and shows a text once', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const shown = visibleText(text);
        expect(hiddenIn(shown)).toBeUndefined();
        expect(shown).not.toMatch(/(?:\u200c|\u200d|\ufe0e)(?:\u200c|\ufe0e|\ufe0f)|\u200d\u200d|\ufe0f\ufe0f/);
        expect(visibleText(shown)).toBe(shown);
      }),
    );
  });

  it('shows texts that differ differently, unless one of them is an escape itself', () => {
    const plain = texts.filter((text) => !text.includes('\\') && !text.includes('\ud83d'));
    fc.assert(
      fc.property(plain, plain, (a, b) => {
        expect(visibleText(a) === visibleText(b)).toBe(a === b);
        expect(distinctText(a) === distinctText(b)).toBe(a === b);
      }),
    );
  });
});

describe('distinctText()', () => {
  it('shows also what a script needs, and spaces that look like another', () => {
    expect(distinctText('می\u200cخواهم 👨\u200d👩 a\u00a0b\nc')).toBe('می\\u200cخواهم 👨\\u200d👩 a\\u00a0b\nc');
    expect(visibleText(distinctText('a\u200b'))).toBe('a\\u200b');
  });
});

describe('visibleJson()', () => {
  it('is the same JSON with nothing hidden in it', () => {
    const value = { text: 'a\u200b\u{e0041}\u202e👨\u200d👩' };
    const shown = visibleJson(`${JSON.stringify(value)}\r\n`);
    expect(JSON.parse(shown)).toEqual(value);
    expect(hiddenIn(shown)).toBeUndefined();
  });
});

describe('shownEscape()', () => {
  it.each(['ac\\u200bct', 'ac\\u200Bct', '\\u{e0041}', '\\u{200b×5000}', '\\u{…+4968}', 'x\\u0000'])(
    'finds %s',
    (text) => {
      expect(shownEscape(text)).toBeDefined();
    },
  );

  it.each(['acct', 'ac\u200bct', '\\u0041', 'C:\\users\\u1234', '\\u{1f600}', '\\u{110000}'])(
    'finds none in %s',
    (text) => {
      expect(shownEscape(text)).toBeUndefined();
    },
  );
});
