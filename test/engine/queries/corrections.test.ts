import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Engine, Parameter } from '../../../src/engine/engine.ts';
import { createDocs, doc, openSmall, temporaryFolder } from '../harness.ts';

let folder: ReturnType<typeof temporaryFolder>;
let engine: Engine;

beforeAll(async () => {
  folder = temporaryFolder();
  engine = await openSmall(folder.file);
  await createDocs(engine);
  const first = {
    orderId: 1,
    type: 'a',
    status: 'open',
    price: '5.5',
    'unit.price': 2,
    'ship to': 'x',
    order: 7,
    seen: '2026-01-31',
    day: '31.01.2026',
    data: '{"a": {"k": 6}}',
    slashed: '01/02/2026',
    customer: { firstName: 'Ann', 'e-mail': 'a@b', address: { city: 'Bern', zip: 3000 } },
    cost: { '@cur': 'USD', '#text': 73.5 },
    weight: { '@unit': 'kg', '#text': '7,5' },
    sold: { label: 'a', items: 3 },
    geo: { lat: 1, lon: 2 },
    tags: [{ name: 'a', value: 1 }],
    labels: ['x', 'y'],
    sizes: { s: 1, 'x l': 2 },
    words: { a: 'one "1"', b: '2' },
  };
  await engine.addDocuments('t', [doc('1', first), doc('2', { status: 'paid', price: 'none' })]);
});

afterAll(async () => {
  await engine.close();
  folder.dispose();
});

async function errorOf(sql: string, parameters: Parameter[] = []): Promise<ApiError> {
  const error = await engine.query({ sql, parameters }).then(
    () => undefined,
    (one: unknown) => one,
  );
  if (!(error instanceof ApiError)) throw new Error(`no error of ${sql}`, { cause: error });
  return error;
}

const correctedOf = async (sql: string) => (await errorOf(sql)).details.correctedSql;

