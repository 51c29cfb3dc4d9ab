import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  const documents = Array.from({ length: 20 }, (_, n) =>
    doc(`${n}`, {
      price: n === 0 ? 'free' : `${n}`,
      zip: `0${1_000 + n}`,
      name: `name ${n}`,
      day: `${n + 1}.10.2024`,
      iso: `2024-10-${10 + n}`,
      of: { size: `${n * 7}` },
    }),
  );
  await engine.addDocuments('t', documents);
  await engine.commit([
    { do: 'createCollection', table: 'o', workspace: 'commons', name: 'orders', recognizeTimes: false },
  ]);
  await engine.addDocuments(
    'o',
    Array.from({ length: 120 }, (_, n) => doc(`${n}`, orderOf(n))),
  );
});

/** Fields of text whose order is another one than is meant, and such where it is not. */
function orderOf(n: number) {
  const [two, three] = [(at: number) => `${at}`.padStart(2, '0'), `${n}`.padStart(3, '0')];
  return {
    currency: n % 2 === 0 ? 'EUR' : 'USD',
    amount: n,
    total_price: `${(n * 13) % 600}.9`,
    line_items: [
      { sku: `S${n}`, price: `${(n * 7) % 150}.91` },
      { sku: 'T', price: '3.50' },
    ],
    tags: [`${n}`, `${n * 3}`],
    by_country: { shipping: { cost: `$1,${three}.00`, german: `${n},3` } },
    gaps: n % 12 === 0 ? '' : n % 12 === 1 ? 'N/A' : `${n * 3}`,
    people: `${n + 1},${three}`,
    dmy: `${two((n % 27) + 1)}.${two((n % 12) + 1)}.2025`,
    us: `${(n % 12) + 1}/${(n % 28) + 1}/2025`,
    dotted: n % 4 === 0 ? `${n + 1}` : `${n}.${three}`,
    pubDate: `${['Mon', 'Tue', 'Wed'][n % 3] ?? ''}, ${two((n % 27) + 1)} Feb 2026 08:00:00 GMT`,
    iso: `2025-07-${two((n % 27) + 1)}T00:00:00`,
    short: `${two((n % 27) + 1)}/${two((n % 12) + 1)}/${two(23 + (n % 2))}`,
    compact: `202507${two((n % 27) + 1)}`,
    day_number: 20_250_701 + (n % 27),
    code: `A${n}`,
    lot: `${n + 1}E${n % 4}`,
    charge: `${n % 9}.5E+0${n % 4}`,
    sku: `SKU-${three}`,
    po: `PO-${n + 950}`,
    gate: `A-${n}`,
    sprint: `Sprint ${n}`,
    track: `${['One', 'Two'][n % 2]} ${n}`,
    movie_name: `Rocky ${n}`,
    shelf: `A-${(n % 9) + 1}-${n}`,
    inv: `INV-2024-${three}`,
    several: `${n % 2 === 0 ? 'PO' : 'SO'}-${n + 950}`,
    customer_id: `${n}`,
    orderId: `${n}`,
    paid: `${n}`,
    release: `1.${n}.0`,
    version: `1.${two(n % 90)}.0`,
    q: `Q${(n % 4) + 1} ${2020 + (n % 10)}`,
    name_of_month: ['January', 'February', 'March', 'April'][n % 4] ?? '',
    weekday: ['Mon', 'Tue', 'Wed', 'Thu'][n % 4] ?? '',
    age: ['0-4', '5-9', '10-14', '100+'][n % 4] ?? '',
    room: `P${n}`,
    so: `SO${n + 1}`,
    flight: `${['LH', 'BA', 'AF'][n % 3] ?? ''}${n * 7}`,
    account: `CS${n + 1}`,
    eur: `EUR${n + 1}`,
    usd: `USD ${n + 1}`,
    rupees: `Rs. ${n + 1}`,
    bus: n % 10 === 1 ? `${n}A` : `${n}`,
    city: ['Paris', 'Oslo', 'Rome'][n % 3] ?? '',
    cost: { '@cur': n % 2 === 0 ? 'EUR' : 'USD', '#text': n },
    prices: { [`k${n % 50}`]: n },
    uuid: `${three}e4567-e89b-12d3-a456-426614174000`,
    ip: `10.0.0.${n}`,
    address: `10.0.0.${100 + n}`,
    usShort: `${two((n % 12) + 1)}/${two((n % 28) + 1)}/${22 + (n % 3)}`,
    month: `${['Jan', 'Feb', 'Mar', 'Apr'][n % 4] ?? ''}-${22 + (n % 3)}`,
    tweeted: `${['Mon', 'Tue', 'Wed'][n % 3] ?? ''} ${['Oct', 'Nov'][n % 2] ?? ''} ${two((n % 27) + 1)} 20:19:24 +0000 2018`,
    chat: `${two((n % 27) + 1)}/${two((n % 7) + 1)}/2024, ${two(n % 24)}:33`,
    nearly: n % 9 === 0 ? '2024-1-5 08:00' : `2024-01-${two((n % 28) + 1)} 08:00`,
    length: n % 2 === 0 ? `${n % 60}:59` : `1:${two(n % 60)}:00`,
    hour: `${(n % 12) + 1}:05 ${n % 2 === 0 ? 'AM' : 'PM'}`,
    hour24: `${two(n % 24)}:05`,
    size: `${(n % 40) * 25}.5 ${['GB', 'MB', 'KB'][n % 3] ?? ''}`,
    weight: n % 10 === 1 ? 'unknown' : `${n} kg`,
    followers: n % 5 === 0 ? `${n}M` : `${n}`,
    land: n % 10 === 0 ? `${n} ha` : `${n}.5 km²`,
    flat: `${n + 50} m2`,
    place: `${n % 20}th`,
    seat: `${n}${'ABCDEF'[n % 6] ?? ''}`,
    file: `img${n}`,
    ratio: `${n}:9`,
    film: `${n} ${['Monkeys', 'Idiots', 'Samurai', 'Tails', 'Days'][n % 5] ?? ''}`,
    street: `${n} ${['Oak', 'Elm', 'Main'][n % 3] ?? ''}`,
    title: `${n} reasons to stay`,
    seconds: 1_704_067_200 + n * 86_400,
    millis: `${1_704_067_200_000 + n * 86_400_000}`,
    unbounded: ['nan', 'inf'][n] ?? `${1_704_067_200_000 + n}`,
    either: (1_704_067_200 + n * 86_400) * (n % 3 === 0 ? 1_000 : 1),
    born: n * 30_000_000_000 - 1_000_000_000_000,
    phone: `+49 30 ${three}456`,
    empty: '',
    books: n % 10 === 0 ? `(${n}.00)` : n % 10 === 1 ? 'N/A' : `${n}.00`,
    worded: n % 10 === 1 ? 'N/A' : n % 10 === 2 ? '' : `${n}.00`,
  };
}

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

