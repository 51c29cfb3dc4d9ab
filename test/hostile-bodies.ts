/**
 * Requests whose bytes are legal, or nearly, and cost far more than their length tells. Each is refused by name or
 * answered, while other requests are answered: tests and a benchmark send them all. They need what `HOSTILE_SETUP`
 * makes.
 */
export interface HostileRequest {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** The least role whose key may send it. */
  role: 'read-only' | 'member';
  body: () => Buffer;
}

const WORKSPACE = '/v1/orgs/self/ws/commons';
const QUERIES = '/v1/orgs/self/queries';
const MIB = 1024 * 1024;

const docs = (collection: string) => `${WORKSPACE}/collections/${collection}/docs`;
const times = (count: number, item: (index: number) => string) => Array.from({ length: count }, (_, at) => item(at));

/** Requests by an admin, before any hostile one. */
export const HOSTILE_SETUP: readonly { path: string; body: object }[] = [
  { name: 'hostile' },
  { name: 'hostile_json', sources: [sourceOf({ json: true })] },
  { name: 'hostile_csv', sources: [sourceOf({ csv: { firstLineAsColumnNames: true } })] },
  { name: 'hostile_xml', sources: [sourceOf({ xml: { root_tag: 'r', doc_tag: 'd' } })] },
  {
    name: 'hostile_mapped',
    field_mappings: [
      {
        name: 'm',
        input_fields: [{ field_name: 'a', param: 'a' }],
        output_field: { field_name: 'b', value: 'upper(:a)' },
      },
    ],
    event_time_info: { field: 't', format: '%Y-%m-%d', time_zone: 'Europe/Berlin' },
  },
].map((body) => ({ path: `${WORKSPACE}/collections`, body }));

function sourceOf(format_params: object) {
  const file_upload = { file_name: 'f', file_size: 1, file_upload_time: '2026-01-01T00:00:00Z' };
  return { file_upload, format_params };
}

function query(text: string, parameters = '[]'): () => Buffer {
  return () => Buffer.from(`{"sql":{"query":${JSON.stringify(text)},"parameters":${parameters}}}`);
}

/** A query with one parameter, given as JSON text. */
function parameter(value: () => string, type = ''): HostileRequest {
  const body = () => query('SELECT 1 WHERE :p IS NOT NULL', `[{"name":"p","type":"${type}","value":${value()}}]`)();
  return { method: 'POST', path: QUERIES, role: 'read-only', body };
}

function selects(sql: string): HostileRequest {
  return { method: 'POST', path: QUERIES, role: 'read-only', body: query(sql) };
}

function raw(body: () => Buffer | string): HostileRequest {
  return { method: 'POST', path: QUERIES, role: 'read-only', body: () => Buffer.from(body()) };
}

/** A write with a list of items, given as JSON texts. */
function writes(
  items: () => readonly string[],
  { method = 'POST', collection = 'hostile' }: { method?: HostileRequest['method']; collection?: string } = {},
): HostileRequest {
  const body = () => Buffer.from(`{"data":[${items().join(',')}]}`);
  return { method, path: docs(collection), role: 'member', body };
}

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const many = (item: string, bytes: number) => `[${`${item},`.repeat(bytes / (item.length + 1))}${item}]`;