describe('what was probably meant is said, and runs', () => {
  test.each([
    // Objects that have a value.
    ['SELECT avg(cost) FROM docs', 'avg(cost."#text")'],
    ['SELECT sum(d.cost) FROM docs d WHERE d.cost > 50', 'sum(d.cost."#text") FROM docs d WHERE d.cost."#text" > 50'],
    ['SELECT cost * 2 FROM docs', 'cost."#text" * 2'],
    [
      'SELECT sum(weight) FROM docs',
      "sum(CAST(replace(regexp_replace(weight.\"#text\", '[^0-9,+-]', '', 'g'), ',', '.') AS DOUBLE))",
    ],
    ['SELECT avg(sold) FROM docs', 'avg(sold.items)'],
    // Names.
    ['SELECT statuss FROM docs', 'SELECT status FROM docs'],
    ['SELECT order_id FROM docs', 'SELECT orderId FROM docs'],
    ['SELECT d.statsu FROM docs AS d', 'SELECT d.status FROM docs AS d'],
    ['SELECT city, count(*) FROM docs GROUP BY city', 'customer.address.city, count(*) FROM docs GROUP BY customer.a'],
    ['SELECT customer.first_name FROM docs', 'customer.firstName'],
    ['SELECT d.customer.adress.city FROM docs d', 'd.customer.address.city'],
    ['SELECT customer.e-mail FROM docs', 'customer."e-mail"'],
    ['SELECT unit.price FROM docs', '"unit.price"'],
    ['SELECT ship to FROM docs', '"ship to"'],
    ['SELECT order, status FROM docs', 'SELECT "order", status'],
    ['SELECT x.status FROM docs AS o', 'SELECT o.status'],
    ['SELECT count(*) FROM dcos', 'FROM docs'],
    ['SELECT count(*) FROM other.docs', 'FROM docs'],
    ['SELECT status FROM docs a JOIN docs b ON a.status = b.status', 'SELECT a.status FROM'],
    // Texts.
    ['SELECT 1 FROM docs WHERE status = "open"', "status = 'open'"],
    ['SELECT 1 FROM docs WHERE status IN ("open", "price")', "IN ('open', 'price')"],
    ["SELECT status + '-' + price FROM docs", "status || '-' || price"],
    // Functions.
    ["SELECT coalsece(status, 'x') FROM docs", "coalesce(status, 'x')"],
    ['SELECT customer:firstName FROM docs', 'SELECT customer.firstName'],
    ['SELECT COUNT(DISTINCT status, price) FROM docs', 'COUNT(DISTINCT (status, price))'],
    // Types.
    ['SELECT price::DOUBLE FROM docs', 'TRY_CAST(price AS DOUBLE)'],
    ['SELECT CAST(price AS DOUBLE) FROM docs', 'TRY_CAST(price AS DOUBLE)'],
    ['SELECT year(CAST(day AS DATE)) FROM docs', "year(CAST(strptime(day, '%d.%m.%Y') AS DATE))"],
    ['SELECT year(seen) FROM docs', 'year(seen::TIMESTAMPTZ)'],
    ["SELECT strptime(_event_time, '%Y') FROM docs", 'SELECT _event_time FROM'],
    ['SELECT 1 FROM docs WHERE _event_time > now() - 7', 'now() - INTERVAL 7 DAY'],
    ['SELECT upper(orderId) FROM docs', 'upper(CAST(orderId AS VARCHAR))'],
    ["SELECT 1 FROM docs WHERE orderId LIKE '1%'", "CAST(orderId AS VARCHAR) LIKE '1%'"],
    ["SELECT 1 FROM docs WHERE labels LIKE 'x%'", "len(list_filter(labels, lambda x: x LIKE 'x%')) > 0"],
    ["SELECT 1 FROM docs WHERE labels NOT LIKE 'x%'", "len(list_filter(labels, lambda x: x LIKE 'x%')) = 0"],
    ["SELECT 1 FROM docs WHERE labels = 'x'", "list_contains(labels, 'x')"],
    ["SELECT e.key FROM docs AS d, json_each(d.customer) AS e WHERE type = 'a'", "WHERE d.type = 'a'"],
    // Objects that are no maps, of fields of several types.
    ['SELECT map_entries(customer) FROM docs', 'map_entries(to_json(customer)::MAP(VARCHAR, JSON))'],
    ['SELECT map_entries(tags[1]) FROM docs', 'map_entries(to_json(tags[1])::MAP(VARCHAR, JSON))'],
    // Clauses.
    ['SELECT status, count(*) FROM docs', 'FROM docs GROUP BY ALL'],
    ['SELECT status, count(*) FROM docs WHERE orderId > 0 ORDER BY 2', 'orderId > 0 GROUP BY ALL ORDER BY 2'],
    ['SELECT status, price, count(*) FROM docs GROUP BY status', 'GROUP BY status, price'],
    [
      'SELECT status, d.orderId, max(price), count(*) FROM docs d GROUP BY status',
      'SELECT status, arg_max(d.orderId, price) AS orderId, max(price), count(*) FROM docs d GROUP BY status',
    ],
    [
      'SELECT price AS p, min(orderId * 2) FROM docs GROUP BY status',
      'SELECT arg_min(price, orderId * 2) AS p, min(orderId * 2) FROM docs GROUP BY status',
    ],
    ['SELECT status, orderId, min(price), max(price) FROM docs GROUP BY status', 'GROUP BY status, orderId'],
    ['SELECT orderId + 1, max(price) FROM docs GROUP BY status', 'GROUP BY status, orderId'],
    ["SELECT 1 WHERE '{\"k\": 7}'->>'k' > 5", "CAST('{\"k\": 7}'->>'k' AS DOUBLE) > 5"],
    ["SELECT 1 FROM docs d WHERE d.data->'a'->>'k' BETWEEN 5 AND 7", "CAST(d.data->'a'->>'k' AS DOUBLE) BETWEEN"],
    ["SELECT 1 FROM docs WHERE split_part(day, '.', 3) > 5", "CAST(split_part(day, '.', 3) AS DOUBLE) > 5"],
    [
      'UNPIVOT (SELECT _id, _event_time, orderId FROM docs) ON * INTO NAME k VALUE v',
      ' ON * EXCLUDE (_id, _event_time) INTO',
    ],
    [
      'UNPIVOT (SELECT *, 2 AS two FROM (SELECT _id, _event_time, orderId FROM docs)) ON COLUMNS(* EXCLUDE (_id)) INTO NAME k VALUE v',
      ' ON COLUMNS(* EXCLUDE (_event_time, _id)) INTO',
    ],
    ['SELECT status || count(*) FROM docs GROUP BY ALL', 'GROUP BY status'],
    // An alias that a field hides.
    [
      "SELECT status, date_trunc('day', _event_time) day, count(*) FROM docs GROUP BY status, day ORDER BY 3",
      'FROM docs GROUP BY status, 2 ORDER BY 3',
    ],
    ["SELECT date_trunc('day', _event_time) AS day, price, count(*) FROM docs GROUP BY day", 'GROUP BY 1, price'],
    ["SELECT date_trunc('day', _event_time) AS d, price, count(*) FROM docs GROUP BY d", 'GROUP BY d, price'],
    ['SELECT status, upper(price), max(orderId), price FROM docs GROUP BY 1, 2', 'arg_max(price, orderId) AS price'],
    [
      'SELECT d.status, round(d.customer.address.zip / sum(orderId), 1) AS r, max(price) FROM docs AS d GROUP BY ALL ORDER BY 2',
      'GROUP BY 1, d.customer.address.zip ORDER BY 2',
    ],
    [
      "SELECT status, CASE WHEN status = 'open' THEN sum(orderId) ELSE (SELECT max(orderId) FROM docs) END FROM docs GROUP BY ALL",
      'FROM docs GROUP BY 1',
    ],
    ['SELECT status FROM docs WHERE count(*) > 0 GROUP BY status', 'FROM docs GROUP BY status HAVING count(*) > 0'],
    [
      'SELECT status, count(*) AS n FROM docs WHERE orderId BETWEEN 0 AND 9 AND n > 0 GROUP BY status ORDER BY n',
      'WHERE orderId BETWEEN 0 AND 9 GROUP BY status HAVING n > 0 ORDER BY n',
    ],
    ['SELECT status FROM docs WHERE row_number() OVER () < 2', 'FROM docs QUALIFY row_number() OVER () < 2'],
    [
      'SELECT unnest(labels), count(*) FROM docs GROUP BY 1',
      'SELECT item, count(*) FROM docs, unnest(labels) AS u(item)',
    ],
    [
      "SELECT 1 FROM docs WHERE UNNEST(tags).name = 'a'",
      "WHERE len(list_filter(tags, lambda item: item.name = 'a')) > 0",
    ],
    [
      "SELECT UNNEST(labels) AS label FROM docs WHERE UNNEST(labels) = 'x'",
      "item AS label FROM docs, UNNEST(labels) AS u(item) WHERE item = 'x'",
    ],
    ['SELECT status FROM docs LIMIT 10, 5', 'LIMIT 5 OFFSET 10'],
    ['SELECT TOP 5 status FROM docs', 'SELECT status FROM docs LIMIT 5'],
    ['SELECT status FROM docs WHERE orderId = 1,', 'orderId = 1'],
    // Several at once.
    ['SELECT status,\n  sum(prise)\nFROM dosc\nWHERE staus = "open"', "status = 'open' GROUP BY ALL"],
  ])('%s', async (sql, part) => {
    const { details } = await errorOf(sql);
    expect(details.correctedSql).toContain(part);
    expect((await engine.query({ sql: details.correctedSql ?? '' })).columns.length).toBeGreaterThan(0);
  });
});