const warningsOf = async (sql: string, parameters: Parameter[] = []) =>
  (await engine.query({ sql, parameters })).warnings;

const PRICE = "price is text, ordered as text: '19' comes before '2'. As a number: TRY_CAST(price AS DOUBLE).";

test.each([
  ['SELECT max(price) FROM docs WHERE price <> :free', PRICE],
  ['SELECT price FROM docs ORDER BY price LIMIT 3', PRICE],
  ["SELECT price FROM docs WHERE name > 'name 3' ORDER BY price", PRICE],
  ["SELECT price FROM docs WHERE price IN ('9', '10') AND name <> 'x' ORDER BY price", "'10' comes before '9'"],
  ['SELECT name, price FROM docs ORDER BY 2 DESC LIMIT 3', PRICE],
  ['SELECT name, price FROM docs QUALIFY row_number() OVER (ORDER BY name) > 0 ORDER BY price', PRICE],
  ["SELECT count(*) FROM docs WHERE price > '5'", PRICE],
  ["SELECT count(*) FROM docs WHERE price BETWEEN '1' AND '5'", PRICE],
  ['SELECT count(*) FROM docs WHERE :five >= price', PRICE],
  [
    "SELECT min(d.of.size) FROM docs AS d WHERE d.of.size > '0'",
    "'133' comes before '14'. As a number: CAST(d.of.size AS DOUBLE)",
  ],
  ["SELECT count(*) FROM docs WHERE zip > '5'", "'01019' comes before '5'"],
  [
    "SELECT max(split_part(name, ' ', 2)) FROM docs",
    "split_part(name, ' ', 2) is text, ordered as text: '19' comes before '2'. As a number: CAST(split_part(name, ' ', 2) AS DOUBLE).",
  ],
  [
    "SELECT regexp_extract(name, '\\d+') AS n FROM docs ORDER BY n DESC",
    "As a number: CAST(regexp_extract(name, '\\d+') AS DOUBLE).",
  ],
  [
    "SELECT 1 FROM (SELECT substr(trim(name), 6) AS n FROM docs) d WHERE d.n > '9'",
    'As a number: CAST(d.n AS DOUBLE).',
  ],
  [
    "SELECT count(*) FROM docs WHERE day >= '2024-10-05'",
    "day is text such as '1.10.2024', compared as text and not as a time: strptime(day, '%d.%m.%Y') is the time.",
  ],
])('%s', async (sql, warning) => {
  const parameters = [
    { name: 'free', value: 'free' },
    { name: 'five', value: '5' },
  ].filter(({ name }) => sql.includes(`:${name}`));
  // The second time, the statement is known.
  for (let time = 0; time < 2; time++) {
    expect(await warningsOf(sql, parameters)).toEqual([expect.stringContaining(warning)]);
  }
});

