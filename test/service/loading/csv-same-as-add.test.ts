import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import { type JsonObject, stringifyJson } from '../../../src/contract/json/json.ts';
import { MORE } from '../../long.ts';
import { propertyRuns } from '../../property.ts';
import { type LoadBench, startBench } from './load-bench.ts';

/*
 * A text of CSV is the same documents, and the same refused lines, whether it is a piece of an uploaded file or the body of a
 * load with the same `format_params.csv`.
 */

let bench: LoadBench;
const started = new Date().toISOString();
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.remove());

interface Csv {
  firstLineAsColumnNames: boolean;
  separator: string;
  columnNames?: readonly string[];
  columnTypes: string[];
  quoteChar?: string;
  escapeChar?: string;
  encoding?: string;
}

interface Outcome {
  documents: string[];
  refused: string[];
  /** Why nothing of it was read. */
  unread: string | null;
}

const UNREAD = 'cannot be read as CSV: ';

async function documentsOf(name: string): Promise<string[]> {
  const rows = await bench.rows(`SELECT * FROM ${name}`);
  const documents = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row as JsonObject).flatMap(([key, value]) => {
        if (value === null) return [];
        if (key === '_event_time' && String(value) >= started) return [];
        return key === '_id' && /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(String(value)) ? [[key, 'made']] : [[key, value]];
      }),
    ),
  );
  return documents.map((document) => stringifyJson(Object.fromEntries(Object.entries(document).sort()))).sort();
}

async function byAdding(text: string, csv: Csv, settings: object): Promise<Outcome> {
  const file = { file_name: 'f.csv', file_size: 1 };
  const name = await bench.create({ ...settings, sources: [{ file_upload: file, format_params: { csv } }] });
  const answer = await bench.add(name, JSON.stringify(text));
  expect(answer.status).toBe(200);
  const errors = (answer.body.data as { status: string; error: { message: string } | null }[]).flatMap(
    ({ status, error }) => (status === 'ERROR' ? [String(error?.message)] : []),
  );
  const unread = errors.find((one) => one.startsWith(`data[0] ${UNREAD}`));
  return {
    documents: await documentsOf(name),
    refused: unread === undefined ? errors.map((one) => one.replace(/^data\[0\] line \d+ /, '')) : [],
    unread: unread?.slice(`data[0] ${UNREAD}`.length) ?? null,
  };
}

async function byLoading(text: string, csv: Csv, settings: object, size: number): Promise<Outcome> {
  const name = await bench.create(settings);
  const body = Buffer.from(text, ENCODINGS[csv.encoding ?? ''] ?? 'utf8');
  try {
    const done = await bench.load(name, body, { format: 'csv', csv: JSON.stringify(csv), on_error: 'skip', size });
    expect(done.stopped).toBeNull();
    return { documents: await documentsOf(name), refused: done.refused.map(({ error }) => error), unread: null };
  } catch (error) {
    const why = error instanceof ApiError ? error.message : '';
    const at = why.indexOf(UNREAD);
    if (at < 0) throw error;
    return { documents: await documentsOf(name), refused: [], unread: why.slice(at + UNREAD.length, -1) };
  }
}

async function expectSame(text: string, csv: Csv, settings: object = {}, size = 7): Promise<Outcome> {
  const added = await byAdding(text, csv, settings);
  expect(await byLoading(text, csv, settings, size)).toEqual(added);
  return added;
}

const ENCODINGS: Record<string, BufferEncoding> = { 'utf-16le': 'utf16le', latin1: 'latin1', '': 'utf8' };
const header = { firstLineAsColumnNames: true, separator: ',' };

