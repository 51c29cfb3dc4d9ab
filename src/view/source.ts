import type { Bridge } from './bridge.ts';
import { type Condition, holds, orderByOf, type Sort, sorted, whereOf } from './condition.ts';
import { type Column, type Part, partOf } from './result.ts';

type Rows = readonly (readonly unknown[])[];

/** Which rows are wanted, and in which order. */
export interface Wanted {
  condition: Condition | undefined;
  sort: Sort | undefined;
}

export interface Page {
  rows: Rows;
  offset: number;
  /** Number of rows that meet the condition. */
  total: number;
  isAtLeast: boolean;
}

/** The selection that the opening answer had already made: its filter, order and columns. */
export interface Base {
  where?: string | undefined;
  orderBy?: string | undefined;
  columns?: readonly string[] | undefined;
}

/** The source of rows: those that came with the answer, or the kept result, page by page. */
export interface Source {
  columns: readonly Column[];
  /** All rows came with the answer, with all their values. */
  isWhole: boolean;
  /** Why no more rows are available, as a sentence; undefined if they are. */
  whyNoMore: string | undefined;
  /** One page of rows; rejects with an error whose message is a sentence. */
  page(wanted: Wanted, offset: number, limit: number, signal: AbortSignal): Promise<Page>;
  /**
   * The first wanted rows, in the order of the result, with the values of only some columns; calls `told` as rows
   * arrive. If it fails, resolves to the rows that arrived, with the reason.
   */
  sample(want: Sampling, told: (page: Page) => void): Promise<Page & { fault?: string }>;
}

export interface Sampling {
  condition: Condition | undefined;
  /** Indexes of columns. */
  columns: readonly number[];
  /** The first of these rows, from an earlier sample. */
  had: Rows;
  rowsMax: number;
  signal: AbortSignal;
}

export function createSource(first: Part, base: Base, callTool: Bridge['callTool']): Source {
  const hasAllRows = first.offset === 0 && !first.isAtLeast && first.rows.length >= first.total;
  if (hasAllRows && !first.isCut) return localSource(first, true, undefined);
  if (first.queryId !== undefined && callTool !== undefined) return keptSource(first, first.queryId, base, callTool);
  const why = first.queryId === undefined ? 'The whole result is not kept' : 'This host lets a view ask for nothing';
  const limits = [
    hasAllRows ? '' : 'only the rows that came with the answer are here',
    first.isCut ? 'filter and order see values and columns only as far as they are shown' : '',
  ];
  return localSource(first, false, `${why}, so ${limits.filter((limit) => limit !== '').join(', and ')}.`);
}

function localSource(first: Part, isWhole: boolean, why: string | undefined): Source {
  const { columns, rows } = first;
  const found = (condition: Condition | undefined) =>
    condition === undefined ? rows : rows.filter((row) => holds(condition, columns, row));
  return {
    columns,
    isWhole,
    whyNoMore: why,
    async page({ condition, sort }, offset, limit) {
      const all = found(condition);
      const ordered = sort === undefined ? all : sorted(all, sort, columns[sort.column]?.kind ?? 'text');
      return { rows: ordered.slice(offset, offset + limit), offset, total: all.length, isAtLeast: false };
    },
    async sample({ condition }) {
      const all = found(condition);
      const total = condition === undefined ? first.total : all.length;
      return { rows: all, offset: 0, total, isAtLeast: first.isAtLeast };
    },
  };
}

function keptSource(first: Part, queryId: string, base: Base, callTool: NonNullable<Bridge['callTool']>): Source {
  const { columns } = first;
  const whereFor = (condition: Condition | undefined) => {
    const where = condition === undefined ? undefined : whereOf(condition, columns);
    if (base.where === undefined || where === undefined) return base.where ?? where;
    return `(${base.where}\n) AND (${where})`;
  };
  const fetchPart = async (args: Readonly<Record<string, unknown>>) => {
    const present = Object.entries(args).filter(([, value]) => value !== undefined);
    return partOf(await callTool('fetch_result', { query_id: queryId, ...Object.fromEntries(present) }));
  };
  /** Asks repeatedly, since an answer is limited in size, until there are enough rows. */
  const collect = async (args: Readonly<Record<string, unknown>>, at: Place, tell: (page: Page) => void) => {
    const rows: (readonly unknown[])[] = [...at.had];
    let calls = 0;
    for (;;) {
      const offset = at.offset + rows.length;
      const part = await fetchPart({ ...args, offset, limit: Math.min(at.limit - rows.length, LIMIT_MAX) });
      at.signal.throwIfAborted();
      rows.push(...part.rows.map(at.fit));
      const page = { rows, offset: at.offset, total: part.total, isAtLeast: part.isAtLeast };
      tell(page);
      const isEnd = part.rows.length === 0 || at.offset + rows.length >= part.total;
      if (isEnd || rows.length >= at.limit || ++calls >= CALLS_MAX) return page;
    }
  };
  return {
    columns,
    isWhole: false,
    whyNoMore: undefined,
    page({ condition, sort }, offset, limit, signal) {
      const orderBy = sort === undefined ? base.orderBy : orderByOf(sort, columns);
      const args = { where: whereFor(condition), order_by: orderBy, columns: base.columns };
      return collect(args, { offset, limit, signal, had: [], fit: (row) => row }, () => undefined);
    },
    async sample({ condition, columns: wanted, had, rowsMax, signal }, told) {
      const names = wanted.map((index) => columns[index]?.name ?? '');
      const holdsFor = (row: readonly unknown[]) => condition === undefined || holds(condition, columns, row);
      const came = had.length > 0 ? had : first.rows.filter(holdsFor);
      let last: Page = { rows: came, offset: 0, total: first.total, isAtLeast: first.isAtLeast };
      const tell = (page: Page) => {
        last = page;
        told(page);
      };
      try {
        const args = { where: whereFor(condition), order_by: base.orderBy, columns: names };
        const fit = (row: readonly unknown[]) => spreadRow(row, wanted);
        return await collect(args, { offset: 0, limit: rowsMax, signal, had, fit }, tell);
      } catch (error) {
        signal.throwIfAborted();
        return { ...last, fault: messageOf(error) };
      }
    },
  };
}

interface Place {
  offset: number;
  /** The rows that are already here. */
  had: Rows;
  /** Converts a row of an answer for keeping. */
  fit(row: readonly unknown[]): readonly unknown[];
  limit: number;
  signal: AbortSignal;
}

/** Most calls for one request of rows, which can be so large that few fit into an answer. */
const CALLS_MAX = 30;
/** Largest limit that `fetch_result` accepts. */
const LIMIT_MAX = 10_000;

/** The values of some columns, each at its index among all columns. */
function spreadRow(row: readonly unknown[], columns: readonly number[]): unknown[] {
  const full: unknown[] = [];
  for (const [at, column] of columns.entries()) full[column] = row[at];
  return full;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
