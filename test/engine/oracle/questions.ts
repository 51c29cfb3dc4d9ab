import type { JsonObject, JsonValue } from '../../../src/contract/json/json.ts';

/** Questions about a collection, in SQL and in JavaScript over its documents, as SQL sees them. */
export interface Question {
  sql: string;
  /** The columns that it computes with, with the beginning of the types that it is for. */
  of: Record<string, RegExp>;
  answer: (documents: readonly JsonObject[]) => JsonValue[][];
}

const NUMBER = /^(BIGINT|DOUBLE|HUGEINT)$/;
const TEXT = /^VARCHAR$/;
const INTEGERS = /^(BIGINT|HUGEINT)\[\]$/;
const ITEMS = /^STRUCT\(.*\)\[\]$/;
const OBJECT = /^STRUCT\([^[]*x (BIGINT|HUGEINT)[,)]/;
const INTEGER_MAP = /^MAP\(VARCHAR, BIGINT\)$/;
const MAP = /^MAP\(VARCHAR, (BIGINT|DOUBLE)\)$/;

const values = (documents: readonly JsonObject[], ...path: string[]): NonNullable<JsonValue>[] =>
  documents.flatMap((document) => {
    let value: JsonValue | undefined = document;
    for (const key of path) value = (value as JsonObject | null | undefined)?.[key];
    return value === null || value === undefined ? [] : [value];
  });
const numbers = (documents: readonly JsonObject[], ...path: string[]) => values(documents, ...path).map(Number);
const lists = (documents: readonly JsonObject[], key: string) => values(documents, key) as JsonValue[][];
const sum = (all: readonly number[]) => (all.length === 0 ? null : all.reduce((total, one) => total + one, 0));
/** Exact for integers of any size; of others, as many as a double adds exactly are asked for. */
const total = (all: readonly JsonValue[]) => {
  if (all.length === 0) return null;
  if (all.every((one) => typeof one === 'bigint' || Number.isInteger(one))) {
    return Number(all.reduce((sum: bigint, one) => sum + BigInt(one as number), 0n));
  }
  return sum(all.map(Number));
};
const extreme = (all: readonly number[], pick: (...of: number[]) => number) => (all.length === 0 ? null : pick(...all));
const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const counts = (all: readonly JsonValue[]): JsonValue[][] => {
  const found = new Map<string, [JsonValue, number]>();
  for (const one of all) found.set(`${typeof one} ${one}`, [one, (found.get(`${typeof one} ${one}`)?.[1] ?? 0) + 1]);
  return [...found.values()];
};
const objects = (documents: readonly JsonObject[], key: string) => values(documents, key) as JsonObject[];

function ofNumber(x: string): Question[] {
  const of = { [x]: NUMBER };
  const exact = { [x]: /^(BIGINT|HUGEINT)$/ };
  return [
    { sql: `SELECT count(${x}) FROM docs`, of, answer: (d) => [[values(d, x).length]] },
    { sql: `SELECT sum(${x})::DOUBLE FROM docs`, of: exact, answer: (d) => [[total(values(d, x))]] },
    {
      sql: `SELECT sum(${x}) FROM docs WHERE abs(${x}) < 1000`,
      of: { [x]: /^DOUBLE$/ },
      answer: (d) => [[sum(numbers(d, x).filter((one) => Math.abs(one) < 1000))]],
    },
    {
      sql: `SELECT min(${x})::DOUBLE, max(${x})::DOUBLE FROM docs`,
      of,
      answer: (d) => [[extreme(numbers(d, x), Math.min), extreme(numbers(d, x), Math.max)]],
    },
    {
      sql: `SELECT count(*) FROM docs WHERE ${x} > 3`,
      of,
      answer: (d) => [[numbers(d, x).filter((one) => one > 3).length]],
    },
    {
      sql: `SELECT count(*) FROM docs WHERE ${x} BETWEEN -1 AND 9`,
      of,
      answer: (d) => [[numbers(d, x).filter((one) => one >= -1 && one <= 9).length]],
    },
    { sql: `SELECT count(*) FROM docs WHERE ${x} IS NULL`, of, answer: (d) => [[d.length - values(d, x).length]] },
    { sql: `SELECT count(DISTINCT ${x}) FROM docs`, of, answer: (d) => [[new Set(numbers(d, x)).size]] },
    {
      sql: `SELECT ${x}::DOUBLE, count(*) FROM docs WHERE ${x} IS NOT NULL GROUP BY 1`,
      of,
      answer: (d) => counts(numbers(d, x)),
    },
    {
      sql: `SELECT _id FROM docs WHERE ${x} IS NOT NULL ORDER BY ${x} DESC, _id LIMIT 3`,
      of,
      answer: (d) =>
        d
          .filter((one) => one[x] !== undefined)
          .toSorted((a, b) => Number(b[x]) - Number(a[x]) || bytes(String(a['_id']), String(b['_id'])))
          .slice(0, 3)
          .map((one) => [one['_id'] ?? null]),
    },
    {
      sql: `SELECT count(*) FROM docs WHERE ${x} % 2 = 0`,
      of: exact,
      answer: (d) => [[values(d, x).filter((one) => BigInt(one as number) % 2n === 0n).length]],
    },
    {
      sql: `SELECT count(*) FROM docs a JOIN docs b ON a.${x} = b.${x} AND a._id < b._id`,
      of,
      answer: (d) => [
        [
          d.flatMap((a) =>
            d.filter(
              (b) =>
                a[x] !== undefined &&
                Number(a[x]) === Number(b[x] ?? Number.NaN) &&
                bytes(String(a['_id']), String(b['_id'])) < 0,
            ),
          ).length,
        ],
      ],
    },
  ];
}

function ofText(x: string): Question[] {
  const of = { [x]: TEXT };
  const texts = (d: readonly JsonObject[]) => values(d, x).map(String);
  return [
    { sql: `SELECT count(${x}) FROM docs`, of, answer: (d) => [[texts(d).length]] },
    {
      sql: `SELECT min(${x}), max(${x}) FROM docs`,
      of,
      answer: (d) => [[texts(d).sort(bytes)[0] ?? null, texts(d).sort(bytes).at(-1) ?? null]],
    },
    {
      sql: `SELECT count(*) FROM docs WHERE ${x} LIKE 'b%'`,
      of,
      answer: (d) => [[texts(d).filter((one) => one.startsWith('b')).length]],
    },
    {
      sql: `SELECT count(*) FROM docs WHERE ${x} = '10'`,
      of,
      answer: (d) => [[texts(d).filter((one) => one === '10').length]],
    },
    { sql: `SELECT ${x}, count(*) FROM docs WHERE ${x} IS NOT NULL GROUP BY 1`, of, answer: (d) => counts(texts(d)) },
    { sql: `SELECT sum(length(${x})) FROM docs`, of, answer: (d) => [[sum(texts(d).map((one) => [...one].length))]] },
    { sql: `SELECT count(DISTINCT ${x}) FROM docs`, of, answer: (d) => [[new Set(texts(d)).size]] },
  ];
}

export const QUESTIONS: readonly Question[] = [
  { sql: 'SELECT count(*) FROM docs', of: {}, answer: (d) => [[d.length]] },
  ...['n', 'd', 'i'].flatMap(ofNumber),
  ...['s', 'n'].flatMap(ofText),
  {
    sql: 'SELECT b, count(*) FROM docs WHERE b IS NOT NULL GROUP BY 1',
    of: { b: /^BOOLEAN$/ },
    answer: (d) => counts(values(d, 'b')),
  },
  {
    sql: 'SELECT count(*) FROM docs WHERE NOT b',
    of: { b: /^BOOLEAN$/ },
    answer: (d) => [[values(d, 'b').filter((one) => one === false).length]],
  },
  {
    sql: "SELECT count(*) FROM docs WHERE TRY_CAST(t AS TIMESTAMPTZ) > TIMESTAMPTZ '2026-01-10 00:00:00Z'",
    of: { t: TEXT },
    answer: (d) => [
      [values(d, 't').filter((one) => Date.parse(isTime(one) ? String(one) : '') > Date.UTC(2026, 0, 10)).length],
    ],
  },
  {
    sql: "SELECT date_trunc('day', TRY_CAST(t AS TIMESTAMPTZ))::DATE::VARCHAR, count(*) FROM docs WHERE TRY_CAST(t AS TIMESTAMPTZ) IS NOT NULL GROUP BY 1",
    of: { t: TEXT },
    answer: (d) =>
      counts(
        values(d, 't')
          .filter(isTime)
          .map((one) => new Date(String(one)).toISOString().slice(0, 10)),
      ),
  },
  ...ofTime(),
  {
    sql: 'SELECT sum(len(l)) FROM docs',
    of: { l: INTEGERS },
    answer: (d) => [[sum(lists(d, 'l').map((one) => one.length))]],
  },
  {
    sql: 'SELECT u::DOUBLE, count(*) FROM docs, unnest(l) AS t(u) WHERE u IS NOT NULL GROUP BY 1',
    of: { l: INTEGERS },
    answer: (d) =>
      counts(
        lists(d, 'l')
          .flat()
          .filter((one) => one !== null)
          .map(Number),
      ),
  },
  {
    sql: 'SELECT count(*) FROM docs, unnest(l) AS t(u)',
    of: { l: INTEGERS },
    answer: (d) => [[lists(d, 'l').flat().length]],
  },
  {
    sql: 'SELECT count(*) FROM docs WHERE list_contains(l, 3)',
    of: { l: INTEGERS },
    answer: (d) => [[lists(d, 'l').filter((one) => one.some((item) => item !== null && Number(item) === 3)).length]],
  },
  {
    sql: 'SELECT sum(list_sum(l))::DOUBLE FROM docs',
    of: { l: INTEGERS },
    answer: (d) => [[total(lists(d, 'l').flatMap((list) => list.filter((one) => one !== null)))]],
  },
  {
    sql: 'SELECT max(l[1])::DOUBLE FROM docs',
    of: { l: INTEGERS },
    answer: (d) => [
      [
        extreme(
          lists(d, 'l').flatMap(([one = null]) => (one === null ? [] : [Number(one)])),
          Math.max,
        ),
      ],
    ],
  },
  {
    sql: 'SELECT count(*) FROM docs WHERE len(l) = 0',
    of: { l: INTEGERS },
    answer: (d) => [[lists(d, 'l').filter((one) => one.length === 0).length]],
  },
  {
    sql: 'SELECT u.k, count(*) FROM docs, unnest(lo) AS t(u) WHERE u.k IS NOT NULL GROUP BY 1',
    of: { lo: /^STRUCT\([^[]*k VARCHAR.*\)\[\]$/ },
    answer: (d) => counts(items(d).flatMap((one) => one['k'] ?? [])),
  },
  {
    sql: 'SELECT sum(list_sum([x.v FOR x IN lo]))::DOUBLE FROM docs',
    of: { lo: /^STRUCT\([^[]*v (BIGINT|HUGEINT)[,)].*\[\]$/ },
    answer: (d) => [[total(items(d).flatMap((one) => one['v'] ?? []))]],
  },
  {
    sql: 'SELECT count(*) FROM docs, unnest(lo) AS t(u) WHERE u IS NOT NULL',
    of: { lo: ITEMS },
    answer: (d) => [[items(d).length]],
  },
  { sql: 'SELECT sum(o.x)::DOUBLE FROM docs', of: { o: OBJECT }, answer: (d) => [[total(values(d, 'o', 'x'))]] },
  {
    sql: 'SELECT count(*) FROM docs WHERE o.x > 3 AND o IS NOT NULL',
    of: { o: OBJECT },
    answer: (d) => [[numbers(d, 'o', 'x').filter((one) => one > 3).length]],
  },
  {
    sql: 'SELECT o.x::DOUBLE, count(*) FROM docs WHERE o.x IS NOT NULL GROUP BY 1',
    of: { o: OBJECT },
    answer: (d) => counts(numbers(d, 'o', 'x')),
  },
  {
    sql: 'SELECT k, count(*) FROM (SELECT unnest(json_keys(o)) AS k FROM docs) GROUP BY 1',
    of: { o: /^STRUCT/ },
    answer: (d) => counts(objects(d, 'o').flatMap((one) => Object.keys(one))),
  },
  {
    sql: 'SELECT count(*) FROM docs WHERE o IS NULL',
    of: { o: /^STRUCT/ },
    answer: (d) => [[d.length - values(d, 'o').length]],
  },
  {
    sql: 'SELECT e.key, count(*) FROM docs, json_each(to_json(o)) AS e GROUP BY 1',
    of: { o: /^STRUCT/ },
    answer: (d) => counts(objects(d, 'o').flatMap((one) => Object.keys(one))),
  },
  {
    sql: 'SELECT k, count(*) FROM (SELECT unnest(map_keys(m)) AS k FROM docs) GROUP BY 1',
    of: { m: MAP },
    answer: (d) => counts(objects(d, 'm').flatMap((one) => Object.keys(one))),
  },
  {
    sql: 'SELECT k, count(*) FROM (SELECT unnest(json_keys(m)) AS k FROM docs) GROUP BY 1',
    of: { m: /^(STRUCT|MAP)/ },
    answer: (d) => counts(objects(d, 'm').flatMap(keysWithValues)),
  },
  {
    sql: 'SELECT sum(cardinality(m)) FROM docs',
    of: { m: MAP },
    answer: (d) => [[sum(objects(d, 'm').map((one) => keysWithValues(one).length))]],
  },
  { sql: 'SELECT sum(m.k1)::DOUBLE FROM docs', of: { m: INTEGER_MAP }, answer: (d) => [[total(values(d, 'm', 'k1'))]] },
  {
    sql: 'SELECT sum(e.value)::DOUBLE FROM docs, unnest(map_entries(m)) AS t(e)',
    of: { m: INTEGER_MAP },
    answer: (d) => [[total(objects(d, 'm').flatMap((one) => Object.values(one)))]],
  },
  {
    sql: 'SELECT json_type(mix), count(*) FROM docs WHERE mix IS NOT NULL GROUP BY 1',
    of: { mix: /^JSON$/ },
    answer: (d) => counts(values(d, 'mix').map(jsonType)),
  },
  {
    sql: "SELECT count(*) FROM docs WHERE (mix->>'$') = '9'",
    of: { mix: /^JSON$/ },
    answer: (d) => [[values(d, 'mix').filter((one) => String(one) === '9' && typeof one !== 'object').length]],
  },
];

function ofTime(): Question[] {
  const of = { t: /^TIMESTAMP WITH TIME ZONE$/ };
  const millis = (d: readonly JsonObject[]) => values(d, 't').map((one) => Date.parse(String(one)));
  const days = (d: readonly JsonObject[]) => values(d, 'day').map((one) => Date.parse(String(one).slice(0, 10)));
  return [
    {
      sql: "SELECT count(*) FROM docs WHERE t > TIMESTAMPTZ '2026-01-10 00:00:00Z'",
      of,
      answer: (d) => [[millis(d).filter((one) => one > Date.UTC(2026, 0, 10)).length]],
    },
    {
      sql: "SELECT count(*) FROM docs WHERE t + INTERVAL 1 DAY <= '2026-01-20'",
      of,
      answer: (d) => [[millis(d).filter((one) => one + 86_400_000 <= Date.UTC(2026, 0, 20)).length]],
    },
    {
      sql: 'SELECT min(epoch_ms(t)), max(epoch_ms(t)), count(DISTINCT t) FROM docs',
      of,
      answer: (d) => [[extreme(millis(d), Math.min), extreme(millis(d), Math.max), new Set(millis(d)).size]],
    },
    {
      sql: "SELECT epoch_ms(date_trunc('day', t)), count(*) FROM docs WHERE t IS NOT NULL GROUP BY 1",
      of,
      answer: (d) => counts(millis(d).map((one) => one - (one % 86_400_000))),
    },
    {
      sql: 'SELECT epoch_ms(day::DATE), count(*) FROM docs WHERE day IS NOT NULL GROUP BY 1',
      of: { day: /^(DATE|TIMESTAMP)$/ },
      answer: (d) => counts(days(d)),
    },
    {
      sql: 'SELECT count(*), max(epoch_ms(u)) FROM docs, unnest(lt) AS x(u) WHERE u IS NOT NULL',
      of: { lt: /^TIMESTAMP WITH TIME ZONE\[\]$/ },
      answer: (d) => {
        const all = lists(d, 'lt').flatMap((list) => list.filter((one) => one !== null));
        return [
          [
            all.length,
            extreme(
              all.map((one) => Date.parse(String(one))),
              Math.max,
            ),
          ],
        ];
      },
    },
  ];
}

function items(documents: readonly JsonObject[]): JsonObject[] {
  return lists(documents, 'lo').flatMap((list) => list.filter((one) => one !== null)) as JsonObject[];
}

/** A map has the keys of values that do not fit, without a value: where it is seen as JSON they are missing. */
function keysWithValues(one: JsonObject): string[] {
  return Object.keys(one).filter((key) => one[key] !== null);
}

function isTime(value: JsonValue): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
}

function jsonType(value: JsonValue): string {
  if (typeof value === 'string') return 'VARCHAR';
  if (typeof value === 'boolean') return 'BOOLEAN';
  if (Array.isArray(value)) return 'ARRAY';
  if (typeof value === 'object') return 'OBJECT';
  return Number.isInteger(Number(value)) ? (value >= 0 ? 'UBIGINT' : 'BIGINT') : 'DOUBLE';
}
