import { type CompatFunction, once } from './entry.ts';
import { HASHES } from './hashes.ts';

/** A hundred grams from each piece of the text: finding a position in a long text takes as long as walking to it. */
const gramsOf = (n: string) =>
  `flatten(list_transform(list_transform(range(0, system.main.greatest(length(p.t) - ${n} + 1, 0), 100),
    lambda i: substr(p.t, i + 1, 99 + ${n})),
    lambda s: list_transform(range(1, length(s) - ${n} + 2), lambda i: substr(s, i, ${n}))))`;
/** Rows are computed 2,048 at a time, which cannot be interrupted. */
const bounded = (from: string, to: string, grams: string) =>
  `CASE WHEN p.t IS NULL THEN NULL
    WHEN ${from} < 1 THEN error('ngrams(): a gram has at least one character.')
    WHEN ${to} > 20 OR strlen(p.t)::HUGEINT * (${to} - ${from} + 1) > 10000
    THEN error('ngrams(): the limit is 20 characters each, of a text of 10,000 bytes: of 5,000 for two lengths, and so on.')
    ELSE ${grams} END`;

export const STRINGS: readonly CompatFunction[] = [
  { name: 'REGEXP_LIKE', renamed: 'regexp_matches', example: "REGEXP_LIKE('abc', '^a.c$')", gives: true },
  {
    name: 'REGEXP_EXTRACT',
    example: "REGEXP_EXTRACT('abc', '[0-9]+')",
    gives: null,
    note: "Null without a match, or for an empty one, where DuckDB alone gives ''.",
  },
  {
    name: 'REGEXP_REPLACE',
    example: "REGEXP_REPLACE('a1b2', '[0-9]', '#')",
    gives: 'a#b#',
    note: "Replaces all matches, where DuckDB alone replaces the first; '' as the fourth argument replaces the first, and with two arguments all are removed.",
  },
  { name: 'REGEXP_SPLIT', renamed: 'string_split_regex', example: "REGEXP_SPLIT('a, b', ',\\s*')", gives: ['a', 'b'] },
  {
    name: 'SPLIT',
    macro: [
      '(t, d) AS string_split(t, d)',
      once(
        't d n',
        `list_transform([string_split(p.t, p.d)], lambda l: CASE WHEN p.n < 1 THEN error('SPLIT: a limit is positive.')
          WHEN len(l) <= p.n THEN l
          ELSE list_append(l[:p.n - 1], substr(p.t, list_sum(list_transform(l[:p.n - 1],
            lambda piece: length(piece) + length(p.d)))::BIGINT + 1)) END)[1]`,
      ),
    ],
    example: "SPLIT('a,b,c', ',', 2)",
    gives: ['a', 'b,c'],
    note: 'With a third argument, into at most so many pieces.',
  },
  { name: 'STRPOS', example: "STRPOS('abc', 'c')", gives: 3 },
  {
    name: 'TOKENIZE',
    macro: [
      "(t) AS regexp_extract_all(lower(t), '[\\p{L}\\p{N}]+')",
      "(t, locale) AS regexp_extract_all(lower(t), '[\\p{L}\\p{N}]+')",
    ],
    example: "TOKENIZE('Hello, World!')",
    gives: ['hello', 'world'],
    note: 'Words of letters and digits in lower case; a locale is ignored.',
  },
  {
    name: 'NGRAMS',
    macro: [
      once('t n', bounded('p.n', 'p.n', gramsOf('p.n'))),
      once(
        't a b',
        bounded(
          'p.a',
          'p.b',
          `flatten(list_transform(range(p.a::BIGINT, p.b::BIGINT + 1), lambda n: ${gramsOf('n')}))`,
        ),
      ),
    ],
    example: "NGRAMS('abc', 2)",
    gives: ['ab', 'bc'],
    note: 'Of characters; with three arguments of all lengths from the second to the third. At most 20 each, of 10,000 bytes (of 5,000 for two lengths, and so on).',
  },
  {
    name: 'NORMALIZE',
    macro: [
      '(t) AS nfc_normalize(t)',
      once(
        't f',
        "CASE WHEN upper(p.f) = 'NFC' THEN nfc_normalize(p.t) ELSE error('NORMALIZE: only the form NFC is available.') END",
      ),
    ],
    example: "NORMALIZE('a', 'NFC')",
    gives: 'a',
    note: 'Only the form NFC.',
  },
  { name: 'REPLACE', example: "REPLACE('aXb', 'X')", gives: 'ab', note: 'With two arguments it removes.' },
  ...HASHES,
  { name: 'TO_UTF8', renamed: 'encode', example: "hex(TO_UTF8('ä'))", gives: 'C3A4' },
  { name: 'FROM_UTF8', listedWith: 'TO_UTF8', renamed: 'decode', example: "FROM_UTF8(TO_UTF8('ä'))", gives: 'ä' },
  {
    name: 'LEVENSHTEIN_DISTANCE',
    renamed: 'levenshtein',
    example: "LEVENSHTEIN_DISTANCE('abc', 'abd')",
    gives: 1,
  },
].map((one) => ({ group: 'Strings and regular expressions', ...one }));
