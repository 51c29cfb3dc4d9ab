import type { DuckDBValue } from '@duckdb/node-api';
import { isMissing, missingSql } from '../sql/missing.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import type { Shape } from '../values/shape.ts';
import { isTimeShape, type TimeShape } from '../values/time-text.ts';
import type { ColumnNote } from './column-notes.ts';
import { type CellKind, cellSql, isOfKind, isSafe, type Mixed, possibleKinds } from './csv-cells.ts';
import { BESIDE_MAX, belowOneAnother, lookAtMixed, type Most, mostOf, type Others } from './csv-mixed.ts';
import { timeKindOf } from './csv-times.ts';
import type { Ask } from './relation.ts';

/** What all cells of a column are. */
export interface CellsAre {
  /** Undefined: text. */
  kind: CellKind | undefined;
  shape: Shape;
  /** For text: the kind of its first cells. */
  tried?: CellKind | undefined;
  /** For text of which most is of one kind: the rest. */
  others?: Others | undefined;
  /** That not all of them are of this kind. */
  mixed?: Mixed | undefined;
}

/** Rows, and cells, that are looked at before those of all rows are tried for one kind each. */
const SAMPLE_ROWS = 2_000;
const SAMPLE_CELLS = 200_000;
/** No number or time is longer; long text need not be read for that. */
export const BEGINNING_CHARS = 64;
/** Columns that one statement looks at: of so many it holds the cells of some thousand rows. */
export const AT_ONCE = 1_000;

/** A column whose kind is not known yet. */
interface Open {
  sql: string;
  /** The kinds that no cell so far has ruled out; undefined: no cell has been seen. */
  kinds: readonly CellKind[] | undefined;
  /** The widest kind that its first cells have, and not all of them. */
  tried?: CellKind | undefined;
  /** What most of its first cells are. */
  most: Most | undefined;
  /** Whether it has cells, if only words for missing values. */
  hasText: boolean;
}

/**
 * What all cells of each column are, in every row of `from`: text unless all of them are of one kind, or nearly (`csv-mixed.ts`).
 * `times`: whether times are recognized. `first` are the first cells of each, or their beginnings.
 */
export async function cellKinds(
  ask: Ask,
  from: string,
  cells: readonly string[],
  times: boolean,
): Promise<{ kinds: Map<string, CellsAre>; first: ReadonlyMap<string, readonly unknown[]> }> {
  const found = new Map<string, CellsAre>();
  if (cells.length === 0) return { kinds: found, first: new Map() };
  const limit = Math.max(1, Math.min(SAMPLE_ROWS, Math.floor(SAMPLE_CELLS / cells.length)));
  const sample = await ask(`SELECT ${cells.map(beginning).join(', ')} FROM ${from} LIMIT ${limit}`);
  const seen = new Map(cells.map((sql, index) => [sql, sample.map((row) => row[index])] as const));
  const all = [...seen].map(([sql, first]): Open => {
    const most = mostOf(first, times);
    const hasText = first.some((cell) => typeof cell === 'string');
    // Among words for missing values it is of no kind alone.
    const isMixed = most !== undefined && first.some((cell) => typeof cell === 'string' && isMissing(cell));
    return { sql, kinds: isMixed ? [] : kindsOfAll(first, times), most, hasText };
  });
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE);
    // A column may be empty at the beginning.
    await seeFirst(
      ask,
      from,
      some.filter(({ kinds }) => kinds === undefined),
      times,
    );
    for (let left = some; left.length > 0; ) left = await settle(ask, from, left, found);
    await lookAgain(ask, from, some, found);
  }
  return { kinds: found, first: seen };
}

/** Looks at columns of text of which most is something else. */
async function lookAgain(
  ask: Ask,
  from: string,
  columns: readonly Open[],
  found: Map<string, CellsAre>,
): Promise<void> {
  for (const most of ['number', 'time', 'boolean'] as const) {
    const some = columns.filter((column) => mostIn(column, found.get(column.sql)) === most).map(({ sql }) => sql);
    if (some.length === 0) continue;
    const looked = await lookAtMixed(ask, from, some, most);
    for (const [index, sql] of some.entries()) {
      const { mixed, isSmall = true, others } = looked[index] ?? {};
      if (mixed === undefined) found.set(sql, { kind: undefined, shape: 'string', others });
      else found.set(sql, { kind: mixed.kind, shape: shapeOf(mixed.kind, isSmall), mixed });
    }
  }
}

