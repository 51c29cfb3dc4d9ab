/**
 * Functions and types of other SQL dialects, and what to write instead.
 *
 * Of a function it is an example, which a test runs: `a` and `b` are texts, `n` a number, `t` a time, `l` a list, `j` JSON,
 * and `x` and `y` anything.
 */
const FUNCTIONS = `
  !~*                       NOT regexp_matches(a, 'b+', 'i')
  add_months                t + INTERVAL 1 MONTH
  approx_count_distinct     count(DISTINCT x)
  array_size                len(l)
  arrays_zip                list_zip(l, l)
  charindex                 strpos(a, 'part')
  collect_list              list(x)
  collect_set               list(DISTINCT x)
  convert                   CAST(x AS VARCHAR)
  convert_timezone          timezone('Europe/Berlin', t::TIMESTAMPTZ)
  convert_tz                timezone('Europe/Berlin', t::TIMESTAMPTZ)
  curdate                   current_date
  datalength                strlen(a)
  date_format               strftime(t, '%Y-%m-%d')
  dateadd                   t + INTERVAL 1 DAY
  datefromparts             make_date(2026, 1, 31)
  datetime_diff             date_diff('day', t, t)
  datetime_trunc            date_trunc('day', t)
  div                       n // 2
  explode                   unnest(l)
  explode_outer             unnest(l)
  field                     "a"
  from_utc_timestamp        timezone('Europe/Berlin', t::TIMESTAMPTZ)
  generate_array            generate_series(1, 3)
  generate_date_array       generate_series(t, t + INTERVAL 7 DAY, INTERVAL 1 DAY)
  generate_uuid             uuid()
  get_json_object           j->>'$.a'
  getdate                   now()
  hll                       count(DISTINCT x)
  id_hash                   md5(concat_ws('/', a, b))
  iff                       if(n > 1, x, y)
  iif                       CASE WHEN n > 1 THEN x ELSE y END
  initcap                   upper(a[1]) || lower(a[2:])
  isnull                    coalesce(x, y)
  json_agg                  json_group_array(x)
  json_array_elements       unnest(from_json(j, '["JSON"]'))
  json_array_elements_text  unnest(from_json(j, '["VARCHAR"]'))
  json_build_array          json_array(x, y)
  json_build_object         json_object('a', x, 'b', y)
  json_extract_scalar       j->>'$.a'
  json_query                j->'$.a'
  json_unquote              j->>'$'
  jsonb_agg                 json_group_array(x)
  jsonb_array_elements      unnest(from_json(j, '["JSON"]'))
  jsonb_array_elements_text  unnest(from_json(j, '["VARCHAR"]'))
  jsonb_build_object        json_object('a', x, 'b', y)
  jsonb_extract_path_text   j->>'$.a'
  jsonb_object_keys         unnest(json_keys(j))
  jsonb_typeof              json_type(to_json(x))
  list_approx_count_distinct  list_unique(l)
  locate                    strpos(a, 'part')
  mid                       substr(a, 1, 2)
  named_struct              {'a': x, 'b': y}
  ndv                       count(DISTINCT x)
  newid                     uuid()
  nvl                       coalesce(x, y)
  nvl2                      CASE WHEN x IS NOT NULL THEN x ELSE y END
  object_construct          {'a': x, 'b': y}
  object_keys               json_keys(to_json(x))
  parse_json                j::JSON
  percentile                quantile_cont(n, 0.5)
  percentile_approx         approx_quantile(n, 0.5)
  posexplode                unnest(l)
  random_uuid               uuid()
  ratio_to_report           n / sum(n) OVER ()
  regexp_contains           regexp_matches(a, 'b+')
  regexp_count              len(regexp_extract_all(a, 'b+'))
  regexp_instr              strpos(a, regexp_extract(a, 'b+'))
  regexp_substr             regexp_extract(a, 'b+')
  safe_divide               n / nullif(n, 0)
  safe_offset               l[1]
  safe_ordinal              l[1]
  sha2                      sha256(a)
  size                      len(l)
  sort_array                list_sort(l)
  stdev                     stddev(n)
  str                       n::VARCHAR
  str_to_date               strptime(a, '%Y-%m-%d')
  string                    x::VARCHAR
  struct                    {'a': x, 'b': y}
  substring_index           split_part(a, ',', 1)
  sysdate                   now()
  sysdatetime               now()
  timestamp_add             t + INTERVAL 1 DAY
  timestamp_diff            date_sub('day', t, t)
  timestamp_sub             t - INTERVAL 1 DAY
  timestamp_trunc           date_trunc('day', t)
  timestampadd              t + INTERVAL 1 DAY
  timestampdiff             date_sub('day', t, t)
  to_char                   strftime(t, '%Y-%m-%d')
  to_date                   strptime(a, '%Y-%m-%d')::DATE
  to_number                 CAST(n AS DOUBLE)
  to_string                 x::VARCHAR
  to_varchar                x::VARCHAR
  try_to_date               TRY_CAST(a AS DATE)
  try_to_number             TRY_CAST(a AS DOUBLE)
  try_to_timestamp          TRY_CAST(a AS TIMESTAMP)
  unix_timestamp            epoch(t)
  ~*                        regexp_matches(a, 'b+', 'i')
`;

/** What to write instead of functions that turn the items of a list into rows. */
export const UNNEST_INSTEAD = 'Write FROM t, UNNEST(t.items) AS u(item), and item or item.field.';

/** The same for the fields of an object. */
export const EACH_INSTEAD =
  "Write FROM t, json_each(t.o) AS e, with e.key and e.value, which is JSON; as text (e.value->>'$').";

/** Functions of text search, which cannot be had, with what comes nearest. */
export const SEARCH_INSTEAD: ReadonlyMap<string, string> = new Map([
  ['search', "Filter with WHERE: contains(lower(a), 'word'), or list_has_all(TOKENIZE(a), ['two', 'words'])"],
  ['has_term', "Write list_contains(TOKENIZE(a), 'word')"],
  ['proximity', "Write regexp_matches(lower(a), 'one .{0,20}two')"],
  ['boost', "Order by a sum: ORDER BY 2 * list_contains(TOKENIZE(a), 'word')::INT DESC"],
  ['score', "Order by a sum of what matches: ORDER BY list_contains(TOKENIZE(a), 'word')::INT DESC"],
]);

/** Examples of what to write, by name in lower case. */
export const WRITTEN_INSTEAD = new Map<string, string>();

for (const line of FUNCTIONS.trim().split('\n')) {
  const [name = '', example = ''] = line.trim().split(/\s{2,}/);
  WRITTEN_INSTEAD.set(name, example);
}

/** Types to write instead, by name in lower case. */
export const TYPES_INSTEAD: ReadonlyMap<string, string> = new Map([
  ['object', 'JSON'],
  ['jsonb', 'JSON'],
  ['float64', 'DOUBLE'],
  ['binary_double', 'DOUBLE'],
  ['number', 'DOUBLE, or DECIMAL(18, 2)'],
  ['unsigned', 'UBIGINT'],
  ['varchar2', 'VARCHAR'],
  ['clob', 'VARCHAR'],
  ['bytes', 'BLOB'],
  ['datetime2', 'TIMESTAMP'],
  ['timestamp_ntz', 'TIMESTAMP'],
  ['timestamp_ltz', 'TIMESTAMPTZ'],
  ['timestamp_tz', 'TIMESTAMPTZ'],
]);
