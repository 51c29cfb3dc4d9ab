import { type CompatFunction, once } from './entry.ts';
import { FORMAT_TIME, FORMAT_TIMESTAMP, formatAs, PARSE_TIMESTAMP, parseAs } from './formats.ts';

/** Stand for DATE(…) and TIME(…), whose names are those of types. */
export const DATE_OF = 'date_of_';
export const TIME_OF = 'time_of_';
export const TRY_TIME_OF = 'try_time_of_';
/** That of a moment in UTC: the engine casts no time with a zone to one of day. */
const timeOf = (cast: string) =>
  `(t) AS CASE WHEN system.main.typeof(t) = 'TIMESTAMP WITH TIME ZONE' THEN TRY_CAST(TRY_CAST(t AS TIMESTAMP) AS TIME)
    ELSE ${cast}(t AS TIME) END`;
export const TIME_MACROS: readonly (readonly [string, readonly string[]])[] = [
  [DATE_OF, ['(t, z) AS timezone(z, t::TIMESTAMPTZ)::DATE', '(y, m, d) AS make_date(y, m, d)']],
  [
    TIME_OF,
    [timeOf('CAST'), '(h, m, s) AS make_time(h, m, s::DOUBLE)', '(h, m, s, us) AS make_time(h, m, s + us / 1000000.0)'],
  ],
  [TRY_TIME_OF, [timeOf('TRY_CAST')]],
];

const INTERVALS: CompatFunction[] = [
  ['MICROS', 'to_microseconds'],
  ['MICROSECONDS', 'to_microseconds'],
  ['MILLIS', 'to_milliseconds'],
  ['MILLISECONDS', 'to_milliseconds'],
  ['SECONDS', 'to_seconds'],
  ['MINUTES', 'to_minutes'],
  ['HOURS', 'to_hours'],
  ['DAYS', 'to_days'],
  ['WEEKS', 'to_weeks'],
  ['MONTHS', 'to_months'],
  ['YEARS', 'to_years'],
].map(([name = '', renamed = '']) => ({
  group: 'Time',
  name,
  renamed,
  ...(name === 'DAYS' ? {} : { listedWith: 'DAYS' }),
  example: `TIMESTAMP '2024-03-01' + ${name}(1) > TIMESTAMP '2024-03-01'`,
  gives: true,
}));

/** A count of microseconds, without what is less than one unit. */
const DURATIONS: CompatFunction[] = [
  ['MICROS', 1],
  ['MILLIS', 1_000],
  ['SECONDS', 1_000_000],
  ['MINUTES', 60_000_000],
  ['HOURS', 3_600_000_000],
  ['DAYS', 86_400_000_000],
  ['WEEKS', 604_800_000_000],
].map(([unit, micros]) => ({
  group: 'Time',
  name: `DURATION_${unit}`,
  ...(unit === 'MICROS' ? {} : { listedWith: 'DURATION_MICROS' }),
  macro: [`(i) AS trunc(epoch_us(i) / ${micros})::BIGINT`],
  example: `DURATION_${unit}(${unit}(2))`,
  gives: 2,
}));
const MONTHS_OF = "(date_part('year', p.i) * 12 + date_part('month', p.i))";
for (const [unit, value] of [
  ['MONTHS', MONTHS_OF],
  ['YEARS', `trunc(${MONTHS_OF} / 12)::BIGINT`],
] as const) {
  DURATIONS.push({
    group: 'Time',
    name: `DURATION_${unit}`,
    listedWith: 'DURATION_MICROS',
    macro: [once('i', value)],
    example: `DURATION_${unit}(${unit}(2))`,
    gives: 2,
  });
}

