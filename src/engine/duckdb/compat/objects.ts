import type { CompatFunction } from './entry.ts';

/** The fields of an object, as SQL. */
export const AS_MAP = (value: string) => `to_json(${value})::MAP(VARCHAR, JSON)`;

export const OBJECTS: readonly CompatFunction[] = [
  {
    name: 'OBJECT',
    macro: ['(k, v) AS to_json(map(k, v))'],
    example: "OBJECT(['a', 'b'], [1, 2])->>'$.b'",
    gives: '2',
    note: 'Gives JSON.',
  },
  {
    name: 'ELEMENT_AT',
    macro: ['(c, k) AS c[k]'],
    example: "ELEMENT_AT(['a', 'b'], 2)",
    gives: 'b',
    note: 'Position in an array, from 1, or key of a map or an object.',
  },
  { name: 'KEYS', macro: ['(o) AS json_keys(to_json(o))'], example: "KEYS({'a': 1, 'b': 2})", gives: ['a', 'b'] },
  {
    name: 'VALUES',
    example: "VALUES({'a': 1, 'b': 2})",
    gives: [1, 2],
    note: 'Gives JSON values. In parentheses of its own, VALUES (…) is a list of rows.',
  },
  {
    name: 'ITEMS',
    macro: [`(o) AS list_transform(map_entries(${AS_MAP('o')}), lambda e: [to_json(e['key']), e['value']])`],
    example: "ITEMS({'a': 1})",
    gives: [['a', 1]],
    note: 'Gives JSON pairs.',
  },
  {
    name: 'MERGE',
    macro: [
      `(a, b) AS to_json(map_concat(${AS_MAP('a')}, ${AS_MAP('b')}))`,
      `(a, b, c) AS to_json(map_concat(${AS_MAP('a')}, ${AS_MAP('b')}, ${AS_MAP('c')}))`,
    ],
    example: "MERGE({'a': 1, 'b': 2}, {'b': 3})->>'$.b'",
    gives: '3',
    note: 'Gives JSON; up to three objects, a field of a later one counts.',
  },
  {
    name: 'ERASE',
    macro: [`(o, k) AS to_json(map_from_entries(list_filter(map_entries(${AS_MAP('o')}), lambda e: e['key'] <> k)))`],
    example: "KEYS(ERASE({'a': 1, 'b': 2}, 'a'))",
    gives: ['b'],
    note: 'Gives JSON.',
  },
  { name: 'JSON_PARSE', macro: ['(t) AS CAST(t AS JSON)'], example: `JSON_PARSE('{"a":1}')->>'$.a'`, gives: '1' },
  { name: 'JSON_FORMAT', macro: ['(v) AS to_json(v)::VARCHAR'], example: "JSON_FORMAT({'a': 1})", gives: '{"a":1}' },
  {
    name: 'TO_JSON_STRING',
    listedWith: 'JSON_FORMAT',
    macro: ['(v) AS to_json(v)::VARCHAR'],
    example: 'TO_JSON_STRING([1, 2])',
    gives: '[1,2]',
  },
].map((one) => ({ group: 'Objects and JSON', ...one }));