test.each([
  'SELECT max(zip), min(name) FROM docs',
  'SELECT name, price FROM docs ORDER BY name',
  'SELECT _id FROM docs ORDER BY _id',
  "SELECT count(*) FROM docs WHERE zip BETWEEN '01005' AND '01007'",
  "SELECT count(*) FROM docs WHERE price = '5' OR name > '5'",
  "SELECT price FROM docs WHERE price IN ('10', '11', '12') AND name <> 'x' ORDER BY price",
  "SELECT count(*) FROM docs WHERE iso >= '2024-10-05'",
  "SELECT count(*) FROM docs WHERE name >= '2024-10-05'",
  'SELECT max(price) FROM (SELECT TRY_CAST(price AS DOUBLE) AS price FROM docs)',
  'SELECT TRY_CAST(price AS DOUBLE) AS price FROM docs ORDER BY price',
  'SELECT price FROM docs ORDER BY TRY_CAST(price AS DOUBLE), price',
  'SELECT of.size AS s FROM docs ORDER BY length(s), s',
  "SELECT max(split_part(name, ' ', 1)), max(left(day, 2)::INT), min(substr(zip, 2)) FROM docs WHERE replace(day, '.', '-') > 'a'",
])('no warning of: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

const AS_NUMBER = 'As a number: ';

test.each([
  ['SELECT _id FROM orders ORDER BY total_price DESC LIMIT 3', 'total_price'],
  ['SELECT _id FROM orders ORDER BY total_price DESC NULLS LAST LIMIT 3', 'total_price'],
  ['SELECT o._id FROM orders o ORDER BY o.total_price', 'o.total_price'],
  ['SELECT _id FROM commons.orders ORDER BY orders.total_price', 'orders.total_price'],
  ['SELECT _id FROM orders ORDER BY currency, total_price DESC', 'total_price'],
  ['SELECT _id, total_price tp FROM orders ORDER BY tp', 'total_price'],
  ['SELECT total_price FROM orders ORDER BY ALL', 'total_price'],
  ['WITH c(x, y) AS (SELECT _id, total_price FROM orders) SELECT x FROM c ORDER BY y', 'y'],
  ['SELECT max(s.p) FROM (SELECT total_price AS p FROM orders) s', 's.p'],
  ['SELECT max(p) FROM (SELECT * RENAME (total_price AS p) FROM orders)', 'p'],
  ['SELECT max(total_price) FROM (SELECT * FROM (SELECT o.* FROM orders o))', 'total_price'],
  ['SELECT total_price FROM orders UNION ALL SELECT currency FROM orders ORDER BY 1', 'total_price'],
  ['SELECT currency AS c FROM orders UNION ALL SELECT total_price FROM orders ORDER BY c', 'total_price'],
  ['SELECT row_number() OVER (PARTITION BY currency ORDER BY total_price DESC) FROM orders', 'total_price'],
  ['SELECT _id, rank() OVER w FROM orders WINDOW w AS (ORDER BY total_price)', 'total_price'],
  ['SELECT max_by(_id, total_price) FROM orders', 'total_price'],
  ['SELECT currency, arg_max(_id, total_price) FROM orders GROUP BY currency', 'total_price'],
  ['SELECT argmax(_id, total_price) FROM orders', 'total_price'],
  ['SELECT first(_id ORDER BY total_price) FROM orders', 'total_price'],
  ['SELECT array_agg(_id ORDER BY total_price) FROM orders', 'total_price'],
  ['SELECT median(total_price) FROM orders', 'total_price'],
  ['SELECT quantile_disc(total_price, 0.9) FROM orders', 'total_price'],
  ['SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY total_price) FROM orders', 'total_price'],
  ['SELECT max(total_price) OVER () FROM orders', 'total_price'],
  ['SELECT li.sku, max(li.price) FROM orders, unnest(line_items) t(li) GROUP BY 1', 'li.price'],
  ['SELECT max(li.price) FROM (SELECT unnest(line_items) AS li FROM orders)', 'li.price'],
  ['SELECT max(price) FROM (SELECT unnest(line_items, recursive := true) FROM orders)', 'price'],
  ['SELECT max(price) FROM (SELECT li.* FROM orders, unnest(line_items) t(li))', 'price'],
  ["SELECT _id FROM orders WHERE line_items[1].price > '20'", 'line_items[1].price'],
  ['SELECT list_max(tags), list_sort(tags) FROM orders', 'unnest(tags)'],
  ['SELECT list_max(list_transform(line_items, lambda x: x.price)) FROM orders', 'x.price'],
  ['SELECT _id FROM orders WHERE total_price = (SELECT max(total_price) FROM orders)', 'total_price'],
  ['SELECT count(*) FROM orders a JOIN orders b ON b.total_price > a.total_price', 'b.total_price'],
  ["SELECT greatest(total_price, '5') FROM orders", 'total_price'],
  ['SELECT max(charge) FROM orders', 'charge'],
  ["SELECT max(coalesce(total_price, '0')) FROM orders", 'total_price'],
  ["SELECT max(CASE WHEN amount > 3 THEN total_price ELSE '0' END) FROM orders", 'total_price'],
  ['SELECT max(gaps) FROM orders', 'gaps'],
  ['SELECT max(paid) FROM orders', 'paid'],
  ["SELECT count(*) FROM orders WHERE customer_id > '5'", 'customer_id'],
  ["SELECT count(*) FROM orders WHERE people < '100,000'", 'people'],
  ["SELECT count(*) FROM orders WHERE by_country.shipping.german > '25'", 'by_country.shipping.german'],
  ['SELECT max(by_country.shipping.german) FROM orders', 'by_country.shipping.german'],
  ['SELECT count(*) FROM orders WHERE total_price > ANY (SELECT total_price FROM orders)', 'total_price'],
])('numbers: %s', async (sql, operand) => {
  expect(await warningsOf(sql)).toEqual([expect.stringContaining(`${operand} is text, ordered as text: `)]);
});

test.each([
  "SELECT room FROM orders ORDER BY CAST(regexp_extract(room, '[0-9]+') AS INT), room",
  "SELECT weekday FROM orders ORDER BY array_position(['Mon', 'Tue', 'Wed', 'Thu'], weekday), weekday",
  'SELECT ip, count(*) FROM orders GROUP BY ip ORDER BY 2 DESC, ip',
  'SELECT name_of_month, sum(amount) FROM orders GROUP BY 1 ORDER BY sum(amount) DESC, name_of_month',
  'SELECT name_of_month, sum(amount) AS s FROM orders GROUP BY 1 ORDER BY s, 1',
  'SELECT max(amount), total_price FROM orders GROUP BY 2 ORDER BY 1, 2',
  'SELECT total_price FROM orders ORDER BY amount DESC, total_price',
  'SELECT rank() OVER (ORDER BY amount DESC, total_price) FROM orders',
  'SELECT first(_id ORDER BY amount % 3, total_price) FROM orders',
  'SELECT DISTINCT ON (total_price) total_price, amount FROM orders ORDER BY total_price, amount DESC',
  'SELECT total_price, amount FROM orders UNION ALL SELECT city, 1 FROM orders ORDER BY 2 DESC, 1',
  // Codes are no quantities.
  'SELECT so FROM orders ORDER BY so',
  'SELECT max(so), min(flight), max(account) FROM orders',
  'SELECT amount FROM orders ORDER BY flight DESC',
])('no warning of a key that only settles what comes first of equals, or of codes: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test.each([
  ['SELECT _id FROM orders ORDER BY city, name_of_month', 'name_of_month'],
  ['SELECT city, weekday, sum(amount) FROM orders GROUP BY ALL ORDER BY 1, weekday DESC', 'weekday'],
  ['SELECT _id FROM orders ORDER BY by_country.shipping.cost, amount, total_price', 'total_price'],
  ['SELECT rank() OVER (ORDER BY city, total_price) FROM orders', 'total_price'],
  ['SELECT DISTINCT ON (city) city, total_price FROM orders ORDER BY city DESC, total_price DESC', 'total_price'],
  ['SELECT total_price, amount FROM orders UNION ALL SELECT city, 1 FROM orders ORDER BY 1 DESC, 2', 'total_price'],
  ['SELECT eur FROM orders ORDER BY eur', 'eur'],
  ['SELECT max(usd) FROM orders', 'usd'],
  ['SELECT max(rupees) FROM orders', 'rupees'],
])('keys that order, and quantities: %s', async (sql, operand) => {
  expect(await warningsOf(sql)).toContainEqual(expect.stringContaining(`${operand} is text, ordered as text: `));
});

