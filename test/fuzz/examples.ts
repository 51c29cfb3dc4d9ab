/** Functions of one list. */
const OF_LIST = `array_reverse array_reverse_sort array_sort array_to_json array_pop_back array_pop_front array_value
  list_avg list_any_value list_bit_and list_bit_or list_bit_xor list_count list_entropy
  list_first list_histogram list_kurtosis list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode
  list_product list_reverse list_sem list_skewness list_stddev_pop list_stddev_samp list_string_agg list_sum
  list_var_pop list_var_samp array_distinct array_unique array_length grade_up array_grade_up list_value unpivot_list`;
/** Functions of a list and an item. */
const OF_ITEM = `array_append array_push_back array_push_front list_append array_has array_contains array_indexof array_position
  list_contains list_has list_indexof list_position array_extract element_at list_element list_extract array_resize
  list_resize`;
/** Functions of an enumeration. */
const OF_ENUM = 'enum_code enum_first enum_last enum_range';
/** Functions of the values and weights of rows. */
const OF_WEIGHTS = 'wavg weighted_avg';

const each = (names: string, sql: (name: string) => string) =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => [name, sql(name)] as const);

/** Calls that signatures alone do not lead to, so that each allowed function runs at least once. */
const CALLS: readonly (readonly [string, string])[] = [
  ...each(OF_LIST, (name) => `${name}([1, 2, 3])`),
  ...each(OF_ITEM, (name) => `${name}([1, 2, 3], 2)`),
  ...each('array_prepend list_prepend', (name) => `${name}(1, [2])`),
  ...each('list_bool_and list_bool_or', (name) => `${name}([true, false])`),
  ...each(OF_ENUM, (name) => `${name}('a'::ENUM('a', 'b'))`),
  ...each(OF_WEIGHTS, (name) => `SELECT ${name}(i, i) FROM range(5) t(i)`),
  ...each('geomean geometric_mean', (name) => `${name}(2)`),
  ...each('round_even roundbankers', (name) => `${name}(1.25, 1)`),
  ...each('map_contains map_extract map_extract_value', (name) => `${name}(MAP {'a': 1}, 'a')`),
  ...each(
    'from_json from_json_strict json_transform json_transform_strict',
    (name) => `${name}('{"a": 1}', '{"a": "INTEGER"}')`,
  ),
  ...each('aggregate array_aggr array_aggregate list_aggr list_aggregate', (name) => `${name}([1, 2], 'sum')`),
  ...each(
    'array_where list_where array_select list_select',
    (name) => `${name}([1, 2], ${/where/.test(name) ? '[true, false]' : '[1]'})`,
  ),
  ...each('fdiv fmod mod', (name) => `${name}(7, 2)`),
  ...each('md5_number_lower md5_number_upper md5_number', (name) => `${name}('a')`),
  ...each('histogram_exact', (name) => `SELECT ${name}(n, [0, 1, 2]) FROM fuzz.small`),
  ...each('quantile quantile_cont quantile_disc', (name) => `SELECT ${name}(n, 0.5) FROM fuzz.small`),
  ...each('array_to_string array_join', (name) => `${name}(['a', 'b'], ',')`),
  ['!__postfix', '(3 !)'],
  ['->', `'{"a": 1}'::JSON -> 'a'`],
  ['->>', `'{"a": 1}'::JSON ->> 'a'`],
  ['||', "'a' || 'b'"],
  ['bitstring_agg', 'SELECT bitstring_agg(i, 0, 10) FROM range(5) t(i)'],
  ['ntile', 'SELECT ntile(2) OVER (ORDER BY i) FROM range(5) t(i)'],
  ['array_cross_product', 'array_cross_product([1, 2, 3]::FLOAT[3], [3, 2, 1]::FLOAT[3])'],
  ['enum_range_boundary', "enum_range_boundary('a'::ENUM('a', 'b'), 'b'::ENUM('a', 'b'))"],
  ['generate_subscripts', 'generate_subscripts([1, 2], 1)'],
  ['map_contains_entry', "map_contains_entry(MAP {'a': 1}, 'a', 1)"],
  ['map_contains_value', "map_contains_value(MAP {'a': 1}, 1)"],
  ['map_concat', "map_concat(MAP {'a': 1}, MAP {'b': 2})"],
  ['map_from_entries', "map_from_entries([{'k': 'a', 'v': 1}])"],
  ['union_extract', "union_extract(union_value(x := 1), 'x')"],
  ['union_tag', 'union_tag(union_value(x := 1))'],
  ['union_value', 'union_value(x := 1)'],
  ['struct_pack', 'struct_pack(a := 1)'],
  ['struct_insert', "struct_insert({'a': 1}, b := 2)"],
  ['struct_update', "struct_update({'a': 1}, a := 2)"],
  ['struct_extract_at', "struct_extract_at(row(1, 'x'), 1)"],
  ['struct_concat', "struct_concat({'a': 1}, {'b': 2})"],
  ...each('struct_contains struct_has struct_indexof struct_position', (name) => `${name}(row(1, 2), 2)`),
  ['json_object', "json_object('a', 1)"],
  ['json_quote', "json_quote('a')"],
  ['json_merge_patch', `json_merge_patch('{"a": 1}', '{"b": 2}')`],
  ['row_to_json', "row_to_json({'a': 1})"],
  ['to_json', 'to_json([1])'],
  ['date_add', "date_add(DATE '2024-01-31', INTERVAL 1 DAY)"],
  ['date_diff', "date_diff('day', DATE '2024-01-01', DATE '2024-01-31')"],
  ['date_sub', "date_sub('day', DATE '2024-01-01', DATE '2024-01-31')"],
  ['datesub', "datesub('day', DATE '2024-01-01', DATE '2024-01-31')"],
  ['days_in_month', "days_in_month(DATE '2024-02-01')"],
  ['ago', 'ago(INTERVAL 1 DAY)'],
  ['strptime', "strptime('2024-01-31', '%Y-%m-%d')"],
  ['uuid_extract_timestamp', 'uuid_extract_timestamp(uuidv7())'],
  ['uuid_extract_version', 'uuid_extract_version(uuid())'],
  ...each('acos asin atanh', (name) => `${name}(0.5)`),
  ['factorial', 'factorial(5)'],
  ['get_bit', "get_bit('101'::BIT, 1)"],
  ['set_bit', "set_bit('101'::BIT, 1, 1)"],
  ['bitstring', "bitstring('101', 8)"],
  ['cast_to_type', "cast_to_type('1', 2)"],
  ['decode', "decode('a'::BLOB)"],
  ['error', 'error(NULL)'],
  ['from_base64', "from_base64('YQ==')"],
  ['from_binary', "from_binary('0110')"],
  ['unbin', "unbin('0110')"],
  ['unhex', "unhex('FF')"],
  ['get_type', 'get_type(1)::VARCHAR'],
  ['switch', "switch(1, MAP {1: 'a'}, 'b')"],
  ...each('greatest least', (name) => `${name}(1, 2)`),
  ...each('greatest_of_ least_of_', (name) => `${name}([1, 2])`),
  ...each('hamming mismatches', (name) => `${name}('abc', 'abd')`),
  ...each('like_escape ilike_escape not_like_escape not_ilike_escape', (name) => `${name}('a', 'a', '$')`),
  ['nullif', 'nullif(1, 2)'],
  ['parse_formatted_bytes', "parse_formatted_bytes('1 KB')"],
  ['pg_size_pretty', 'pg_size_pretty(1000)'],
  ['position', "position('b' IN 'abc')"],
  ['regexp_split_to_table', "regexp_split_to_table('a b', ' ')"],
  ['split_part', "split_part('a,b', ',', 1)"],
  ['to_base', 'to_base(42, 2)'],
  ['flatten', 'flatten([[1], [2]])'],
  ['unnest', 'unnest([1, 2])'],
  ['o_vals', `o_vals('{"a": 1}'::JSON)`],
  // What our own reading writes in the place of other forms.
  ...each('to_int_ try_to_int_', (name) => `${name}(1.9)`),
  ['sha512_of_hex_', "sha512_of_hex_('61')"],
  ['date_of_', 'date_of_(2024, 3, 1)'],
  ['time_of_', 'time_of_(12, 30, 0)'],
  ['try_time_of_', "try_time_of_('12:30:00')"],
  ['repeat_row', 'FROM repeat_row(1, 2, num_rows := 3)'],
  ['list_zip', 'list_zip([1], [2])'],
  ['array_zip', 'array_zip([1], [2])'],
  ...each('list_slice array_slice', (name) => `${name}([1, 2, 3], 1, 2)`),
];

export const EXAMPLES = CALLS.map(([name, sql]) => ({ name, sql, kind: 'scalar' as const }));