function mostIn({ most }: Open, found: CellsAre | undefined): Most | undefined {
  if (found?.shape !== 'string') return undefined;
  if (found.tried === undefined) return most;
  return isTimeShape(found.tried) ? 'time' : found.tried === 'boolean' ? 'boolean' : 'number';
}

/** SQL for as much of a cell as tells what it may be. */
function beginning(sql: string): string {
  return `left(${sql}, ${BEGINNING_CHARS})`;
}

function kindsOfAll(cells: readonly unknown[], times: boolean): readonly CellKind[] | undefined {
  let kinds: readonly CellKind[] | undefined;
  for (const cell of cells) {
    if (typeof cell !== 'string' || isMissing(cell)) continue;
    const own = possibleKinds(cell, times);
    kinds = kinds?.filter((kind) => own.includes(kind)) ?? own;
    if (kinds.length === 0) break;
  }
  return kinds;
}

/** The kinds that the first cell of each column may be of that is no word for a missing value. */
async function seeFirst(ask: Ask, from: string, columns: readonly Open[], times: boolean): Promise<void> {
  if (columns.length === 0) return;
  const cells = columns.map(({ sql }) => sql);
  const rows = await ask(
    `SELECT i, any_value(${beginning('c')}) FILTER (NOT ${missingSql('c')}), count(*) FILTER (${missingSql('c')})
     FROM ${belowOneAnother(from, cells)} WHERE c IS NOT NULL GROUP BY i`,
  );
  for (const [at, text, missing] of rows) {
    const column = columns[Number(at)];
    if (column === undefined) continue;
    column.hasText = true;
    if (typeof text !== 'string') continue;
    column.most = mostOf([text], times);
    column.kinds = column.most !== undefined && Number(missing) > 0 ? [] : possibleKinds(text, times);
  }
}

/** Tries all rows for the narrowest kind that is left of each column; returns the columns that are not of that. */
async function settle(ask: Ask, from: string, columns: readonly Open[], found: Map<string, CellsAre>): Promise<Open[]> {
  const open: { column: Open; kind: CellKind }[] = [];
  for (const column of columns) {
    const [kind] = column.kinds ?? [];
    if (kind !== undefined) open.push({ column, kind });
    else {
      const shape = column.hasText ? 'string' : 'null';
      found.set(column.sql, { kind: undefined, shape, tried: column.tried });
    }
  }
  if (open.length === 0) return [];
  const tried = open.map(({ column: { sql }, kind }): Tried => ({ sql, kind }));
  const verdicts = await (open.length > BESIDE_MAX ? tryBelow : tryBeside)(ask, from, tried);
  const left: Open[] = [];
  for (const [index, { column, kind }] of open.entries()) {
    const [isAll, isSmall] = verdicts[index] ?? [];
    if (isAll === false) left.push({ ...column, kinds: column.kinds?.slice(1), tried: kind });
    else found.set(column.sql, { kind, shape: shapeOf(kind, isSmall !== false) });
  }
  return left;
}

/** Cells of a column, and the kind that they may all be of. */
interface Tried {
  sql: string;
  kind: CellKind;
}

/** Of columns: whether all cells are of their kind, and whether a double holds them if they are integers. */
type Verdicts = (readonly DuckDBValue[])[];

async function tryBeside(ask: Ask, from: string, columns: readonly Tried[]): Promise<Verdicts> {
  const figures = columns.flatMap(({ sql, kind }) => [areAll(sql, kind), kind === 'integer' ? areSmall(sql) : 'NULL']);
  const [row = []] = await ask(`SELECT ${figures.join(', ')} FROM ${from}`);
  return columns.map((_, index) => row.slice(2 * index, 2 * index + 2));
}