test.each([
  ["SELECT count(*) FROM orders WHERE dmy >= '01.07.2025'", 'dmy'],
  ["SELECT count(*) FROM orders WHERE dmy BETWEEN '01.07.2025' AND '31.07.2025'", 'dmy'],
  ['SELECT currency, max(dmy) FROM orders GROUP BY currency', 'dmy'],
  ['SELECT _id FROM orders ORDER BY dmy DESC LIMIT 1', 'dmy'],
  ['SELECT arg_max(_id, dmy) FROM orders', 'dmy'],
  ['SELECT sum(amount) OVER (ORDER BY dmy) FROM orders', 'dmy'],
  ['SELECT min(us) FROM orders', 'us'],
  ["SELECT count(*) FROM orders WHERE pubDate >= '2026-02-10'", 'pubDate'],
  ['SELECT max(pubDate) FROM orders', 'pubDate'],
  ["SELECT count(*) FROM orders WHERE iso >= '01.07.2025'", 'iso'],
])('days: %s', async (sql, operand) => {
  expect(await warningsOf(sql)).toEqual([
    expect.stringMatching(new RegExp(`^${operand} is text.*(?:strptime|write it)`)),
  ]);
});

test.each([
  ['max(release)', "CAST(string_split(release, '.') AS INT[])."],
  ['max(ip)', "CAST(string_split(ip, '.') AS INT[])."],
  ['max(usShort)', "As a time: strptime(usShort, '%m/%d/%y')."],
  ['max(month)', "As a time: strptime(month, '%b-%y')."],
  ['max(tweeted)', "As a time: strptime(tweeted, '%a %b %d %H:%M:%S %z %Y')."],
  ['max(chat)', "As a time: strptime(chat, '%d/%m/%Y, %H:%M')."],
  [
    "count(*) FILTER (chat >= '2024-05-13')",
    "compared as text and not as a time: strptime(chat, '%d/%m/%Y, %H:%M') is the time.",
  ],
  ['max(nearly)', 'As a time: CAST(nearly AS TIMESTAMP).'],
  [
    'max(length)',
    "As a length of time: CAST(CASE WHEN length LIKE '%:%:%' THEN length ELSE '0:' || length END AS INTERVAL).",
  ],
  ['max(hour)', "As a time of day: CAST(strptime(hour, '%I:%M %p') AS TIME)."],
  ['max(size)', "Units differ (GB, MB, KB): CAST(regexp_replace(size, '[^0-9.+-]', '', 'g') AS DOUBLE) is the number"],
  ['max(weight)', "As a number: TRY_CAST(regexp_replace(weight, '[^0-9.+-]', '', 'g') AS DOUBLE)."],
  ['max(land)', "Units differ (ha, km²): CAST(regexp_replace(land, '[^0-9.+-]', '', 'g') AS DOUBLE) is the number"],
  [
    'max(flat)',
    "As a number: CAST(regexp_replace(regexp_extract(flat, '[+-]?[0-9][0-9., ]*'), '[^0-9.+-]', '', 'g') AS DOUBLE).",
  ],
  ['max(followers)', 'Units differ (M, none)'],
  ['max(place)', "As a number: CAST(regexp_replace(place, '[^0-9.+-]', '', 'g') AS DOUBLE)."],
])('quantities: %s', async (item, said) => {
  const warnings = await warningsOf(`SELECT ${item} FROM orders`);
  expect(warnings).toEqual(said === undefined ? [] : [expect.stringContaining(said)]);
  const reading = /^(?:As a [a-z ]+|By its parts): (.*)\.$/.exec(/(?:As|By) .*/.exec(warnings.join())?.[0] ?? '')?.[1];
  if (reading === undefined) return;
  const [field = ''] = /\w+(?=\)| [><])/.exec(item) ?? [];
  const lost = `SELECT count(*) FROM orders WHERE ${reading} IS NULL AND ${field} <> 'unknown'`;
  expect((await engine.query({ sql: lost })).rows).toEqual([[0]]);
});

