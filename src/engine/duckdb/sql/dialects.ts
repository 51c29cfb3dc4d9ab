/**
 * Functions of other SQL dialects, what to write instead, and the same call with its own arguments.
 *
 * What to write is an example, which a test runs: `a` and `b` are texts, `n` a number, `t` a time, `l` a list, `j` JSON, and
 * `x` and `y` anything; `-`: the engine has a function of this name, or the line before says it.
 *
 * In a call `{1}` is its first argument, `{*}` all. What an argument may be is for the engine to say; of several lines the
 * first that is valid counts. `{part}` is a part of a time, a word, as text; `{unit}` the same as a word, `{format}` a format
 * in the engine's own form, `{zone}` the name of a time zone, `{in}` is in brackets already; `{json}` is JSON from a
 * call; `{utc}` and `{one}` have to be UTC and 1. What is no call is put into brackets.
 */
const FUNCTIONS = `
  !~*                       NOT regexp_matches(a, 'b+', 'i')
  add_months                t + INTERVAL 1 MONTH                          {1} + {2} * INTERVAL 1 MONTH
  approx_count_distinct     count(DISTINCT x)                             count(DISTINCT {1})
  array_size                len(l)                                        len({1})
  arrays_zip                list_zip(l, l)                                list_zip({*})
  charindex                 strpos(a, 'part')                             strpos({2}, {1})
  collect_list              list(x)                                       list({1})
  collect_set               list(DISTINCT x)                              list(DISTINCT {1})
  convert                   CAST(x AS VARCHAR)
  convert_timezone          timezone('Europe/Berlin', t::TIMESTAMPTZ)     timezone({zone 1}, CAST({2} AS TIMESTAMPTZ))
  convert_timezone          -                                             timezone({zone 2}{utc 1}, CAST({3} AS TIMESTAMPTZ))
  convert_tz                timezone('Europe/Berlin', t::TIMESTAMPTZ)     timezone({zone 3}{utc 2}, CAST({1} AS TIMESTAMPTZ))
  curdate                   current_date                                  current_date
  datalength                strlen(a)                                     strlen({1})
  date_add                  -                                             {1} + {2}
  date_diff                 -                                             date_diff({part 3}, {2}, {1})
  date_format               strftime(t, '%Y-%m-%d')                       strftime({1}, {format 2})
  date_sub                  -                                             {1} - {2}
  date_trunc                -                                             date_trunc({part 2}, {1})
  dateadd                   t + INTERVAL 1 DAY                            {3} + INTERVAL ({in 2}) {unit 1}
  datediff                  -                                             date_diff('day', {2}, {1})
  datediff                  -                                             date_diff({part 1}, {2}, {3})
  datefromparts             make_date(2026, 1, 31)
  datetime_diff             date_diff('day', t, t)                        date_diff({part 3}, {2}, {1})
  datetime_trunc            date_trunc('day', t)                          date_trunc({part 2}, {1})
  div                       n // 2                                        {1} // {2}
  explode                   unnest(l)                                     unnest({1})
  explode_outer             unnest(l)
  field                     "a"
  from_unixtime             -                                             strftime(to_timestamp({1}), {format 2})
  from_utc_timestamp        timezone('Europe/Berlin', t::TIMESTAMPTZ)     timezone({zone 2}, CAST({1} AS TIMESTAMPTZ))
  generate_array            generate_series(1, 3)                         generate_series({*})
  generate_date_array       generate_series(t, t + INTERVAL 7 DAY, INTERVAL 1 DAY)
  generate_uuid             uuid()                                        uuid()
  get_json_object           j->>'$.a'                                     json_extract_string({1}, {2})
  getdate                   now()                                         now()
  hll                       count(DISTINCT x)                             count(DISTINCT {1})
  id_hash                   md5(concat_ws('/', a, b))
  iff                       if(n > 1, x, y)                               if({1}, {2}, {3})
  iif                       CASE WHEN n > 1 THEN x ELSE y END             if({1}, {2}, {3})
  initcap                   upper(a[1]) || lower(a[2:])
  isnull                    coalesce(x, y)                                coalesce({1}, {2})
  json_agg                  json_group_array(x)                           json_group_array({1})
  json_array_elements       unnest(from_json(j, '["JSON"]'))              unnest({1})
  json_array_elements_text  unnest(from_json(j, '["VARCHAR"]'))
  json_build_array          json_array(x, y)                              json_array({*})
  json_build_object         json_object('a', x, 'b', y)                   json_object({*})
  json_extract_scalar       j->>'$.a'                                     json_extract_string({1}, {2})
  json_query                j->'$.a'                                      json_extract({1}, {2})
  json_unquote              j->>'$'                                       json_extract_string({json 1}, '$')
  jsonb_agg                 json_group_array(x)                           json_group_array({1})
  jsonb_array_elements      unnest(from_json(j, '["JSON"]'))              unnest({1})
  jsonb_array_elements_text unnest(from_json(j, '["VARCHAR"]'))
  jsonb_build_object        json_object('a', x, 'b', y)                   json_object({*})
  jsonb_extract_path_text   j->>'$.a'                                     json_extract_string({1}, {2})
  jsonb_object_keys         unnest(json_keys(j))                          unnest(json_keys({1}))
  jsonb_typeof              json_type(to_json(x))                         json_type(to_json({1}))
  list_approx_count_distinct  list_unique(l)                              list_unique({1})
  locate                    strpos(a, 'part')                             strpos({2}, {1})
  mid                       substr(a, 1, 2)                               substr({*})
  named_struct              {'a': x, 'b': y}
  ndv                       count(DISTINCT x)                             count(DISTINCT {1})
  newid                     uuid()                                        uuid()
  nvl                       coalesce(x, y)                                coalesce({1}, {2})
  nvl2                      CASE WHEN x IS NOT NULL THEN x ELSE y END     CASE WHEN {1} IS NOT NULL THEN {2} ELSE {3} END
  object_construct          {'a': x, 'b': y}                              json_object({*})
  object_keys               json_keys(to_json(x))                         json_keys(to_json({1}))
  parse_json                j::JSON                                       CAST({1} AS JSON)
  percentile                quantile_cont(n, 0.5)                         quantile_cont({1}, {2})
  percentile_approx         approx_quantile(n, 0.5)                       approx_quantile({1}, {2})
  posexplode                unnest(l)
  random_uuid               uuid()                                        uuid()
  ratio_to_report           n / sum(n) OVER ()
  regexp_contains           regexp_matches(a, 'b+')                       regexp_matches({1}, {2})
  regexp_count              len(regexp_extract_all(a, 'b+'))              len(regexp_extract_all({1}, {2}))
  regexp_instr              strpos(a, regexp_extract(a, 'b+'))
  regexp_substr             regexp_extract(a, 'b+')                       regexp_extract({1}, {2})
  safe_divide               n / nullif(n, 0)                              {1} / nullif({2}, 0)
  safe_offset               l[1]
  safe_ordinal              l[1]
  sha2                      sha256(a)
  size                      len(l)                                        len({1})
  sort_array                list_sort(l)                                  list_sort({1})
  stdev                     stddev(n)                                     stddev({1})
  str                       n::VARCHAR                                    CAST({1} AS VARCHAR)
  str_to_date               strptime(a, '%Y-%m-%d')                       strptime({1}, {format 2})
  string                    x::VARCHAR                                    CAST({1} AS VARCHAR)
  struct                    {'a': x, 'b': y}
  substring_index           split_part(a, ',', 1)                         split_part({1}, {2}, {one 3})
  sysdate                   now()                                         now()
  sysdatetime               now()
  timestamp_add             t + INTERVAL 1 DAY                            {1} + {2}
  timestamp_diff            date_sub('day', t, t)                         date_sub({part 3}, {2}, {1})
  timestamp_sub             t - INTERVAL 1 DAY                            {1} - {2}
  timestamp_trunc           date_trunc('day', t)                          date_trunc({part 2}, {1})
  timestampadd              t + INTERVAL 1 DAY                            {3} + INTERVAL ({in 2}) {unit 1}
  timestampdiff             date_sub('day', t, t)                         date_sub({part 1}, {2}, {3})
  to_char                   strftime(t, '%Y-%m-%d')                       strftime({1}, {format 2})
  to_date                   strptime(a, '%Y-%m-%d')::DATE                 CAST({1} AS DATE)
  to_date                   -                                             CAST(strptime({1}, {format 2}) AS DATE)
  to_number                 CAST(n AS DOUBLE)                             CAST({1} AS DOUBLE)
  to_string                 x::VARCHAR                                    CAST({1} AS VARCHAR)
  to_timestamp              -                                             strptime({1}, {format 2})
  to_varchar                x::VARCHAR                                    CAST({1} AS VARCHAR)
  try_to_date               TRY_CAST(a AS DATE)
  try_to_number             TRY_CAST(a AS DOUBLE)
  try_to_timestamp          TRY_CAST(a AS TIMESTAMP)
  unix_timestamp            epoch(t)                                      epoch({1})
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
/** Templates of the same call, by name in lower case: likeliest first. */
export const SAME_CALLS = new Map<string, string[]>();

for (const line of FUNCTIONS.trim().split('\n')) {
  const [name = '', example = '-', template] = line.trim().split(/\s{2,}/);
  if (example !== '-') WRITTEN_INSTEAD.set(name, example);
  if (template !== undefined) SAME_CALLS.set(name, [...(SAME_CALLS.get(name) ?? []), template]);
}