describe('numbers that are spelled with commas are in a sum, which NULL would not be', () => {
  test.each([
    ['SELECT sum(price) FROM docs', 'sum(TRY_CAST(price AS DOUBLE))'],
    ['SELECT price * 2 FROM docs', 'TRY_CAST(price AS DOUBLE) * 2'],
    ['SELECT 1 FROM docs WHERE price > 5', 'TRY_CAST(price AS DOUBLE) > 5'],
    ['SELECT 1 FROM docs WHERE price NOT BETWEEN 1 AND 5', 'TRY_CAST(price AS DOUBLE) NOT BETWEEN'],
  ])('%s: a word is left out, and named', async (sql, part) => {
    const { message, details } = await errorOf(sql);
    expect(details.correctedSql).toContain(part);
    expect(message).toContain(
      "\nIn the corrected SQL, 1 of the 2 values of price that were looked at becomes NULL, such as 'none'.",
    );
    expect((await engine.query({ sql: details.correctedSql ?? '' })).columns.length).toBe(1);
  });

  test.each([
    [['1,200.50', '83.75'], '1284.25'],
    [['83.75', '-1,200,000', '7'], '-1199909.25'],
    [['1.234,50', '99,95', '3'], '1337.45'],
  ])('%j', async (amounts, sum) => {
    const name = `amounts${amounts.length}${sum.length}`;
    await engine.commit([{ do: 'createCollection', table: name, workspace: 'commons', name }]);
    await engine.addDocuments(
      name,
      amounts.map((amount, n) => doc(`${n}`, { amount })),
    );
    for (const asked of [`SELECT sum(amount) FROM ${name}`, `SELECT sum(amount::DOUBLE) FROM ${name}`]) {
      let sql = asked;
      let rows: unknown;
      for (let tries = 0; tries < 3 && rows === undefined; tries++) {
        const answer = await engine.query({ sql }).catch((error: ApiError) => error);
        if (answer instanceof ApiError) sql = answer.details.correctedSql ?? '';
        else rows = answer.rows;
      }
      expect(rows).toEqual([[Number(sum)]]);
    }
  });

  test('words beside numbers with commas are left out, and named', async () => {
    await engine.commit([{ do: 'createCollection', table: 'w', workspace: 'commons', name: 'words' }]);
    await engine.addDocuments(
      'w',
      ['3\u202f145,26 €', '-7,50 €', 'k. A.'].map((v, n) => doc(`${n}`, { v })),
    );
    const { message, details } = await errorOf('SELECT round(sum(v), 2) FROM words');
    expect(message).toContain("1 of the 3 values of v that were looked at becomes NULL, such as 'k. A.'.");
    expect((await engine.query({ sql: details.correctedSql ?? '' })).rows).toEqual([[3137.76]]);
  });
});

