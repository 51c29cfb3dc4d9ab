import { type CompatFunction, once } from './entry.ts';

/** The fields of an object as a map of JSON. Null fields are left out: null and missing are the same. */
export const fieldsOf = (value: string): string =>
  `map_from_entries(list_filter(map_entries(to_json(${value})::MAP(VARCHAR, JSON)),
    lambda e: coalesce(json_type(e['value']), 'NULL') <> 'NULL'))`;

/** A key, or an array of keys, as a list. */
const KEYS_OF = (value: string) =>
  `coalesce(TRY_CAST(to_json(${value}) AS VARCHAR[]), [TRY_CAST(${value} AS VARCHAR)])`;

const LETTERS = 'abcdefgh';
/** One overload for each number of objects. */
const MERGED = Array.from({ length: LETTERS.length - 1 }, (_, index) => {
  const names = LETTERS.slice(0, index + 2).split('');
  return `(${names.join(', ')}) AS to_json(map_concat(${names.map(fieldsOf).join(', ')}))`;
});

export const OBJECTS: readonly CompatFunction[] = [
  {
    name: 'OBJECT',
    macro: ["() AS '{}'::JSON", `(k, v) AS to_json(map(k, from_json(to_json(v), '["JSON"]')))`],
    example: "OBJECT(['a', 'b'], [1, 2])->>'$.b'",
    gives: '2',
    note: 'Gives JSON.',
  },
  {
    name: 'ELEMENT_AT',
    macro: ['(c, k) AS c[k]'],
    example: "ELEMENT_AT(['a', 'b'], 2)",
    gives: 'b',
    note: 'Position in an array, from 1 (in one of JSON, from 0), or key of a map or an object.',
  },
  {
    name: 'KEYS',
    macro: [`(o) AS map_keys(${fieldsOf('o')})`],
    example: "KEYS({'a': 1, 'b': 2})",
    gives: ['a', 'b'],
    note: 'Without fields that are null, like VALUES and ITEMS: null and missing are the same.',
  },
  {
    name: 'VALUES',
    example: "VALUES({'a': 1, 'b': 2})",
    gives: [1, 2],
    note: 'Gives JSON values. In parentheses of its own, VALUES (…) is a list of rows.',
  },
  {
    name: 'ITEMS',
    macro: [`(o) AS list_transform(map_entries(${fieldsOf('o')}), lambda e: [to_json(e['key']), e['value']])`],
    example: "ITEMS({'a': 1})",
    gives: [['a', 1]],
    note: 'Gives JSON pairs.',
  },
  {
    name: 'MERGE',
    macro: MERGED,
    example: "MERGE({'a': 1, 'b': 2}, {'b': 3})->>'$.b'",
    gives: '3',
    note: 'Gives JSON; up to eight objects, a field of a later one counts, unless it is null: null and missing are the same.',
  },
  {
    name: 'ERASE',
    macro: [
      once(
        'o k',
        `to_json(map_from_entries(list_filter(map_entries(${fieldsOf('p.o')}), lambda e: NOT coalesce(list_contains(${KEYS_OF('p.k')}, e['key']), false))))`,
      ),
    ],
    example: "KEYS(ERASE({'a': 1, 'b': 2, 'c': 3}, ['a', 'b']))",
    gives: ['c'],
    note: 'Gives JSON, without a key or an array of keys.',
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