async function tryBelow(ask: Ask, from: string, columns: readonly Tried[]): Promise<Verdicts> {
  const verdicts: Verdicts = columns.map(() => []);
  for (const kind of new Set(columns.map((one) => one.kind))) {
    const some = columns.flatMap((one, at) => (one.kind === kind ? [{ at, sql: one.sql }] : []));
    const cells = some.map(({ sql }) => sql);
    const small = kind === 'integer' ? areSmall('c') : 'NULL';
    const rows = await ask(`SELECT i, ${areAll('c', kind)}, ${small} FROM ${belowOneAnother(from, cells)} GROUP BY i`);
    for (const [index, ...verdict] of rows) {
      const { at = 0 } = some[Number(index)] ?? {};
      verdicts[at] = verdict;
    }
  }
  return verdicts;
}

const SHOWN_CHARS = 40;
/** A day from 1982 to 2064. */
const EXCEL_DAY = /^[3-5]\d{4}$/;
const LONG_INTEGER = /^-?[1-9]\d{15,}$/;

/** Tells of a column that is text for the sake of a few cells. */
export function textNote(name: string, { kind, count, all, line, cell }: Others): ColumnNote {
  const number = LONG_INTEGER.test(cell) ? 'number that a DOUBLE gives back' : 'number as JSON writes it';
  const what = isTimeShape(kind) ? 'time like the others' : kind === 'boolean' ? 'boolean' : number;
  const some = `${count.toLocaleString('en-US')} of ${all.toLocaleString('en-US')} values`;
  const shown = JSON.stringify(cell.slice(0, SHOWN_CHARS));
  const field = quoteName(name);
  const serial =
    isTimeShape(kind) && EXCEL_DAY.test(cell)
      ? ` If that is a day as Excel counts them: coalesce(TRY_CAST(${field} AS DATE), DATE '1899-12-30' + TRY_CAST(${field} AS INTEGER)).`
      : '';
  return {
    cause: 'are text for the sake of a few of their values',
    text: `${JSON.stringify(name)} is text, since ${some} ${count === 1 ? 'is' : 'are'} no ${what}: line ${line.toLocaleString('en-US')} has ${shown}.${serial}`,
  };
}

/** SQL for whether all cells that are not empty are of a kind. */
function areAll(sql: string, kind: CellKind): string {
  return `bool_and(${sql} IS NULL OR ${isOfKind(sql, kind)})`;
}

/** SQL for whether a double holds all integers. */
function areSmall(sql: string): string {
  return `bool_and(${isSafe(cellSql(sql, 'integer'))})`;
}

function shapeOf(kind: CellKind, isSmall: boolean): Shape {
  if (kind === 'integer') return isSmall ? 'int53' : 'int64';
  return kind === 'huge' ? 'hugeint' : kind;
}

/** Columns of text of which all values are times that a column of times gives back; `texts` are the first of each. */
export async function timesAmong(
  ask: Ask,
  from: string,
  columns: readonly string[],
): Promise<{ found: Map<string, TimeShape>; texts: ReadonlyMap<string, readonly unknown[]> }> {
  const found = new Map<string, TimeShape>();
  if (columns.length === 0) return { found, texts: new Map() };
  // Only a column whose first rows have no value is read for one.
  const sample = await ask(`SELECT ${columns.map(beginning).join(', ')} FROM ${from} LIMIT ${SAMPLE_ROWS}`);
  const texts = new Map(columns.map((sql, index) => [sql, sample.map((row) => row[index])] as const));
  const first = columns.map((_, index) => sample.find((row) => row[index] !== null)?.[index] ?? null);
  const unseen = columns.filter((_, index) => first[index] === null);
  const [rest = []] =
    unseen.length === 0 || sample.length < SAMPLE_ROWS
      ? []
      : await ask(`SELECT ${unseen.map((sql) => `any_value(${beginning(sql)})`).join(', ')} FROM ${from}`);
  const open = columns.flatMap((sql, index) => {
    const text = first[index] ?? rest[unseen.indexOf(sql)];
    const shape = timeKindOf(String(text ?? ''));
    return shape === undefined ? [] : [{ sql, shape }];
  });
  if (open.length === 0) return { found, texts };
  const [row = []] = await ask(`SELECT ${open.map(({ sql, shape }) => areAll(sql, shape)).join(', ')} FROM ${from}`);
  for (const [index, { sql, shape }] of open.entries()) if (row[index] === true) found.set(sql, shape);
  return { found, texts };
}

export function sqlList(items: readonly string[]): string {
  return `[${items.map(quoteText).join(', ')}]`;
}