test.each([
  'SELECT status, max_by(orderId, day), orderId FROM docs GROUP BY 1',
  'SELECT status, avg(d.orderId), d.orderId FROM docs d GROUP BY status',
])('no group is added for a column that an aggregate reads: %s', async (sql) => {
  const { message, details } = await errorOf(sql);
  expect(details.correctedSql).toBeUndefined();
  expect(message).toContain('any_value(x) takes one of several');
});

describe('no cast is said that the values of the field do not have', () => {
  let made = 0;
  const collection = async (values: readonly (string | number)[]) => {
    const name = `texts${++made}`;
    await engine.commit([{ do: 'createCollection', table: name, workspace: 'commons', name }]);
    await engine.addDocuments(
      name,
      values.map((v, n) => doc(`${n}`, { v, of: { 'a b': v } })),
    );
    return name;
  };

  test.each<[string, readonly string[], unknown]>([
    ['sum(v)', ['TRUE', 'FALSE', 'true'], 2],
    ['sum(v::int)', ['TRUE', 'FALSE', 'true'], 2],
    ['sum(CAST(v AS DOUBLE))', ['12,34', '7,6', '1.000,06'], 1020],
    ['sum(v)', ['12,25', '7,5'], 19.75],
    ['sum(of."a b")', ['1,234.5', '-7'], 1227.5],
    ['sum(v)', ['44.5', '1,234'], 1278.5],
    ['sum(v)', ['1,00,000', '2,50,000.50', '500'], 350500.5],
    ['sum(v::double)', ['12.5%', '7 %', 'n/a'], 19.5],
    ['sum(v)', ['$3,462.50', '-$4', '$.50'], 3459],
    ['sum(v)', ['(1,234.00)', '$1,235', '($5.00)'], -4],
    ['sum(t.of."a b"::DOUBLE) ', ['1,234.5', '-7'], 1227.5],
    ['max(month(v))', ['1/9/2024 07:00 PM', '12/31/2024 1:15 AM'], 12],
    ['max(month(v::TIMESTAMPTZ))', ['1/9/2024', '12/31/2024'], 12],
    ["count(*) FILTER (WHERE v >= DATE '2024-06-01')", ['1/9/2024', '12/31/2024'], 1],
    ["count(*) FILTER (WHERE v::DATE >= '2024-06-01')", ['31.12.2024', '2024-07-01', '-'], 2],
    ["max(date_trunc('month', v)::VARCHAR)", ['10.08.2024', '07.05.2024'], '2024-08-01 00:00:00'],
    ['sum(v)', ["1'001.50", '2’500.00'], 3501.5],
    ['sum(v)', ['1.000,00-', '2.500,50'], 1500.5],
    ['sum(v)', ['−300.25', '10.5'], -289.75],
    ['sum(v)', ['12,50 EUR', 'EUR 7,25', '-1,00 EUR'], 18.75],
    ['max(month(v))', ['12/31/23', '01/15/24'], 12],
    ['max(year(v::DATE))', ['31-12-99', '15-01-24', 'soon'], 2024],
    ['max(year(v))', ['24/01/15', '24/02/16', '24/03/17', '23/03/18'], 2024],
    ["count(*) FILTER (WHERE v::DATE >= '2024-01-01')", ['12/31/23', '2024-01-15', '01/13/24'], 2],
    ['max(hour(v::TIMESTAMPTZ))', ['2024-01-02 05:30:00 -0500', '2024-01-02 05:30:00 +0100'], 10],
    ['max(year(v))', ['1704067200000', '1704153600000'], 2024],
    ['max(year(v::DATE))', ['1704067200', '1704153600'], 2024],
  ])('%s of %j', async (value, texts, expected) => {
    const sql = await correctedOf(`SELECT ${value} FROM ${await collection(texts)} AS t`);
    expect((await engine.query({ sql: sql ?? '' })).rows, sql).toEqual([[expected]]);
  });

  test.each<[string, readonly string[], string]>([
    ['sum(v)', ['1,234', '500'], 'If a comma parts thousands: CAST('],
    ['sum(v::DOUBLE)', ['1,234', '500'], 'If a comma parts thousands: CAST('],
    ['sum(v)', ['44.41', '12,50'], "v is text such as '12,50': CAST(v AS DOUBLE) reads 1 of the 2 values"],
    [
      'sum(v)',
      ['12.5%', '0.125', '1%'],
      "such as '12.5%' and '0.125': 2 of the 3 values that were looked at are percentages",
    ],
    ['sum(v)', ['12 kg', '7 lbs'], "such as '12 kg' and '7 lbs'"],
    ['year(v)', ['01/01/24', '02/01/24'], "If the day is first: strptime(v, '%d/%m/%y'); if the month is: strptime("],
    ['year(v)', ['01/02/03'], "if the year is: strptime(v, '%y/%m/%d')"],
    ['year(CAST(v AS DATE))', ['01/02/24', '13/13/24'], 'CAST(v AS DATE) reads none'],
    ['sum(v)', ['$3.00', '€4.00'], "such as '$3.00' and '€4.00': CAST(v AS DOUBLE) reads none of the values"],
    ['sum(v)', ['$1,234.00', '$5.00', '$5.00 net'], "such as '$1,234.00' and '$5.00 net'"],
    ['sum(CAST(v AS DOUBLE))', ['a1', 'b2'], "such as 'a1' and 'b2'"],
    ['month(v)', ['1/9/2024', '2/3/2024'], "If the day is first: strptime(v, '%d/%m/%Y'); if the month is: strptime("],
    ['month(v::DATE)', ['soon', 'Q1 2024'], "such as 'soon' and 'Q1 2024'"],
  ])('%s of %j is not corrected', async (value, texts, said) => {
    const { message, details } = await errorOf(`SELECT ${value} FROM ${await collection(texts)}`);
    expect(details.correctedSql).toBeUndefined();
    expect(message).toContain(said);
    expect(message).not.toContain('TRY_CAST');
  });

  test.each<[string, readonly (string | number)[], string]>([
    ["v >= '2024-02-10'", [1707523199, 1707523200], 'to_timestamp(n) if seconds'],
    ["v BETWEEN '2024-02-10' AND '2024-02-11'", [1707523200000], 'TIMESTAMP_MILLIS(n) if milliseconds'],
    ["v >= '2024-02-10'", [20240105, 20240301], "strptime(CAST(n AS VARCHAR), '%Y%m%d')"],
    ['v = 7', ['007', 'A1', '70'], "write the number so: x = '7'"],
    ['t.v IN (7, 8)', ['7', '8', 'A1'], "x IN ('7', '8')"],
    ["strptime(v, '%d.%m.%y') IS NULL", ['24.02.23', 'open'], 'try_strptime(x, …) is NULL for texts of'],
  ])('%s of %j fails at a value, with what reads it', async (condition, values, said) => {
    const { message, details } = await errorOf(`SELECT 1 FROM ${await collection(values)} AS t WHERE ${condition}`);
    expect(details.correctedSql).toBeUndefined();
    expect(message).toContain(said);
  });

  test('of few that no cast reads it is said how many', async () => {
    const name = await collection(['1', '2', '3', '4', '5', '6/7', '2x']);
    const { message, details } = await errorOf(`SELECT sum(v) FROM ${name}`);
    expect(details.correctedSql).toBe(`SELECT sum(TRY_CAST(v AS DOUBLE)) FROM ${name}`);
    expect(message).toContain("2 of the 7 values of v that were looked at become NULL, such as '6/7' and '2x'.");
  });

  test('a value behind those that are looked at counts', async () => {
    const name = await collection([...Array.from({ length: 1_100 }, (_, n) => `${n}`), '1 200,5']);
    const { message, details } = await errorOf(`SELECT sum(v::DOUBLE) FROM ${name}`);
    expect(details.correctedSql).toContain(`replace(regexp_replace(v, '[^0-9,+-]', '', 'g'), ',', '.')`);
    expect(message).toContain("'1 200,5'");
    expect((await engine.query({ sql: details.correctedSql ?? '' })).rows).toEqual([[605650.5]]);
  });
});

