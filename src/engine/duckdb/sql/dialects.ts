/**
 * Functions of other SQL dialects, and what to write instead. In the expressions `a` and `b` are texts, `n` a number,
 * `t` a time, `l` a list, `j` JSON, and `x` and `y` anything; a test runs each.
 */
const INSTEAD = `
  add_months                  t + INTERVAL 1 MONTH
  array_size                  len(l)
  arrays_zip                  list_zip(l, l)
  charindex                   strpos(a, 'part')
  collect_list                list(x)
  collect_set                 list(DISTINCT x)
  convert                     CAST(x AS VARCHAR)
  curdate                     current_date
  date_format                 strftime(t, '%Y-%m-%d')
  dateadd                     t + INTERVAL 1 DAY
  datefromparts               make_date(2026, 1, 31)
  datetime_diff               date_diff('day', t, t)
  datetime_trunc              date_trunc('day', t)
  datalength                  strlen(a)
  explode                     unnest(l)
  explode_outer               unnest(l)
  generate_array              generate_series(1, 3)
  generate_date_array         generate_series(t, t + INTERVAL 7 DAY, INTERVAL 1 DAY)
  generate_uuid               uuid()
  get_json_object             j->>'$.a'
  getdate                     now()
  hll                         approx_count_distinct(x)
  id_hash                     md5(concat_ws('/', a, b))
  iff                         if(n > 1, x, y)
  iif                         CASE WHEN n > 1 THEN x ELSE y END
  initcap                     upper(a[1]) || lower(a[2:])
  isnull                      coalesce(x, y)
  json_array_elements         unnest(from_json(j, '["JSON"]'))
  json_array_elements_text    unnest(from_json(j, '["VARCHAR"]'))
  json_extract_scalar         j->>'$.a'
  json_query                  j->'$.a'
  jsonb_array_elements        unnest(from_json(j, '["JSON"]'))
  jsonb_array_elements_text   unnest(from_json(j, '["VARCHAR"]'))
  jsonb_object_keys           unnest(json_keys(j))
  locate                      strpos(a, 'part')
  mid                         substr(a, 1, 2)
  named_struct                {'a': x, 'b': y}
  ndv                         approx_count_distinct(x)
  newid                       uuid()
  nvl                         coalesce(x, y)
  nvl2                        CASE WHEN x IS NOT NULL THEN x ELSE y END
  object_construct            {'a': x, 'b': y}
  object_keys                 json_keys(to_json(x))
  parse_json                  j::JSON
  percentile                  quantile_cont(n, 0.5)
  percentile_approx           approx_quantile(n, 0.5)
  posexplode                  unnest(l)
  random_uuid                 uuid()
  ratio_to_report             n / sum(n) OVER ()
  regexp_contains             regexp_matches(a, 'b+')
  regexp_count                len(regexp_extract_all(a, 'b+'))
  regexp_instr                strpos(a, regexp_extract(a, 'b+'))
  regexp_substr               regexp_extract(a, 'b+')
  safe_divide                 n / nullif(n, 0)
  safe_offset                 l[1]
  safe_ordinal                l[1]
  sha2                        sha256(a)
  size                        len(l)
  sort_array                  list_sort(l)
  stdev                       stddev(n)
  str                         n::VARCHAR
  str_to_date                 strptime(a, '%Y-%m-%d')
  string                      x::VARCHAR
  struct                      {'a': x, 'b': y}
  substring_index             split_part(a, ',', 1)
  sysdate                     now()
  sysdatetime                 now()
  timestamp_add               t + INTERVAL 1 DAY
  timestamp_diff              date_sub('day', t, t)
  timestamp_sub               t - INTERVAL 1 DAY
  timestamp_trunc             date_trunc('day', t)
  timestampadd                t + INTERVAL 1 DAY
  timestampdiff               date_sub('day', t, t)
  to_char                     strftime(t, '%Y-%m-%d')
  to_date                     strptime(a, '%Y-%m-%d')::DATE
  to_number                   CAST(n AS DOUBLE)
  to_string                   x::VARCHAR
  to_varchar                  x::VARCHAR
  unix_timestamp              epoch(t)
  ~*                          regexp_matches(a, 'b+', 'i')
  !~*                         NOT regexp_matches(a, 'b+', 'i')
`;

/** What to write instead of functions that turn the items of a list into rows. */
export const UNNEST_INSTEAD = 'Write FROM t, UNNEST(t.items) AS u(item), and item or item.field.';

/** Functions of text search, which cannot be had, with what comes nearest. */
export const SEARCH_INSTEAD: ReadonlyMap<string, string> = new Map([
  ['search', "Filter with WHERE: contains(lower(a), 'word'), or list_has_all(TOKENIZE(a), ['two', 'words'])"],
  ['has_term', "Write list_contains(TOKENIZE(a), 'word')"],
  ['proximity', "Write regexp_matches(lower(a), 'one .{0,20}two')"],
  ['boost', "Order by a sum: ORDER BY 2 * list_contains(TOKENIZE(a), 'word')::INT DESC"],
  ['score', "Order by a sum of what matches: ORDER BY list_contains(TOKENIZE(a), 'word')::INT DESC"],
]);

/** By name in lower case. */
export const WRITTEN_INSTEAD: ReadonlyMap<string, string> = new Map(
  INSTEAD.trim()
    .split('\n')
    .map((line): [string, string] => {
      const [name = '', ...rest] = line.trim().split(/\s{2,}/);
      return [name, rest.join(' ')];
    }),
);
