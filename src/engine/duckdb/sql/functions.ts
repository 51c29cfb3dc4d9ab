import { COMPAT_MACROS } from './compat.ts';
import { STOPPABLE } from './guards.ts';

/**
 * The functions that SQL may call: an allowlist, so a function that a new version of the engine adds is refused until
 * somebody has looked at it (a test compares these lists with what the engine has).
 *
 * Left out on purpose: everything that reads or writes files, settings, secrets, variables, logs, sequences, other
 * queries or the catalog (all of `pg_*`, and `current_*` that name internals); what parses or runs SQL from a string;
 * what sleeps; what reads raw bytes as an internal format; helpers of the optimizer; what recurses into JSON without a
 * limit (json_group_structure, all of variant_*), which deep text can crash; and list_reduce, whose value can double
 * with each item.
 */
const OPERATORS = `
  !__postfix !~~ !~~* % & && * ** + - ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~ ->
`;

const AGGREGATES_AND_WINDOWS = `
  any_value approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_max_nulls_last
  arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor bitstring_agg bool_and
  bool_or corr count count_if count_star countif covar_pop covar_samp cume_dist dense_rank entropy favg fill first
  first_value fsum group_concat histogram histogram_exact kahan_sum kurtosis kurtosis_pop lag last last_value lead
  list listagg mad max max_by mean median min min_by mode nth_value ntile percent_rank product quantile quantile_cont
  quantile_disc rank rank_dense regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
  regr_syy reservoir_quantile row_number sem skewness stddev stddev_pop stddev_samp string_agg sum
  sumkahan var_pop var_samp variance
`;

const LISTS_AND_MAPS = `
  aggregate apply array_aggr array_aggregate array_append array_apply array_cat array_concat array_contains
  array_cosine_distance array_cosine_similarity array_cross_product array_distance array_distinct array_dot_product
  array_extract array_filter array_grade_up array_has array_has_all array_has_any array_indexof array_inner_product
  array_intersect array_length array_negative_dot_product array_negative_inner_product array_pop_back array_pop_front
  array_position array_prepend array_push_back array_push_front array_resize array_reverse
  array_reverse_sort array_select array_slice array_sort array_to_json array_to_string array_transform array_unique
  array_value array_where array_zip cardinality element_at enum_code enum_first enum_last enum_range
  enum_range_boundary filter flatten generate_series generate_subscripts grade_up len list_aggr list_aggregate
  list_any_value list_append list_apply list_avg list_bit_and list_bit_or list_bit_xor
  list_bool_and list_bool_or list_cat list_concat list_contains list_cosine_distance list_cosine_similarity list_count
  list_distance list_distinct list_dot_product list_element list_entropy list_extract list_filter list_first
  list_grade_up list_has list_has_all list_has_any list_histogram list_indexof list_inner_product list_intersect
  list_kurtosis list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode list_negative_dot_product
  list_negative_inner_product list_pack list_position list_prepend list_product list_resize list_reverse
  list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop list_stddev_samp
  list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where list_zip map
  map_concat map_contains map_contains_entry map_contains_value map_entries map_extract map_extract_value
  map_from_entries map_keys map_values range repeat row struct_concat struct_contains struct_extract
  struct_extract_at struct_has struct_indexof struct_insert struct_keys struct_pack struct_position struct_update
  struct_values union_extract union_tag union_value unpivot_list unnest
`;

const JSONS = `
  from_json from_json_strict json json_array json_array_length json_contains json_exists json_extract
  json_extract_path json_extract_path_text json_extract_string json_group_array json_group_object
  json_keys json_merge_patch json_object json_pretty json_quote json_structure json_transform json_transform_strict
  json_type json_valid json_value row_to_json to_json
`;

const TIME = `
  age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part date_sub
  date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month decade epoch
  epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour isoyear julian last_day make_date
  make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz microsecond millennium millisecond
  minute month monthname nanosecond normalized_interval now quarter second strftime strptime time_bucket timezone
  timezone_hour timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
  to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp try_strptime
  uuid_extract_timestamp week weekday weekofyear year yearweek
`;

const NUMBERS = `
  abs acos acosh add asin asinh atan atan2 atanh bit_count bit_length bit_position cbrt ceil ceiling cos cosh cot
  degrees divide equi_width_bins even exp factorial fdiv floor fmod gamma gcd geomean geometric_mean get_bit
  greatest_common_divisor is_histogram_other_bin isfinite isinf isnan lcm least_common_multiple lgamma ln log log10
  log2 mod multiply nextafter pi pow power radians random round round_even roundbankers set_bit sign signbit sin sinh
  sqrt subtract tan tanh trunc wavg weighted_avg xor
`;

const TEXT = `
  alias ascii base64 bin bitstring can_cast_implicitly cast_to_type char_length character_length chr concat concat_ws
  contains current_role current_schema current_user damerau_levenshtein decode editdist3 encode ends_with error format
  format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex gen_random_uuid get_type
  greatest hamming hash hex icu_sort_key ilike_escape instr isodow jaccard jaro_similarity jaro_winkler_similarity
  lcase least left left_grapheme length length_grapheme levenshtein like_escape lower lpad ltrim md5 md5_number
  md5_number_lower md5_number_upper mismatches nfc_normalize not_ilike_escape not_like_escape nullif octet_length ord
  parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path pg_size_pretty pg_typeof position prefix
  printf regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
  regexp_split_to_array regexp_split_to_table replace replace_type reverse right right_grapheme rpad rtrim
  session_user sha1 sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
  string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix switch to_base to_base64
  to_binary to_hex translate trim typeof ucase unbin unhex unicode upper url_decode url_encode user uuid
  uuid_extract_version uuidv4 uuidv7 version bar
`;

/**
 * Functions that return tables. `repeat` and others are also scalar functions of the same name, so the lists are
 * separate.
 */
const TABLES = `
  generate_series json_each json_tree range repeat_row unnest
`;

function namesIn(...lists: string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((list) => list.trim().split(/\s+/)));
}

/** Scalar, aggregate and window functions and macros that SQL may call, in lower case. */
export const SCALAR_FUNCTIONS: ReadonlySet<string> = new Set([
  ...namesIn(OPERATORS, AGGREGATES_AND_WINDOWS, LISTS_AND_MAPS, JSONS, TIME, NUMBERS, TEXT),
  ...COMPAT_MACROS.keys(),
]);

/** Functions of many rows, which also stand in windows. */
export const AGGREGATES: ReadonlySet<string> = namesIn(AGGREGATES_AND_WINDOWS, 'count_if');

/** Functions whose result may be a struct, list or map made of their arguments. */
export const NESTING_FUNCTIONS: ReadonlySet<string> = namesIn(
  AGGREGATES_AND_WINDOWS,
  LISTS_AND_MAPS,
  STOPPABLE,
  '+ || @ add cast_to_type concat error from_json from_json_strict greatest json_transform json_transform_strict least nullif replace_type switch',
);

/** Functions that SQL may use as tables, in lower case. */
export const TABLE_FUNCTIONS = namesIn(TABLES);
