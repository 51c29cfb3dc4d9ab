import { wordOf } from '../forms/edit.ts';
import { tokenList } from '../token-list.ts';
import { formatHere } from './format-codes.ts';

/**
 * Calls of other SQL dialects, and the same call here: `{1}` is its first argument, `{*}` all. What an argument may be is
 * for the engine to say; of several the first that is valid counts. `{part}` is a part of a time, a word, as text; `{unit}`
 * the same as a word, `{format}` a format in the engine's own form, `{in}` is in brackets already. What is no call is put into brackets.
 */
const CALLS = `
  add_months             {1} + {2} * INTERVAL 1 MONTH
  array_size             len({1})
  arrays_zip             list_zip({*})
  charindex              strpos({2}, {1})
  collect_list           list({1})
  collect_set            list(DISTINCT {1})
  curdate                current_date
  date_format            strftime({1}, {format 2})
  dateadd                {3} + INTERVAL ({in 2}) {unit 1}
  date_add               {1} + {2}
  date_sub               {1} - {2}
  date_trunc             date_trunc({part 2}, {1})
  date_diff              date_diff({part 3}, {2}, {1})
  datediff               date_diff('day', {2}, {1})
  datediff               date_diff({part 1}, {2}, {3})
  datetime_diff          date_diff({part 3}, {2}, {1})
  datetime_trunc         date_trunc({part 2}, {1})
  datalength             strlen({1})
  explode                unnest({1})
  generate_array         generate_series({*})
  generate_uuid          uuid()
  get_json_object        json_extract_string({1}, {2})
  getdate                now()
  hll                    approx_count_distinct({1})
  iff                    if({1}, {2}, {3})
  iif                    if({1}, {2}, {3})
  isnull                 coalesce({1}, {2})
  json_array_elements    unnest({1})
  json_extract_scalar    json_extract_string({1}, {2})
  json_query             json_extract({1}, {2})
  jsonb_array_elements   unnest({1})
  jsonb_object_keys      unnest(json_keys({1}))
  locate                 strpos({2}, {1})
  mid                    substr({*})
  ndv                    approx_count_distinct({1})
  newid                  uuid()
  nvl                    coalesce({1}, {2})
  nvl2                   CASE WHEN {1} IS NOT NULL THEN {2} ELSE {3} END
  object_keys            json_keys(to_json({1}))
  parse_json             CAST({1} AS JSON)
  percentile             quantile_cont({1}, {2})
  percentile_approx      approx_quantile({1}, {2})
  random_uuid            uuid()
  regexp_contains        regexp_matches({1}, {2})
  regexp_count           len(regexp_extract_all({1}, {2}))
  regexp_substr          regexp_extract({1}, {2})
  safe_divide            {1} / nullif({2}, 0)
  size                   len({1})
  sort_array             list_sort({1})
  stdev                  stddev({1})
  str                    CAST({1} AS VARCHAR)
  str_to_date            strptime({1}, {format 2})
  string                 CAST({1} AS VARCHAR)
  sysdate                now()
  timestamp_add          {1} + {2}
  timestamp_diff         date_sub({part 3}, {2}, {1})
  timestamp_sub          {1} - {2}
  timestamp_trunc        date_trunc({part 2}, {1})
  timestampadd           {3} + INTERVAL ({in 2}) {unit 1}
  timestampdiff          date_sub({part 1}, {2}, {3})
  to_char                strftime({1}, {format 2})
  to_date                CAST({1} AS DATE)
  to_date                CAST(strptime({1}, {format 2}) AS DATE)
  to_number              CAST({1} AS DOUBLE)
  to_string              CAST({1} AS VARCHAR)
  to_varchar             CAST({1} AS VARCHAR)
  unix_timestamp         epoch({1})
`;

const TEMPLATES = new Map<string, string[]>();
for (const line of CALLS.trim().split('\n')) {
  const [name = '', ...rest] = line.trim().split(/\s{2,}/);
  TEMPLATES.set(name, [...(TEMPLATES.get(name) ?? []), rest.join(' ')]);
}

const PART = /^'?(year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?'?$/i;

/** Whether a word is a part of a time. */
export const isPart = (word: string) => PART.test(word);

/** The same calls here, likeliest first; none if there are none for so many arguments. */
export function callsHere(name: string, args: readonly string[]): string[] {
  const folded = name.toLowerCase();
  return (TEMPLATES.get(folded) ?? []).flatMap((template) => filled(folded, template, args) ?? []);
}

/** Whether brackets around it change nothing: a name, a number, a text, a call, an interval. */
function isWhole(text: string): boolean {
  const list = tokenList(text);
  if (wordOf(list[0]) === 'interval') return list.length <= 3;
  let end = 0;
  // A path, and what is called or indexed by it.
  while (end < list.length && !/^[([]$/.test(list[end]?.text ?? '')) {
    const isDot = list[end]?.text === '.';
    if (isDot !== (end % 2 === 1)) return false;
    end += 1;
  }
  while (end < list.length && /^[([]$/.test(list[end]?.text ?? '')) end = list.closeOf(end) + 1;
  return end === list.length;
}

/** An argument in a form of a template; undefined: it is none of that form. */
function inForm(form: string, arg: string, name: string): string | undefined {
  if (form === 'in') return arg;
  if (form === 'format') return formatHere(name, arg);
  const part = PART.exec(arg)?.[1]?.toLowerCase();
  return form === 'part' ? part && `'${part}'` : part?.toUpperCase();
}

function filled(name: string, template: string, args: readonly string[]): string | undefined {
  const isCall = /^\w+\(.*\)$/.test(template);
  const operand = (text: string) => (isCall || isWhole(text) ? text : `(${text})`);
  let isComplete = true;
  let most = 0;
  const text = template.replace(/\{(?:([a-z]+) )?(\d|\*)\}/g, (_, form: string | undefined, place: string) => {
    if (place === '*') {
      most = args.length;
      return args.join(', ');
    }
    most = Math.max(most, Number(place));
    const arg = args[Number(place) - 1] ?? '';
    const value = form === undefined ? operand(arg) : inForm(form, arg, name);
    if (value === undefined || value === '') isComplete = false;
    return value ?? '';
  });
  if (!isComplete || most !== args.length) return undefined;
  return isCall || /^\w+$/.test(text) ? text : `(${text})`;
}