describe('what several fields feed is read by what reads all of them, or told for each of their collections', () => {
  const fields: Record<string, readonly (string | number)[]> = {
    jan: [59.77, 70.61],
    feb: ['61,64', '10,50'],
    mar: ['1,000.25', '7.50'],
    apr: ['1.234,5 €', '8'],
    may: ['n/a', '2.5'],
    days: ['31.12.2024'],
    times: ['2024-12-30'],
  };
  beforeAll(async () => {
    for (const [name, values] of Object.entries(fields)) {
      await engine.commit([{ do: 'createCollection', table: name, workspace: 'commons', name }]);
      await engine.addDocuments(
        name,
        values.map((v, n) => doc(`${n}`, { sku: `${name}${n}`, v, of: { v } })),
      );
    }
  });

  test.each<[string, unknown]>([
    ['SELECT round(sum(v), 2) FROM (SELECT v FROM feb UNION ALL SELECT v FROM apr)', 1314.64],
    ['SELECT round(sum(v), 2) FROM (SELECT v FROM jan UNION ALL SELECT v FROM may)', 132.88],
  ])('%s', async (sql, expected) => {
    const corrected = await correctedOf(sql);
    expect((await engine.query({ sql: corrected ?? '' })).rows, corrected).toEqual([[expected]]);
  });

  test.each([
    ['SELECT sum(v) FROM (SELECT * FROM jan UNION ALL SELECT * FROM feb)', "feb.v is text such as '61,64'"],
    [
      'SELECT sum(CAST(v AS DOUBLE)) FROM (SELECT v FROM feb UNION ALL SELECT v FROM mar)',
      "feb.v is text such as '61,64'",
    ],
    [
      'SELECT max(v::DATE) FROM (SELECT v FROM times UNION ALL SELECT v FROM days)',
      "days.v is text such as '31.12.2024'",
    ],
    [
      'SELECT sum(w) FROM (SELECT of.v AS w FROM jan UNION ALL SELECT of.v FROM feb)',
      "feb.of.v is text such as '61,64'",
    ],
  ])('%s is told, and not corrected', async (sql, said) => {
    const { message, details } = await errorOf(sql);
    expect(details.correctedSql).toBeUndefined();
    expect(message).toContain(said);
    expect(message).toContain('Read each in the SELECT of its own collection: ');
  });

  test('what TRY_CAST makes NULL is read in the SELECT of its collection', async () => {
    const sql = 'SELECT sum(TRY_CAST(v AS DOUBLE)) FROM (SELECT v FROM jan UNION ALL SELECT v FROM feb)';
    expect((await engine.query({ sql })).warnings).toEqual([
      expect.stringMatching(
        /become NULL.*jan\.v is DOUBLE; feb\.v is text .* SELECT \* REPLACE \(.* AS "v"\) FROM feb\.$/,
      ),
    ]);
  });
});

