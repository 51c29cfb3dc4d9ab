import { type CompatFunction, once } from './entry.ts';
import { FORMAT_TIMESTAMP, formatAs, PARSE_TIMESTAMP, parseAs } from './formats.ts';

const INTERVALS: CompatFunction[] = [
  ['MICROS', 'to_microseconds'],
  ['MILLIS', 'to_milliseconds'],
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

export const TIMES: readonly CompatFunction[] = [
  {
    name: 'CURRENT_TIMESTAMP',
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
    macro: [
      "() AS timezone('UTC', get_current_timestamp())::DATE",
      '(z) AS timezone(z, get_current_timestamp())::DATE',
    ],
    example: "CURRENT_DATE('UTC') = CURRENT_DATE",
    gives: true,
  },
  { name: 'INTERVAL', example: "TIMESTAMP '2024-02-28' + INTERVAL 2 DAY", gives: '2024-03-01T00:00:00.000000Z' },
  ...INTERVALS,
  {
    name: 'TIME_BUCKET',
    example: "TIME_BUCKET(HOURS(6), TIMESTAMP '2024-03-01 07:30:00')",
    gives: '2024-03-01T06:00:00.000000Z',
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
    macro: parseAs('TIMESTAMP'),
    example: "PARSE_DATETIME('%Y-%m-%d %H', '2024-03-01 07')",
    gives: '2024-03-01T07:00:00.000000Z',
  },
  {
    name: 'PARSE_DATE',
    macro: parseAs('DATE'),
    example: "PARSE_DATE('%Y/%m/%d', '2024/03/01')",
    gives: '2024-03-01',
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
    gives: '2024-03-01T07:00:00.000000Z',
  },
  {
    name: 'PARSE_DATE_ISO8601',
    listedWith: 'PARSE_TIMESTAMP_ISO8601',
    macro: ['(t) AS t::DATE'],
    example: "PARSE_DATE_ISO8601('2024-03-01')",
    gives: '2024-03-01',
  },
  {
    name: 'FORMAT_TIMESTAMP',
    macro: FORMAT_TIMESTAMP,
    example: "FORMAT_TIMESTAMP('%H:%M', TIMESTAMPTZ '2024-03-01 06:00:00+00', 'Europe/Berlin')",
    gives: '07:00',
  },
  {
    name: 'FORMAT_DATETIME',
    macro: formatAs('TIMESTAMP'),
    example: "FORMAT_DATETIME('%d.%m.%Y', TIMESTAMP '2024-03-01 06:00:00')",
    gives: '01.03.2024',
  },
  {
    name: 'FORMAT_DATE',
    macro: formatAs('DATE'),
    example: "FORMAT_DATE('%Y', DATE '2024-03-01')",
    gives: '2024',
  },
  {
    name: 'FORMAT_ISO8601',
    macro: ["(t) AS strftime(t::TIMESTAMPTZ, '%Y-%m-%dT%H:%M:%S.%fZ')"],
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
    macro: ['(t) AS epoch_us(t::TIMESTAMPTZ)'],
    example: "UNIX_MICROS(TIMESTAMP '1970-01-01 00:00:01')",
    gives: 1000000,
  },
  {
    name: 'UNIX_SECONDS',
    macro: ["(t) AS epoch_us(date_trunc('second', t::TIMESTAMPTZ)) // 1000000"],
    example: "UNIX_SECONDS(TIMESTAMP '1970-01-01 00:01:00')",
    gives: 60,
  },
  {
    name: 'UNIX_DATE',
    macro: ["(d) AS date_diff('day', DATE '1970-01-01', d::DATE)"],
    example: "UNIX_DATE(DATE '1970-02-01')",
    gives: 31,
  },
  {
    name: 'DATE_FROM_UNIX_DATE',
    macro: ["(n) AS DATE '1970-01-01' + n::INTEGER"],
    example: 'DATE_FROM_UNIX_DATE(31)',
    gives: '1970-02-01',
  },
  {
    name: 'TIMESTAMP_MILLIS',
    macro: ["(n) AS timezone('UTC', make_timestamp_ms(n::BIGINT))"],
    example: 'TIMESTAMP_MILLIS(1500)',
    gives: '1970-01-01T00:00:01.500000Z',
  },
  {
    name: 'TIMESTAMP_MICROS',
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
    name: 'DATETIME',
    macro: ["(t) AS timezone('UTC', t::TIMESTAMPTZ)", '(t, z) AS timezone(z, t::TIMESTAMPTZ)'],
    example: "DATETIME(TIMESTAMPTZ '2024-03-01 06:00:00+00', 'Europe/Berlin')",
    gives: '2024-03-01T07:00:00.000000Z',
  },
  { name: 'EXTRACT', example: "EXTRACT(hour FROM TIMESTAMP '2024-03-01 07:30:00')", gives: 7 },
  {
    name: 'AT TIME ZONE',
    example: "TIMESTAMPTZ '2024-03-01 06:00:00+00' AT TIME ZONE 'Europe/Berlin'",
    gives: '2024-03-01T07:00:00.000000Z',
  },
].map((one) => ({ group: 'Time', ...one }));