test.each([
  [
    'q',
    "'Q1 2028' comes before 'Q2 2021'. In its order: right(q, 4) || left(q, 2).",
    ['Q1 2020', 'Q3 2020', 'Q2 2021', 'Q4 2021'],
  ],
  [
    'name_of_month',
    "instr('janfebmaraprmayjunjulaugsepoctnovdec', lower(left(name_of_month, 3))).",
    ['January', 'February', 'March', 'April'],
  ],
  ['weekday', "instr('montuewedthufrisatsun', lower(left(weekday, 3))).", ['Mon', 'Tue', 'Wed', 'Thu']],
  ['age', "TRY_CAST(regexp_extract(age, '[0-9]+') AS BIGINT).", ['0-4', '5-9', '10-14', '100+']],
  ['room', "CAST(regexp_extract(room, '[0-9]+$') AS BIGINT).", ['P0', 'P1', 'P2', 'P3']],
])('an order that everybody knows: %s', async (field, said, first) => {
  for (const sql of [
    `SELECT DISTINCT ${field} FROM orders ORDER BY ${field}`,
    `SELECT ${field}, sum(amount) FROM orders GROUP BY 1 ORDER BY 1`,
    `SELECT amount - lag(amount) OVER (ORDER BY ${field}) FROM orders`,
    `SELECT max(${field}) FROM orders`,
  ])
    expect(await warningsOf(sql)).toEqual([expect.stringContaining(said)]);
  const [warning = ''] = await warningsOf(`SELECT max(${field}) FROM orders`);
  const key = /(?:In its order|By its number): (.*)\.$/.exec(warning)?.[1] ?? '';
  const sorted = `SELECT ${field} FROM orders GROUP BY ${field} ORDER BY ${key} LIMIT 4`;
  expect(await warningsOf(sorted)).toEqual([]);
  expect((await engine.query({ sql: sorted })).rows.flat()).toEqual(first);
});