test('a field that is called as an operator begins', async () => {
  expect(await correctedOf('SELECT at AT TIME ZONE \'UTC\' FROM (SELECT now() AS "at")')).toContain(
    `"at" AT TIME ZONE`,
  );
});

test('a parameter in brackets is no slice', async () => {
  expect(await correctedOf('SELECT labels[:i] FROM docs')).toBe('SELECT labels[(:i)] FROM docs');
});

test('what reads a field of a text that may hold JSON is said', async () => {
  expect((await errorOf('SELECT d.status.src FROM docs d')).message).toContain(
    "status is text. If it holds JSON, (status->>'src') is the field as text, and CAST(status->>'src' AS DOUBLE) as a number.",
  );
});

test('what a column beside max() is taken for is said, with what else may be meant', async () => {
  const { message } = await errorOf('SELECT status, orderId, max(price) FROM docs GROUP BY status');
  expect(message).toContain(
    'In the corrected SQL, what stands beside max() or min() is that of the row that has it; to have a row',
  );
});

test('an alias in GROUP BY that a field hides is told, with the field', async () => {
  const { message } = await errorOf("SELECT date_trunc('day', _event_time) AS day, count(*) FROM docs GROUP BY day");
  expect(message).toMatch(/\nday is also a field of docs, and GROUP BY takes that one: write GROUP BY 1, or give/);
  expect(message).not.toContain('GROUP BY ALL');
});

