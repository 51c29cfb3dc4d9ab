import type { Column } from './result.ts';
import { compareNumbers, compareValues, isNumeral, type Kind, plainText, timeOf } from './values.ts';

export type Operator = 'contains' | '=' | '<>' | '<' | '<=' | '>' | '>=' | 'null' | 'not null';

/** A condition for rows. */
export interface Condition {
  /** Index of the column; undefined: any column. */
  column: number | undefined;
  operator: Operator;
  /** As typed. */
  value: string;
}

export interface Sort {
  column: number;
  isDescending: boolean;
}

/** The operators that make sense for a kind, the most likely first; kind undefined: for any column. */
export function operatorsFor(kind: Kind | undefined): readonly Operator[] {
  if (kind === undefined) return ['contains'];
  if (kind === 'nested') return ['contains', 'null', 'not null'];
  if (kind === 'text') return ['contains', '=', '<>', 'null', 'not null'];
  if (kind === 'boolean') return ['=', '<>', 'null', 'not null'];
  return ['>=', '>', '=', '<>', '<', '<=', 'contains', 'null', 'not null'];
}

/** Why a condition is not valid, as a sentence; undefined if it is. */
export function faultOf({ column, operator, value }: Condition, columns: readonly Column[]): string | undefined {
  const kind = column === undefined ? undefined : columns[column]?.kind;
  if (operator === 'contains' || operator === 'null' || operator === 'not null') return undefined;
  const text = value.trim();
  if (kind === 'number' && !isNumeral(text)) return 'Type a number, such as 4.5.';
  if (kind === 'time' && timeOf(text) === undefined) return 'Type a time, such as 2026-01-31 or 2026-01-31T12:00:00Z.';
  if (kind === 'boolean' && !/^(true|false)$/i.test(text)) return 'Type true or false.';
  return undefined;
}

/** Whether a row meets the condition. */
export function holds(condition: Condition, columns: readonly Column[], row: readonly unknown[]): boolean {
  if (condition.column !== undefined) {
    return holdsFor(condition, columns[condition.column]?.kind ?? 'text', row[condition.column]);
  }
  return columns.some((column, index) => holdsFor(condition, column.kind, row[index]));
}

function holdsFor({ operator, value }: Condition, kind: Kind, cell: unknown): boolean {
  const isNull = cell === null || cell === undefined;
  if (operator === 'null' || operator === 'not null') return isNull === (operator === 'null');
  if (isNull) return false;
  if (operator === 'contains') return plainText(cell).toLowerCase().includes(value.toLowerCase());
  const order = orderOf(kind, cell, value);
  if (operator === '=') return order === 0;
  if (operator === '<>') return order !== 0;
  if (operator === '<') return order < 0;
  if (operator === '<=') return order <= 0;
  return operator === '>' ? order > 0 : order >= 0;
}

/** Compares a cell with the typed value; texts are only tested for equality. */
function orderOf(kind: Kind, cell: unknown, value: string): number {
  if (kind === 'number') return compareNumbers(cell, value.trim());
  if (kind === 'time') return (timeOf(cell) ?? 0) - (timeOf(value.trim()) ?? 0);
  if (kind === 'boolean') return String(cell) === value.trim().toLowerCase() ? 0 : 1;
  return plainText(cell) === value ? 0 : 1;
}

/** The rows in order: NULL last, equal rows in their original order. */
export function sorted<Row extends readonly unknown[]>(
  rows: readonly Row[],
  { column, isDescending }: Sort,
  kind: Kind,
): Row[] {
  const isNull = (row: Row) => row[column] === null || row[column] === undefined;
  const there = rows.filter((row) => !isNull(row));
  there.sort((a, b) => compareValues(kind, a[column], b[column]) * (isDescending ? -1 : 1));
  return [...there, ...rows.filter(isNull)];
}

const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;
const quoteText = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** The condition in SQL, for `fetch_result`. */
export function whereOf({ column, operator, value }: Condition, columns: readonly Column[]): string {
  if (column === undefined) {
    return columns.map(({ name }) => contains(name, value)).join(' OR ') || 'true';
  }
  const { name, kind, type } = columns[column] ?? { name: '', kind: 'text', type: null };
  if (operator === 'null') return `${quoteName(name)} IS NULL`;
  if (operator === 'not null') return `${quoteName(name)} IS NOT NULL`;
  if (operator === 'contains') return contains(name, value);
  return `${quoteName(name)} ${operator} ${literalOf(kind, type, value)}`;
}

function contains(name: string, value: string): string {
  return `contains(lower(CAST(${quoteName(name)} AS VARCHAR)), lower(${quoteText(value)}))`;
}

function literalOf(kind: Kind, type: string | null, value: string): string {
  const text = value.trim();
  if (kind === 'number') return text.replace(/^\+/, '');
  if (kind === 'boolean') return text.toLowerCase();
  if (kind === 'time') return `CAST(${quoteText(text)} AS ${/ZONE/i.test(type ?? '') ? 'TIMESTAMPTZ' : 'TIMESTAMP'})`;
  return quoteText(value);
}

/** The order in SQL, for `fetch_result`. */
export function orderByOf({ column, isDescending }: Sort, columns: readonly Column[]): string {
  const { name, kind } = columns[column] ?? { name: '', kind: 'text' };
  const direction = isDescending ? 'DESC' : 'ASC';
  const by = (expression: string) => `${expression} ${direction} NULLS LAST`;
  if (kind === 'nested') return by(`CAST(${quoteName(name)} AS VARCHAR)`);
  if (kind === 'text') return `${by(`lower(CAST(${quoteName(name)} AS VARCHAR))`)}, ${by(quoteName(name))}`;
  return by(quoteName(name));
}