/** A duration of ISO 8601, or a number of the unit; the parts are letters with what they count for. */
function parsedDuration(name: string, pattern: string, parts: readonly string[], unit: string): string {
  const part = (index: number) =>
    `coalesce(TRY_CAST(system.main.regexp_extract(p.t, '${pattern}', ${index + 1}) AS DOUBLE), 0)`;
  const sum = parts.map((factor, index) => `${part(index)} * ${factor}`).join(' + ');
  const whole = (value: string) => (unit === 'to_months' ? `CAST(trunc(${value}) AS INTEGER)` : value);
  return once(
    't',
    `CASE WHEN p.t IS NULL THEN NULL WHEN TRY_CAST(p.t AS DOUBLE) IS NOT NULL THEN ${unit}(${whole('TRY_CAST(p.t AS DOUBLE)')})
      WHEN system.main.regexp_matches(p.t, '${pattern}') AND length(p.t) > 2 THEN ${unit}(${whole(sum)})
      ELSE error('${name}: "' || p.t || '" is no duration such as ${name.endsWith('MONTHS') ? 'P1Y2M' : 'P1DT2H3M4.5S'}.') END`,
  );
}
const SIGNED = '([-+]?[0-9]+(?:[.][0-9]+)?)';

export const TIMES: readonly CompatFunction[] = [
  {
    name: 'CURRENT_TIMESTAMP',
    listedWith: 'CURRENT_DATETIME',
    macro: ['() AS get_current_timestamp()'],
    example: 'CURRENT_TIMESTAMP() = CURRENT_TIMESTAMP',
    gives: true,
  },
  {
    name: 'CURRENT_DATETIME',
    macro: ["() AS timezone('UTC', get_current_timestamp())", '(z) AS timezone(z, get_current_timestamp())'],
    example: "CURRENT_DATETIME('UTC') = CURRENT_DATETIME()",
    gives: true,
  },
  {
    name: 'CURRENT_DATE',
    listedWith: 'CURRENT_DATETIME',
    macro: [
      "() AS timezone('UTC', get_current_timestamp())::DATE",
      '(z) AS timezone(z, get_current_timestamp())::DATE',
    ],
    example: "CURRENT_DATE('UTC') = CURRENT_DATE",
    gives: true,
  },
  {
    name: 'CURRENT_TIME',
    listedWith: 'CURRENT_DATETIME',
    macro: [
      "() AS timezone('UTC', get_current_timestamp())::TIME",
      '(z) AS timezone(z, get_current_timestamp())::TIME',
    ],
    example: "CURRENT_TIME('UTC') = CURRENT_TIME()",
    gives: true,
  },
  ...INTERVALS,
  ...DURATIONS,
  {
    name: 'PARSE_DURATION_SECONDS',
    macro: [
      parsedDuration(
        'PARSE_DURATION_SECONDS',
        `^P(?:${SIGNED}D)?(?:T(?:${SIGNED}H)?(?:${SIGNED}M)?(?:${SIGNED}S)?)?$`,
        ['86400', '3600', '60', '1'],
        'to_seconds',
      ),
    ],
    example: "DURATION_SECONDS(PARSE_DURATION_SECONDS('PT1H5S'))",
    gives: 3605,
    note: 'Of a duration as ISO 8601 has it, or of a number.',
  },
  {
    name: 'PARSE_DURATION_MONTHS',
    listedWith: 'PARSE_DURATION_SECONDS',
    macro: [parsedDuration('PARSE_DURATION_MONTHS', `^P(?:${SIGNED}Y)?(?:${SIGNED}M)?$`, ['12', '1'], 'to_months')],
    example: "DURATION_MONTHS(PARSE_DURATION_MONTHS('P1Y2M'))",
    gives: 14,
  },
  {
    name: 'TIME_BUCKET',
    example: "TIME_BUCKET(HOURS(6), TIMESTAMP '2024-03-01 07:30:00')",
    gives: '2024-03-01T06:00:00.000000',
  },
  {
    name: 'PARSE_TIMESTAMP',
    macro: PARSE_TIMESTAMP,
    example: "PARSE_TIMESTAMP('%d/%m/%Y', '31/12/2023')",
    gives: '2023-12-31T00:00:00.000000Z',
    note: 'UTC, or the time zone of the third argument, unless the text has one. All of these take %F %T %R %D %e %h %s %z %Ez %Z %E*S %E3S beside what strftime and strptime take (%s: FORMAT only).',
  },
  {
    name: 'PARSE_DATETIME',
    listedWith: 'PARSE_TIMESTAMP',
    macro: parseAs('TIMESTAMP'),
    example: "PARSE_DATETIME('%Y-%m-%d %H', '2024-03-01 07')",
    gives: '2024-03-01T07:00:00.000000',
  },
  {
    name: 'PARSE_DATE',
    listedWith: 'PARSE_TIMESTAMP',
    macro: parseAs('DATE'),
    example: "PARSE_DATE('%Y/%m/%d', '2024/03/01')",
    gives: '2024-03-01',
  },
  {
    name: 'PARSE_TIME',
    listedWith: 'PARSE_TIMESTAMP',
    macro: parseAs('TIME'),
    example: "PARSE_TIME('%H:%M', '12:30')",
    gives: '12:30:00',
  },
  {
    name: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::TIMESTAMPTZ'],
    example: "PARSE_TIMESTAMP_ISO8601('2024-03-01T07:00:00+01:00')",
    gives: '2024-03-01T06:00:00.000000Z',
  },
  {
    name: 'PARSE_DATETIME_ISO8601',
    listedWith: 'PARSE_TIMESTAMP_ISO8601',
    macro: [
      once(
        't',
        `CASE WHEN regexp_matches(p.t::VARCHAR, '[T ].*[-+][0-9]{2}(:?[0-9]{2})?\\s*$')
          THEN error('PARSE_DATETIME_ISO8601 takes text without an offset from UTC: use PARSE_TIMESTAMP_ISO8601.')
          ELSE p.t::TIMESTAMP END`,
      ),
    ],
    example: "PARSE_DATETIME_ISO8601('2024-03-01T07:00:00')",
    gives: '2024-03-01T07:00:00.000000',
  },
  {
    name: 'PARSE_DATE_ISO8601',
    listedWith: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::DATE'],
    example: "PARSE_DATE_ISO8601('2024-03-01')",
    gives: '2024-03-01',
  },
  {
    name: 'PARSE_TIME_ISO8601',
    listedWith: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::TIME'],
    example: "PARSE_TIME_ISO8601('12:30:00')",
    gives: '12:30:00',
  },
  {
    name: 'FORMAT_TIMESTAMP',
    macro: FORMAT_TIMESTAMP,
    example: "FORMAT_TIMESTAMP('%H:%M', TIMESTAMPTZ '2024-03-01 06:00:00+00', 'Europe/Berlin')",
    gives: '07:00',
  },
  {
    name: 'FORMAT_DATETIME',
    listedWith: 'FORMAT_TIMESTAMP',
    macro: formatAs('TIMESTAMP'),
    example: "FORMAT_DATETIME('%d.%m.%Y', TIMESTAMP '2024-03-01 06:00:00')",
    gives: '01.03.2024',
  },
  {
    name: 'FORMAT_DATE',
    listedWith: 'FORMAT_TIMESTAMP',
    macro: formatAs('DATE'),
    example: "FORMAT_DATE('%Y', DATE '2024-03-01')",
    gives: '2024',
  },
  {
    name: 'FORMAT_TIME',
    listedWith: 'FORMAT_TIMESTAMP',
    macro: FORMAT_TIME,
    example: "FORMAT_TIME('%H:%M', TIME '06:30:00')",
    gives: '06:30',
  },
  {
    name: 'FORMAT_ISO8601',
    macro: [
      `(t) AS CASE WHEN system.main.typeof(t) IN ('DATE', 'TIME') THEN CAST(t AS VARCHAR)
        ELSE strftime(TRY_CAST(t AS TIMESTAMPTZ), '%Y-%m-%dT%H:%M:%S.%fZ') END`,
    ],
    example: "FORMAT_ISO8601(TIMESTAMPTZ '2024-03-01 06:00:00+00')",
    gives: '2024-03-01T06:00:00.000000Z',
  },
  {
    name: 'UNIX_MILLIS',
    macro: ["(t) AS epoch_us(date_trunc('millisecond', t::TIMESTAMPTZ)) // 1000"],
    example: "UNIX_MILLIS(TIMESTAMP '1970-01-02')",
    gives: 86400000,
  },
  {
    name: 'UNIX_MICROS',
    listedWith: 'UNIX_MILLIS',
    macro: ['(t) AS epoch_us(t::TIMESTAMPTZ)'],
    example: "UNIX_MICROS(TIMESTAMP '1970-01-01 00:00:01')",
    gives: 1000000,
  },
  {
    name: 'UNIX_SECONDS',
    listedWith: 'UNIX_MILLIS',
    macro: ["(t) AS epoch_us(date_trunc('second', t::TIMESTAMPTZ)) // 1000000"],
    example: "UNIX_SECONDS(TIMESTAMP '1970-01-01 00:01:00')",
    gives: 60,
  },
  {
    name: 'UNIX_DATE',
    listedWith: 'UNIX_MILLIS',
    macro: ["(d) AS date_diff('day', DATE '1970-01-01', d::DATE)"],
    example: "UNIX_DATE(DATE '1970-02-01')",
    gives: 31,
  },
  {
    name: 'DATE_FROM_UNIX_DATE',
    listedWith: 'TIMESTAMP_SECONDS',
    macro: ["(n) AS DATE '1970-01-01' + n::INTEGER"],
    example: 'DATE_FROM_UNIX_DATE(31)',
    gives: '1970-02-01',
  },
  {
    name: 'TIMESTAMP_MILLIS',
    listedWith: 'TIMESTAMP_SECONDS',
    macro: ["(n) AS timezone('UTC', make_timestamp_ms(n::BIGINT))"],
    example: 'TIMESTAMP_MILLIS(1500)',
    gives: '1970-01-01T00:00:01.500000Z',
  },
  {
    name: 'TIMESTAMP_MICROS',
    listedWith: 'TIMESTAMP_SECONDS',
    macro: ["(n) AS timezone('UTC', make_timestamp(n::BIGINT))"],
    example: 'TIMESTAMP_MICROS(1000000)',
    gives: '1970-01-01T00:00:01.000000Z',
  },
  {
    name: 'TIMESTAMP_SECONDS',
    macro: ['(n) AS to_timestamp(n)'],
    example: 'TIMESTAMP_SECONDS(60)',
    gives: '1970-01-01T00:01:00.000000Z',
  },
  {
    name: 'FROM_UNIXTIME',
    listedWith: 'TIMESTAMP_SECONDS',
    renamed: 'to_timestamp',
    example: 'FROM_UNIXTIME(60)',
    gives: '1970-01-01T00:01:00.000000Z',
  },
  {
    name: 'DATE',
    example: "DATE(2024, 3, 1) = DATE(TIMESTAMPTZ '2024-02-29 23:30:00+00', 'Europe/Berlin')",
    gives: true,
    note: 'Of year, month and day; or the day of a moment, in UTC or in a time zone.',
  },
  {
    name: 'TIME',
    listedWith: 'DATE',
    example: "TIME(12, 30, 0) = TIME(TIMESTAMPTZ '2024-03-01 12:30:00+00')",
    gives: true,
  },
  {
    name: 'DATETIME',
    macro: [
      "(t) AS timezone('UTC', t::TIMESTAMPTZ)",
      '(t, z VARCHAR) AS timezone(z, t::TIMESTAMPTZ)',
      '(d DATE, t TIME) AS d + t',
      '(y, mo, d, h, mi, s) AS make_timestamp(y, mo, d, h, mi, s::DOUBLE)',
      '(y, mo, d, h, mi, s, us) AS make_timestamp(y, mo, d, h, mi, s + us / 1000000.0)',
    ],
    example: "DATETIME(TIMESTAMPTZ '2024-03-01 06:00:00+00', 'Europe/Berlin')",
    gives: '2024-03-01T07:00:00.000000',
  },
].map((one) => ({ group: 'Time', ...one }));