export const HOSTILE_BODIES: readonly (readonly [name: string, request: HostileRequest])[] = [
  ['one integer of 3 MB in a query', parameter(() => '7'.repeat(3 * MIB))],
  ['one integer of 3 MB as the body', raw(() => '7'.repeat(3 * MIB))],
  ['one integer of 3 MB, cut', raw(() => `{"sql":${'7'.repeat(3 * MIB)}`)],
  ['one fraction of 3 MB', parameter(() => `0.${'7'.repeat(3 * MIB)}`)],
  ['an exponent of 3 MB', parameter(() => `1e${'9'.repeat(3 * MIB)}`)],
  ['4M open lists', raw(() => '['.repeat(4 * MIB))],
  ['4M open lists in a string that never ends', raw(() => `"${'['.repeat(4 * MIB)}`)],
  ['2M lists, closed', raw(() => nested('[', ']', 2 * MIB))],
  ['deep objects in a parameter', parameter(() => `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`)],
  ['deep lists in a parameter as text', parameter(() => JSON.stringify(nested('[', ']', MIB)), 'array')],
  ['lists of 900 levels, many of them', parameter(() => `[${times(1_000, () => nested('[', ']', 900)).join(',')}]`)],
  ['500,000 keys', raw(() => `{${times(500_000, (at) => `"k${at}":1`).join(',')}}`)],
  [
    '500,000 keys in a parameter, at an integer beyond 2^53',
    parameter(() => `{${times(500_000, (at) => `"k${at}":1`).join(',')},"n":12345678901234567890}`),
  ],
  ['1M times the same key', raw(() => `{${times(MIB, () => '"a":1').join(',')}}`)],
  ['10 MiB of empty lists in a query', raw(() => `{"sql":{"query":"SELECT 1"},"x":${many('[]', 10 * MIB - 100)}}`)],
  ['3 MiB of empty objects in a parameter', parameter(() => many('{}', 3 * MIB), 'array')],
  ['90,000 integers beyond 2^53', parameter(() => many('12345678901234567890', 90_000 * 21), 'array')],
  ['text of 3 MiB beside an integer beyond 2^53', parameter(() => `["${'x'.repeat(3 * MIB)}",12345678901234567890]`)],
  ['text of 3 MiB of escapes', parameter(() => `"${'\\u00e9'.repeat(MIB / 2)}"`, 'string')],
  ['a long body that is no JSON at its end', raw(() => `{"sql":{"query":"${'x'.repeat(3 * MIB)}"}]`)],
  ['a long body that is no UTF-8 at its end', raw(() => Buffer.concat([Buffer.alloc(9 * MIB, '"'), Buffer.of(0xff)]))],
  ['3 MiB of white space', raw(() => `{"sql":${' \n'.repeat(1.5 * MIB)}1}`)],
  ['10 MiB of quotes', raw(() => '"'.repeat(10 * MIB))],
  ['10 MiB of escaped quotes', raw(() => `"${'\\"'.repeat(5 * MIB - 8)}`)],
  [
    '200,000 parameters',
    raw(() => `{"sql":{"query":"SELECT 1","parameters":[${times(200_000, (at) => `{"name":"p${at}"}`).join(',')}]}}`),
  ],

  ['10 MiB of empty lists as one document', writes(() => [`{"a":${many('[]', 10 * MIB - 100)}}`])],
  ['10 MiB of empty lists as documents', writes(() => times(3 * MIB, () => '[]'))],
  ['500,000 keys in a document', writes(() => [`{${times(500_000, (at) => `"k${at}":1`).join(',')}}`])],
  [
    '20,000 documents with a key of their own',
    writes(() => times(20_000, (at) => `{"_id":"o${at}","k${at}":{"x${at}":[${at}]}}`)),
  ],
  [
    '20,000 documents with 12 types of one field',
    writes(() =>
      times(20_000, (at) => `{"_id":"y${at}","v":${JSON.stringify([1, 'a', [1], { [`k${at % 12}`]: at }][at % 4])}}`),
    ),
  ],
  ['an integer of 3 MB in a document', writes(() => [`{"a":${'7'.repeat(3 * MIB)}}`])],
  [
    '300,000 integers beyond 2^53 in documents',
    writes(() => times(300, (at) => `{"_id":"b${at}","a":${many('12345678901234567890', 21_000)}}`)),
  ],
  ['a document of 9 MiB', writes(() => [`{"_id":"t","text":"${'x'.repeat(9 * MIB)}"}`])],
  [
    '9 documents of 1 MiB beside an integer beyond 2^53',
    writes(() => times(9, (at) => `{"_id":"e${at}","n":12345678901234567890,"text":"${'x'.repeat(MIB)}"}`)),
  ],
  [
    '10 MiB of text that is no JSON at its end',
    writes(() => [...times(9_000, (at) => `{"_id":"n${at}","t":"${'x'.repeat(1_000)}"}`), '{"a":}']),
  ],
  [
    'data twice, the second one escaped',
    {
      ...writes(() => []),
      body: () => Buffer.from(`{"data":${many('{"_id":"q"}', 4 * MIB)},"d\\u0061ta":${many('[]', 4 * MIB)}}`),
    },
  ],
  [
    '20,000 documents that the mappings change',
    writes(() => times(20_000, (at) => `{"a":"x${at}","t":"2026-01-01"}`), { collection: 'hostile_mapped' }),
  ],
  ['20,000 deletes', writes(() => times(20_000, (at) => `{"_id":"d${at}"}`), { method: 'DELETE' })],
  [
    '20,000 patches',
    writes(() => times(20_000, (at) => `{"_id":"p${at}","patch":[{"op":"add","path":"/a/b/c","value":[1,2,3]}]}`), {
      method: 'PATCH',
    }),
  ],
  [
    '300,000 operations in one patch',
    writes(() => [`{"_id":"q","patch":[${times(200_000, () => '{"op":"test","path":"/a"}').join(',')}]}`], {
      method: 'PATCH',
    }),
  ],
  [
    '9 MiB of CSV',
    writes(() => [JSON.stringify(`a,b,c\n${'1,2,3\n'.repeat(1.4 * MIB)}`)], { collection: 'hostile_csv' }),
  ],
  [
    '9 MiB of CSV in one line',
    writes(() => [JSON.stringify(`a\n${'1,'.repeat(4.5 * MIB)}`)], { collection: 'hostile_csv' }),
  ],
  [
    '9 MiB of CSV in an open quote',
    writes(() => [JSON.stringify(`a\n"${'x\n'.repeat(3 * MIB)}`)], { collection: 'hostile_csv' }),
  ],
  [
    '9 MiB of XML',
    writes(() => [JSON.stringify(`<r>${'<d a="1">x</d>'.repeat(400_000)}</r>`)], { collection: 'hostile_xml' }),
  ],
  [
    '4 MiB of deep XML',
    writes(() => [JSON.stringify(`<r>${nested('<d>', '</d>', 500_000)}</r>`)], { collection: 'hostile_xml' }),
  ],
  [
    '9 MiB of XML text',
    writes(() => [JSON.stringify(`<r><d>${'x&amp;'.repeat(1.4 * MIB)}</d></r>`)], { collection: 'hostile_xml' }),
  ],
  ['9 MiB of JSON lines', writes(() => [JSON.stringify('{"a":1}\n'.repeat(900_000))], { collection: 'hostile_json' })],
  ['9 MiB of one JSON piece', writes(() => [JSON.stringify(many('[]', 9 * MIB))], { collection: 'hostile_json' })],

  ['one row of json_group_array over a million', selects('SELECT json_group_array(range) AS a FROM range(1000000)')],
  ['one row of a list of a million', selects('SELECT list(range) AS a FROM range(1000000)')],
  [
    'one row of a JSON object with 500,000 keys',
    selects("SELECT json_group_object('k' || range, range) AS a FROM range(500000)"),
  ],
  [
    'one row of a map with 500,000 keys',
    selects("SELECT map(list('k' || range), list(range)) AS a FROM range(500000)"),
  ],
  ['one text of 60 MB', selects("SELECT string_agg(repeat('x', 10000), '') AS a FROM range(6000)")],
  ['one text of 60 MB of two bytes each', selects("SELECT string_agg(repeat('é', 5000), '') AS a FROM range(6000)")],
  ['60 texts of 1 MB', selects("SELECT string_agg(repeat('x', 10000), '') AS a FROM range(6000) t(i) GROUP BY i % 60")],
  ['JSON of a deep list', selects("SELECT (repeat('[', 900) || repeat(']', 900))::JSON AS a FROM range(20000)")],
  ['20,000 columns of one name', selects(`SELECT ${'1 AS a,'.repeat(19_999)}1 AS a`)],
  ['5,000 columns in 100 rows', selects(`SELECT ${times(5_000, (at) => `1 AS c${at}`).join(',')} FROM range(100)`)],
  [
    'a number of 3 MB as JSON',
    selects("SELECT ('[' || string_agg(repeat('7', 10000), '') || ']')::JSON AS a FROM range(300)"),
  ],
  ['one JSON text of 60 MB', selects("SELECT to_json(string_agg(repeat('x', 10000), '')) AS a FROM range(6000)")],
  [
    'a list of 60 texts of 1 MB',
    selects(
      "SELECT list(a) AS a FROM (SELECT string_agg(repeat('x', 10000), '') AS a FROM range(6000) t(i) GROUP BY i % 60)",
    ),
  ],
  ['19,000 columns in 20 rows', selects(`SELECT ${times(19_000, (at) => `1 AS c${at}`).join(',')} FROM range(20)`)],
  ['100,000 rows of one number', selects('SELECT range FROM range(100000)')],
];