test('a column beside an aggregate with GROUP BY ALL is named, with its place', async () => {
  const { message, details } = await errorOf('SELECT status,\n labels[1] || count(*) FROM docs GROUP BY ALL');
  expect(message).toMatch(/^Cannot mix aggregates .*\n.*write GROUP BY 1, labels\[1\], or any_value\(labels\[1\]\)/);
  expect(details).toMatchObject({ line: 2, column: 2 });
});

describe('nothing is said', () => {
  test.each([
    ['of a name that is near several', 'SELECT tage, stat FROM docs'],
    ['of a name that is only somewhat like another', 'SELECT state FROM docs'],
    ['of a name in lists, whose items may be meant one by one or together', 'SELECT tags.name FROM docs'],
    ['of a time that may be of two formats', 'SELECT slashed::DATE FROM docs'],
    ['of conditions that OR joins', 'SELECT status FROM docs WHERE orderId = 1 OR count(*) > 3 GROUP BY status'],
    ['of two statements', 'SELECT 1; SELECT 2'],
    ['of what may not run', "SELECT * FROM read_csv('x.csv')"],
    ['of longer SQL', `SELECT statuss, '${'x'.repeat(1_500)}' FROM docs`],
  ])('%s', async (_, sql) => {
    expect(await correctedOf(sql)).toBeUndefined();
  });

  test('of a limit, or anything but the SQL', async () => {
    const sql = 'SELECT status FROM docs WHERE status = :s';
    expect((await errorOf(sql, [{ name: 's', type: 'int', value: 'x' }])).details.correctedSql).toBeUndefined();
    expect((await errorOf(sql)).details.correctedSql).toBeUndefined();
  });
});

describe('keys of maps that are no names', () => {
  beforeAll(async () => {
    await engine.commit([{ do: 'createCollection', table: 'm', workspace: 'commons', name: 'maps' }]);
    const keyed = (key: (n: number) => string) => (at: number) => ({ [key(at)]: at, [key(at + 1)]: 1 });
    const daily = keyed((n) => `2024-01-${String(n + 1).padStart(2, '0')}`);
    const sizes = keyed((n) => `${n}.5`);
    const documents = Array.from({ length: 30 }, (_, n) => doc(`${n}`, { daily: daily(n), sizes: sizes(n) }));
    await engine.addDocuments('m', documents);
  });

  test.each([
    ['SELECT sum(daily.2024-01-04) FROM maps', "sum(daily['2024-01-04'])", 4],
    ['SELECT sum(m.daily.2024-01-04 + 1) FROM maps m', "sum(m.daily['2024-01-04'] + 1)", 6],
    ['SELECT sum(sizes.3.5) FROM maps', "sum(sizes['3.5'])", 4],
    ['SELECT sum(sizes.3.5 - 1) FROM maps', "sum(sizes['3.5'] - 1)", 2],
  ])('%s', async (sql, part, value) => {
    const corrected = await correctedOf(sql);
    expect(corrected).toContain(part);
    expect((await engine.query({ sql: corrected ?? '' })).rows).toEqual([[value]]);
  });

  test.each(['daily.2024-01', 'sizes.3-1', 'daily.2024-1-4'])('%s may be a difference', async (path) => {
    expect(await correctedOf(`SELECT sum(${path}) FROM maps`)).toBeUndefined();
  });
});

describe('another collection answers without a word, so one is only for a slip', () => {
  const names = ['shop.us_orders', 'shop.customers', 'shop.sales_2023', 'shop.line_items', 'shop.bigdec', 'shop.nan'];
  beforeAll(async () => {
    await engine.commit([
      { do: 'createWorkspace', workspace: 'shop' },
      { do: 'createWorkspace', workspace: 'archive' },
      ...[...names, 'archive.trail', 'archive.bills', 'archive.customers', 'shop.order', 'shop.orders'].map((full) => {
        const [workspace = '', name = ''] = full.split('.');
        return { do: 'createCollection', table: full.replace('.', '_'), workspace, name } as const;
      }),
    ]);
    await engine.commit([{ do: 'trashCollection', table: 'shop_orders' }]);
  });

  test.each([
    ['shop.customer', 'shop.customers'],
    ['shop.us-orders', 'shop.us_orders'],
    ['shop.USOrders', 'shop.us_orders'],
    ['shop.us_oders', 'shop.us_orders'],
    ['shop.lineitem', 'shop.line_items'],
    ['bills', 'archive.bills'],
    ['shpo.bills', 'archive.bills'],
    // Several, or something else.
    ['customers', undefined],
    ['shop.sales_2024', undefined],
    ['shop.sales_202', undefined],
    ['shop.bigdec17', undefined],
    ['shop.nanlit', undefined],
    ['shop.nin', undefined],
    ['archive.trailing', undefined],
    ['trial', undefined],
    // It is in the trash.
    ['shop.orders', undefined],
    ['SHOP.Orders', undefined],
  ])('%s: %s', async (name, meant) => {
    const sql = meant === undefined ? undefined : `SELECT 1 FROM ${meant}`;
    const quoted = name.includes('-') ? `shop."${name.slice(5)}"` : name;
    expect(await correctedOf(`SELECT 1 FROM ${quoted}`)).toBe(sql);
  });

  test('what is like it is named all the same', async () => {
    expect((await errorOf('SELECT 1 FROM shop.bigdec17')).message).toContain('Did you mean shop.bigdec?');
  });
});