test.each([
  'SELECT max(iso), min(compact), max(code), max(customer_id), max(orderId), min(version), max(city), max(uuid) FROM orders',
  'SELECT max(title), max(phone), max(address), min(empty), max(lot) FROM orders',
  'SELECT max(seat), max(ratio), max(film), max(street), max(hour24) FROM orders',
  'SELECT _id FROM orders ORDER BY iso, compact, code, customer_id, version, city, uuid, address',
  "SELECT count(*) FROM orders WHERE city > 'M' AND version >= '1.02.0' AND iso >= '2025-07-03'",
  'SELECT mode(total_price), count(DISTINCT total_price), any_value(total_price) FROM orders',
  'SELECT _id FROM orders WHERE CAST(total_price AS DOUBLE) > 20 ORDER BY CAST(total_price AS DOUBLE)',
  'SELECT max(tp) FROM (SELECT CAST(total_price AS DOUBLE) AS tp FROM orders)',
  "SELECT max(strptime(dmy, '%d.%m.%Y')) FROM orders",
  'SELECT total_price, count(*) FROM orders GROUP BY total_price ORDER BY 2 DESC',
  'SELECT total_price, max(amount) AS m FROM orders GROUP BY total_price ORDER BY m',
  'WITH c AS (SELECT amount AS total_price FROM orders) SELECT max(total_price) FROM c',
  'SELECT amount AS total_price FROM orders ORDER BY total_price',
  'SELECT _id FROM orders WHERE amount > 5 ORDER BY amount',
  'SELECT cost, count(*), max(cost."#text"), any_value(line_items) FROM orders GROUP BY cost ORDER BY ALL',
  'EXPLAIN SELECT max(total_price) FROM orders',
])('no warning: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test.each([
  'SELECT year(CAST(short AS DATE)), count(*) FROM orders GROUP BY 1',
  "SELECT count(*) FROM orders WHERE short >= DATE '2024-01-01'",
  'SELECT max(TRY_CAST(short AS TIMESTAMP)) FROM orders',
])('years of two digits: %s', async (sql) => {
  const said =
    "short is text such as '01/01/23', whose first number a cast takes for the year: years below 100 are wrong.";
  expect((await warningsOf(sql)).filter((one) => !one.includes('compared as a time'))).toEqual([
    expect.stringMatching(new RegExp(`^${said}.*strptime\\(short, '%d/%m/%y'\\).* reads them\\.$`)),
  ]);
});

const EITHER = 'to_timestamp(CASE WHEN either >= 1e11 THEN either / 1e3 ELSE either END) is the time.';

test.each([
  ["SELECT count(*) FROM orders WHERE to_timestamp(either) < '2024-01-05'", EITHER],
  ['SELECT min(epoch_ms(either)) FROM orders', EITHER],
  [
    'SELECT min(epoch_ms(o.seconds)) FROM orders o',
    'epoch_ms takes milliseconds: to_timestamp(o.seconds) is the time.',
  ],
  [
    "SELECT count(*) FROM orders WHERE to_timestamp(CAST(millis AS DOUBLE)) > '2024-01-05'",
    'millis is milliseconds since 1970, such as 1704067200000, and to_timestamp takes seconds: epoch_ms(CAST(millis AS BIGINT)) is the time.',
  ],
  ['SELECT to_timestamp(millis::BIGINT) FROM orders', 'epoch_ms(CAST(millis AS BIGINT)) is the time.'],
  [
    'SELECT to_timestamp(num) FROM (SELECT day_number AS num FROM orders)',
    "num is days, such as 20250701, and to_timestamp takes seconds since 1970: strptime(CAST(num AS VARCHAR), '%Y%m%d') is the time.",
  ],
  ['SELECT to_timestamp(compact::BIGINT) FROM orders', "strptime(compact, '%Y%m%d') is the time."],
  ['SELECT min(to_timestamp(TRY_CAST(unbounded AS BIGINT))) FROM orders', 'epoch_ms(CAST(unbounded AS BIGINT)) is'],
  [
    'SELECT min(to_timestamp(t::DOUBLE)) FROM (SELECT seconds AS t FROM orders UNION ALL SELECT millis FROM orders)',
    't is partly seconds',
  ],
  [
    'SELECT CAST(to_timestamp(either / 1000) AS DATE) FROM orders',
    `, and to_timestamp(… / 1000) takes milliseconds: ${EITHER}`,
  ],
  ['SELECT max(to_timestamp(seconds / 1e3)) FROM orders', 'takes milliseconds: to_timestamp(seconds) is the time.'],
])('units of time: %s', async (sql, said) => {
  expect(await warningsOf(sql)).toEqual([expect.stringContaining(said)]);
});

