import { DuckDBConnection } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Loads, openLoads } from './loads.ts';

const ROWS = 60;
/** Some of them have no column of their own. */
const COLUMNS = 530;
/** Cells of a column, by the number of their row: what CSV may hold. */
const KINDS: readonly ((row: number) => string)[] = [
  (row) => `${row}`,
  (row) => `${row / 4}`,
  (row) => `${row}${row === 59 ? '.5' : ''}`,
  (row) => `90071992547409${String(row).padStart(2, '0')}`,
  (row) => (row === 58 ? '123456789012345678901234567890' : `${row}`),
  (row) => (row % 9 === 0 ? 'NA' : `${row / 8}`),
  (row) => (row % 9 === 1 ? 'n/a' : `${row}`),
  (row) => (row === 57 ? '1.2.3' : `${row}`),
  (row) => (row % 2 === 0 ? 'true' : 'FALSE'),
  (row) => `2024-01-${String(1 + (row % 28)).padStart(2, '0')}`,
  (row) => `2024-01-02T03:04:${String(row).padStart(2, '0')}${row === 9 ? '.5' : ''}Z`,
  (row) => `2024-01-02 03:04:${row === 9 ? 'unknown' : String(row).padStart(2, '0')}`,
  (row) => `word "${row}"`,
  (row) => (row < 40 ? '' : `${row / 2}`),
  (row) => (row < 40 ? '' : row === 50 ? 'NA' : `${row}`),
  () => '',
  (row) => (row % 3 === 0 ? '' : row % 3 === 1 ? '-' : 'null'),
];

/** Those whose values are read without patterns: times of several forms in one column are not. */
const PLAIN = KINDS.filter((_, at) => at !== 10);

function csvOf(columns: number, kinds = KINDS): string {
  const places = Array.from({ length: columns }, (_, at) => at);
  const quoted = (cell: string) => (cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell);
  const rows = Array.from({ length: ROWS }, (_, row) =>
    places.map((at) => quoted(kinds[at % kinds.length]?.(row) ?? '')).join(','),
  );
  return `${[places.map((at) => `f${at}`).join(','), ...rows].join('\n')}\n`;
}

describe('files of many columns', () => {
  let loads: Loads;

  beforeEach(async () => {
    loads = await openLoads();
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    await loads.dispose();
  });

  const load = async (columns: number) => {
    await loads.load(await loads.create(`of_${columns}`), csvOf(columns));
    const seen = await loads.seen(`of_${columns}`);
    const types = new Map(seen.columns.map((column) => column.split(/ (.*)/) as [string, string]));
    const rows = (seen.rows as unknown[][]).map((row) => {
      const named = Object.fromEntries([...types.keys()].map((name, at) => [name, row[at] ?? null]));
      return { ...named, ...(named['_extra'] as object) } as Record<string, unknown>;
    });
    return { types, rows };
  };

  it('have the types and values of the same columns in a file of few, also in _extra', async () => {
    const [few, many] = [await load(KINDS.length), await load(COLUMNS)];
    const names = Array.from({ length: COLUMNS }, (_, at) => [`f${at}`, `f${at % KINDS.length}`] as const);
    expect(many.types.has('_extra')).toBe(true);
    for (const [name, alike] of names.slice(0, 500))
      expect([name, many.types.get(name)]).toEqual([name, few.types.get(alike)]);
    expect(many.rows).toHaveLength(ROWS);
    for (const [at, row] of many.rows.entries()) {
      const wanted = Object.fromEntries(names.map(([name, alike]) => [name, few.rows[at]?.[alike]]));
      expect(Object.fromEntries(names.map(([name]) => [name, row[name] ?? null]))).toEqual(wanted);
    }
  });

  it('take as many statements and patterns as files of few, and text of SQL in proportion', async () => {
    const said: string[] = [];
    for (const method of ['prepare', 'run', 'runAndReadAll'] as const) {
      const given = DuckDBConnection.prototype[method] as (text: string, ...rest: unknown[]) => unknown;
      vi.spyOn(DuckDBConnection.prototype, method).mockImplementation(function (
        this: DuckDBConnection,
        text: string,
        ...rest: unknown[]
      ) {
        said.push(text);
        return given.call(this, text, ...rest) as never;
      });
    }
    const costOf = async (columns: number) => {
      const collection = await loads.create(`wide_${columns}`);
      said.length = 0;
      await loads.load(collection, csvOf(columns, PLAIN));
      const own = said.filter((text) => /read_csv|"_data"/.test(text));
      const text = own.join('\n');
      return { statements: own.length, patterns: text.match(/regexp_/g)?.length ?? 0, chars: text.length };
    };
    const [some, more] = [await costOf((40 * PLAIN.length) / 4), await costOf(40 * PLAIN.length)];
    expect(more.statements).toBe(some.statements);
    expect(more.patterns).toBe(some.patterns);
    expect(more.chars).toBeLessThan(4 * some.chars);
  });
});