test('a statement with parameters is corrected', async () => {
  const parameters = [{ name: 's', type: 'string', value: 'open' }];
  const { details } = await errorOf('SELECT orderid FROM docs WHERE statuss = :s', parameters);
  expect(details.correctedSql).toBe('SELECT orderid FROM docs WHERE status = :s');
  expect((await engine.query({ sql: details.correctedSql ?? '', parameters })).rows).toEqual([[1]]);
});

test('a correction is checked and never run', async () => {
  const { message, details } = await errorOf("SELECT error('ran' || statuss) FROM docs");
  expect(message).toContain('"statuss" not found');
  expect(details.correctedSql).toBe("SELECT error('ran' || status) FROM docs");
});

test('a statement is corrected where it is only checked', async () => {
  const refused = engine.inspect({ sql: 'SELECT statuss FROM docs' });
  await expect(refused).rejects.toMatchObject({
    details: { correctedSql: 'SELECT status FROM docs', line: 1, column: 8 },
  });
});

test('after an error the connection answers as before', async () => {
  await errorOf('SELECT sum(price), staus FROM docs');
  expect((await engine.query({ sql: 'SELECT count(*) FROM docs' })).rows).toEqual([[2]]);
});

describe('what is corrected answers what was meant', () => {
  const AT = "TIMESTAMP '2026-01-31 10:59:03'";

  test.each<[string, unknown]>([
    ['SELECT cuont(orderId) FROM docs', 1],
    [`SELECT count(*) FROM docs WHERE UNNEST(labels) = 'x'`, 1],
    [`SELECT count(*) FROM docs WHERE UNNEST(labels) IN ('x', 'y')`, 1],
    [`SELECT count(*) FROM docs WHERE UNNEST(labels) LIKE 'z%'`, 0],
  ])('%s', async (sql, value) => {
    const corrected = await correctedOf(sql);
    const { rows } = await engine.query({ sql: corrected ?? '' });
    expect(rows, corrected).toEqual([[value]]);
  });

  test.each([
    "SELECT count(*) FROM docs WHERE UNNEST(labels) = 'x' OR UNNEST(labels) = 'y'",
    // NULL would leave a number out.
    "SELECT avg(CAST(v AS DOUBLE)) FROM (VALUES ('1/2'), ('0.25')) AS t(v)",
    "SELECT max(CAST(v AS TIMESTAMP)) FROM (VALUES ('2024-13-01'), ('2024-01-01')) AS t(v)",
    // The nearest names mean something else.
    ...[
      "eomonth(DATE '2024-02-03')",
      "json_unquote('x')",
      'count_big(orderId)',
      'std(orderId)',
      'stdevp(orderId)',
      'stddevp(orderId)',
      'variance_pop(orderId)',
      `epoch_millis(${AT})`,
      'array_first([3, 1])',
      'array_avg([3, 1])',
      'list_len([3, 1])',
      'log1p(12.75)',
      'expm1(12.75)',
      'sum_distinct(orderId)',
      'roundup(12.75)',
      "byte_length('x')",
      "contains_substr('aXb', 'x')",
      `first_day(${AT})`,
      `yearofweek(${AT})`,
      'array_sort_desc([3, 1])',
    ].map((call) => `SELECT ${call} FROM docs`),
  ])('and %s, which has none, is not corrected', async (sql) => {
    expect(await correctedOf(sql)).toBeUndefined();
  });
});

test('of an object with several numbers, the error names its fields', async () => {
  const error = await errorOf('SELECT avg(geo) FROM docs');
  expect(error.details.correctedSql).toBeUndefined();
  expect(error.message).toContain('\ngeo is an object with the fields lat, lon: give one, as in geo.lat.');
  expect(error.message).not.toContain('Candidate');
});