test.each([
  'SELECT max(to_timestamp(seconds)), max(epoch_ms(millis::BIGINT)), min(epoch_ms(born)), max(to_timestamp(amount)) FROM orders',
  'SELECT max(to_timestamp(CASE WHEN either >= 1e11 THEN either / 1e3 ELSE either END)) FROM orders',
  'SELECT CASE WHEN either >= 1e11 THEN epoch_ms(either) ELSE to_timestamp(either) END FROM orders',
  'SELECT max(to_timestamp(millis::BIGINT / 1000.0)), max(to_timestamp(seconds / 60)) FROM orders',
  'SELECT CASE WHEN either >= 1e11 THEN to_timestamp(either / 1000) ELSE to_timestamp(either) END FROM orders',
  'SELECT max(epoch_ms(either)) FROM orders WHERE either > 100000000000',
])('no warning of units: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

const COST = 'is an object, ordered by all its fields, "@cur" before the others: its value is ';

test.each([
  ['SELECT _id FROM orders ORDER BY cost DESC LIMIT 1', `cost ${COST}cost."#text".`],
  ['SELECT max(o.cost) FROM orders o', `o.cost ${COST}o.cost."#text".`],
  ['SELECT count(*) FROM orders a JOIN orders b ON a.cost < b.cost', `a.cost ${COST}a.cost."#text".`],
  [
    'SELECT max(by_country) FROM orders',
    'by_country is an object, ordered by all its fields, shipping before the others',
  ],
  ['SELECT max(line_items) FROM orders', 'line_items is a list of objects, ordered by the first of them as a whole'],
  ['SELECT max(prices) FROM orders', "prices is a map, ordered by its entries as a whole: prices['key'] is"],
])('objects: %s', async (sql, said) => {
  expect(await warningsOf(sql)).toEqual([expect.stringContaining(said)]);
});

test('says what reads the numbers of a field', async () => {
  const readingOf = async (field: string) => (await warningsOf(`SELECT max(${field}) FROM orders`)).join();
  expect(await readingOf('total_price')).toContain(`${AS_NUMBER}CAST(total_price AS DOUBLE).`);
  expect(await readingOf('by_country.shipping.german')).toContain("',', '.') AS DOUBLE)");
  expect(await readingOf('gaps')).toContain(`${AS_NUMBER}TRY_CAST(gaps AS DOUBLE).`);
  expect(await readingOf('people')).toContain('If a comma parts thousands: ');
});

test.each([
  [
    'SELECT sum(TRY_CAST(books AS DOUBLE)) FROM orders',
    "12 of the 120 values of books that were looked at become NULL, such as '(0.00)' and '(10.00)'. TRY_CAST(replace(",
  ],
  ['SELECT sum(coalesce(TRY_CAST(o.books AS DECIMAL(18,2)), 0)) FROM orders o', '12 of the 120 values of o.books '],
  [
    "SELECT count(*) FROM orders WHERE TRY_CAST(dmy AS DATE) > DATE '2025-01-01'",
    "CAST(try_strptime(dmy, '%d.%m.%Y') AS DATE) reads them.",
  ],
  [
    'SELECT sum(TRY_CAST(c AS DOUBLE)) FROM (SELECT by_country.shipping.cost AS c FROM orders)',
    '120 of the 120 values of c that',
  ],
  [
    'SELECT max(TRY_CAST(li.sku AS INT)) FROM orders, unnest(line_items) t(li)',
    'values of li.sku that were looked at become NULL',
  ],
  [
    'SELECT TRY_CAST(bus AS INT) AS n FROM orders ORDER BY n',
    "values of bus that were looked at become NULL, such as '1A'",
  ],
  [
    'SELECT bus FROM orders ORDER BY TRY_CAST(bus AS INT) DESC LIMIT 3',
    'values of bus that were looked at become NULL',
  ],
  ['SELECT sum(TRY_CAST(bus AS INT)) FROM orders GROUP BY city, bus ORDER BY TRY_CAST(bus AS INT)', 'become NULL'],
  [
    'SELECT sum(CAST(dotted AS DOUBLE)) FROM orders',
    "dotted is text such as '1.001' and '2.002', whose dots may be between thousands. If they are: CAST(replace(dotted, '.', '') AS DOUBLE); ",
  ],
  [
    'SELECT max(TRY_CAST(o.dotted AS DECIMAL(9,3))) FROM orders o',
    "If they are: TRY_CAST(replace(o.dotted, '.', '') AS ",
  ],
])('what TRY_CAST makes NULL: %s', async (sql, said) => {
  expect(await warningsOf(sql)).toEqual([expect.stringContaining(said)]);
});

test.each([
  'SELECT sum(TRY_CAST(worded AS DOUBLE)), sum(TRY_CAST(total_price AS DOUBLE)) FROM orders',
  'SELECT books FROM orders WHERE TRY_CAST(books AS DOUBLE) IS NULL',
  'SELECT bus FROM orders ORDER BY TRY_CAST(bus AS INT) NULLS LAST, bus',
  "SELECT bus FROM orders ORDER BY TRY_CAST(replace(bus, 'x', '') AS INT) NULLS LAST, bus",
  "SELECT coalesce(TRY_CAST(dmy AS DATE), strptime(dmy, '%d.%m.%Y')) FROM orders",
  "SELECT sum(CAST(replace(dotted, '.', '') AS BIGINT)) FROM orders",
  'SELECT TRY_CAST(books AS VARCHAR), TRY_CAST(amount AS INT) FROM orders',
])('nothing that TRY_CAST makes NULL: %s', async (sql) => {
  expect(await warningsOf(sql)).toEqual([]);
});

test.each([
  [
    'po',
    "po is text, ordered as text: 'PO-1069' comes before 'PO-950'. By its number: CAST(regexp_extract(po, '[0-9]+$') AS BIGINT).",
  ],
  [
    'gate',
    "gate is text, ordered as text: 'A-109' comes before 'A-11'. By its number: CAST(regexp_extract(gate, '[0-9]+$') AS BIGINT).",
  ],
  [
    'file',
    "file is text, ordered as text: 'img109' comes before 'img11'. By its number: CAST(regexp_extract(file, '[0-9]+$') AS BIGINT).",
  ],
  [
    'sprint',
    "sprint is text, ordered as text: 'Sprint 109' comes before 'Sprint 11'. By its number: CAST(regexp_extract(sprint, '[0-9]+$') AS BIGINT).",
  ],
  ['track', undefined],
  ['movie_name', undefined],
  ['sku', undefined],
  ['inv', undefined],
  ['several', undefined],
])('a number behind a hyphen has no sign: %s', async (field, warning) => {
  const { warnings } = await engine.query({
    sql: `SELECT max(${field}) FROM orders WHERE ${field} > '${field === 'po' ? 'PO-999' : ''}'`,
  });
  expect(warnings).toEqual(warning === undefined ? [] : [warning]);
  if (warning === undefined) return;
  const [, sql = ''] = warning.split('By its number: ');
  const { rows } = await engine.query({
    sql: `SELECT ${field} FROM orders ORDER BY ${sql.replace(/\.$/, '')} DESC LIMIT 1`,
  });
  expect(rows[0]).toEqual([{ po: 'PO-1069', file: 'img119', sprint: 'Sprint 119' }[field] ?? 'A-119']);
});

test('what is known of the data is not told of others that came since', async () => {
  await engine.commit([
    { do: 'createCollection', table: 'k', workspace: 'commons', name: 'since', recognizeTimes: false },
  ]);
  await engine.addDocuments('k', [doc('1', { k: '1' }), doc('2', { k: '2' })]);
  const ask = async () => {
    const { rows, warnings } = await engine.query({ sql: 'SELECT k FROM since ORDER BY k' });
    return { rows: rows.flat(), isMisordered: warnings.some((warning) => warning.includes('number')) };
  };
  const twice = async () => [await ask(), await ask()];
  const before = { rows: ['1', '2'], isMisordered: false };
  const after = { rows: ['1', '10', '2'], isMisordered: true };
  expect(await twice()).toEqual([before, before]);
  await engine.addDocuments('k', [doc('10', { k: '10' })]);
  expect(await twice()).toEqual([after, after]);
  await engine.deleteDocuments('k', ['10']);
  expect(await twice()).toEqual([before, before]);
  await engine.changeDocuments('k', ['2'], (document) => ({ ...document, k: '10' }));
  expect(await twice()).toEqual(Array(2).fill({ rows: ['1', '10'], isMisordered: false }));
});