describe('CSV as text of a file and as the body of a load', () => {
  it.each([
    ['carriage returns alone', 'a,b\r1,"x\ry"\r2,z\r'],
    ['carriage returns within lines', 'a,b\n1,x\ry\r\n\r\n"2"\r,z\n3,"4"'],
    ['a line that says what the separator is', 'sep=,\r\na,b\r\n1,x\r\n'],
    ['such a line with a mark and quotes', '\ufeff"sep=,"\na,b\n1,x\n'],
    ['a line that says another separator', 'sep=;\n1\n2\n'],
    ['a mark, and empty lines', '\ufeffa,b\n\n1,2\n\r\n\n3,4'],
    ['ragged rows', 'a,b\n1\n1,x,3\n,\n2,y\n,,\n'],
    ['quotes', 'a,b\n1,"x""y"\n2,"x"y\n3,x"y"\n4," z "\n"",""\n5,"\r\n"\n'],
    ['a quote that is never closed', 'a,b\n1,2\n3,"x\n'],
    ['a name that is there twice', 'a,a\n1,2\n'],
    ['NUL characters', 'a,b\n1,x\0\n2,"\0"\n3,y\n'],
    ['cells of no such type', 'a,b\n1.0,x\n+1,y\n 2\u00a0,z\n99999999999999999999,w\nx,v\n-0,u\n'],
    ['text that looks like types', 'b,a\n007,1\ntrue,2\n2024-01-02,3\n2024-01-02T03:04:05Z,4\n{},5\n'],
    [
      'keys',
      '_id,a,_event_time,_meta\nx,1,2024-01-01,m\n"",1,,\n,2,1700000000000000,\ny,3,never,\nx,4,,\nz,5,250000000000000001,\n',
    ],
  ])('with %s', async (_, text) => {
    const columnTypes = text.startsWith('b') ? ['STRING', 'INTEGER'] : ['INTEGER', 'STRING', 'STRING'];
    if (text.startsWith('_id')) columnTypes.unshift('INTEGER');
    for (const recognize_times of [false, true])
      await expectSame(text, { ...header, columnTypes }, { recognize_times });
  });

  it('refuses the same lines for the same reasons', async () => {
    const csv = { ...header, columnTypes: ['INTEGER', 'FLOAT', 'BOOLEAN', 'STRING'] };
    const long = `1.${'0'.repeat(1_000)}`;
    const text = `a,b,c,d\n1,1.,TRUE,x\n1.5,1,true,x\n1,1e400,true,x\n1,${long},true,x\n1,1,falſe,x\n1,1,no,x\n,,,\n`;
    const { documents, refused } = await expectSame(text, csv);
    expect(documents).toHaveLength(2);
    expect(refused).toEqual([
      'has "1.5" in column "a", which is no INTEGER',
      'has "1e400" in column "b", which is no FLOAT',
      expect.stringContaining('in column "b", which is no FLOAT'),
      'has "falſe" in column "c", which is no BOOLEAN',
      'has "no" in column "c", which is no BOOLEAN',
    ]);
  });

  it('goes through the field mappings and the event time of a collection', async () => {
    const upper = {
      name: 'm',
      input_fields: [{ field_name: 's', param: 's' }],
      output_field: { field_name: 'up', value: 'upper(:s)' },
    };
    const settings = { field_mappings: [upper], event_time_info: { field: 't', format: '%d.%m.%Y' } };
    const csv = { ...header, columnTypes: ['STRING', 'STRING', 'STRING'] };
    const { refused, documents } = await expectSame('_id,s,t\na,x,01.02.2024\nb,,31.02.2024\nc,"",\n', csv, settings);
    expect([documents.length, refused.length]).toEqual([2, 1]);
  });

  it('keeps what escapes nothing', async () => {
    const csv = { ...header, escapeChar: '\\', columnTypes: ['STRING', 'STRING'] };
    const { documents } = await expectSame('_id,s\na,"C:\\new\\e"\nb,"q\\"r"\n', csv);
    expect(documents).toEqual(['C:\\new\\e', 'q"r'].map((s) => expect.stringContaining(JSON.stringify(s))));
  });

  const NASTY = ['"', "'", '\\', ',', ';', '::', ':', '\t', '¦', '\n', '\r', '\r\n', '\n\n', ' ', '\0', 'é', 'x', '_'];
  const CELLS = ['1', '-0', '+7', '007', '1.5', '.5', '1e400', '9007199254740993', 'true', 'FALSE', '2024-01-02', '""'];
  const cell = fc.oneof(
    fc.constantFrom('', ...CELLS),
    fc.array(fc.constantFrom(...NASTY, ...CELLS), { maxLength: 4 }).map((parts) => parts.join('')),
  );
  const written = fc.record({ cell, isQuoted: fc.boolean() });
  const lines = fc.array(
    fc.record({ cells: fc.array(written, { maxLength: 4 }), end: fc.constantFrom('\n', '\n', '\n', '\r\n', '\r') }),
    { maxLength: 8 },
  );
  const how = fc.record({
    separator: fc.constantFrom(',', ';', '::', '\t', '¦'),
    quoteChar: fc.constantFrom(undefined, '"', "'"),
    escapeChar: fc.constantFrom(undefined, undefined, '\\'),
    encoding: fc.constantFrom(undefined, 'utf-8', 'utf-16le', 'latin1'),
    types: fc.array(fc.constantFrom('STRING', 'INTEGER', 'FLOAT', 'BOOLEAN', 'string'), { minLength: 3, maxLength: 3 }),
    names: fc.constantFrom(['a', 'b', 'c'], ['_id', 'b', 'c'], ['a', '_event_time', '_id']),
    isNamed: fc.boolean(),
    isFirstLine: fc.boolean(),
    isMarked: fc.boolean(),
    recognize_times: fc.boolean(),
    size: fc.integer({ min: 1, max: 64 }),
  });

  it('with any text and any settings', { ...MORE, timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(lines, how, async (rows, given) => {
      const { separator, quoteChar, escapeChar, encoding, types, names, isNamed, size, recognize_times } = given;
      const quote = quoteChar ?? '"';
      const isFirstLine = given.isFirstLine || !isNamed;
      const body = rows.map(
        ({ cells, end }) =>
          cells
            .map((one) => {
              const escaped = one.cell.replaceAll(quote, (escapeChar ?? quote) + quote);
              return one.isQuoted ? quote + escaped + quote : one.cell;
            })
            .join(separator) + end,
      );
      const csv: Csv = {
        firstLineAsColumnNames: isFirstLine,
        separator,
        columnTypes: types,
        ...(isNamed ? { columnNames: names } : {}),
        ...(quoteChar === undefined ? {} : { quoteChar }),
        ...(escapeChar === undefined ? {} : { escapeChar }),
        ...(encoding === undefined ? {} : { encoding }),
      };
      const text = `${given.isMarked && encoding !== 'latin1' ? '\ufeff' : ''}${isFirstLine ? `${names.join(separator)}\n` : ''}${body.join('')}`;
      await expectSame(text, csv, { recognize_times }, size);
    });
    await fc.assert(property, propertyRuns(200));
  });
});
