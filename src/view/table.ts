import type { Sort } from './condition.ts';
import { el, set } from './dom.ts';
import type { Column } from './result.ts';
import type { Page } from './source.ts';

/** Longer texts, and nested values, are shown in full on demand. */
const CELL_CHARS_MAX = 48;
const PREVIEW_CHARS = 44;

export interface Table {
  element: HTMLElement;
  show(page: Page, sort: Sort | undefined): void;
}

/** The table of one page; `wantSort` is called with the column whose header was pressed. */
export function createTable(columns: readonly Column[], caption: string, wantSort: (column: number) => void): Table {
  const headers = columns.map((column, index) => header(column, () => wantSort(index)));
  const body = el('tbody');
  const table = el(
    'table',
    { 'aria-colcount': columns.length },
    el('caption', { class: 'unseen' }, caption),
    el('thead', {}, el('tr', { 'aria-rowindex': 1 }, ...headers)),
    body,
  );
  const element = el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table, scrollable' }, table);
  return {
    element,
    show({ rows, offset, total, isAtLeast }, sort) {
      set(table, 'aria-rowcount', isAtLeast ? -1 : total + 1);
      for (const [index, cell] of headers.entries()) {
        const direction = sort?.column === index ? (sort.isDescending ? 'descending' : 'ascending') : undefined;
        set(cell, 'aria-sort', direction);
      }
      const lines = rows.map((row, index) =>
        el('tr', { 'aria-rowindex': offset + index + 2 }, ...columns.map((column, at) => cellOf(column, row[at]))),
      );
      body.replaceChildren(...(lines.length > 0 ? lines : [emptyLine(columns.length)]));
      element.scrollTop = 0;
    },
  };
}

function header({ name, type, kind }: Column, sort: () => void): HTMLTableCellElement {
  const shownType = type === null ? undefined : el('span', { class: 'type', title: type }, typeName(type));
  return el(
    'th',
    { scope: 'col', class: kind },
    el('button', { type: 'button', on: { click: sort } }, el('span', { class: 'name', dir: 'auto' }, name), shownType),
  );
}

/** A column's type, shortened: that of a nested column can be long. */
function typeName(type: string): string {
  const [head = ''] = type.split('(');
  if (/\[\]$/.test(type)) return 'list';
  if (/^TIMESTAMP WITH TIME ZONE$/i.test(type)) return 'timestamptz';
  return head.toLowerCase();
}

function cellOf({ kind }: Column, value: unknown): HTMLTableCellElement {
  if (value === null || value === undefined) return el('td', { class: kind }, el('span', { class: 'null' }, 'NULL'));
  if (value === '') return el('td', { class: kind }, el('span', { class: 'null' }, 'empty text'));
  if (typeof value === 'object')
    return el('td', { class: 'nested' }, folded(JSON.stringify(value), JSON.stringify(value, null, 2), 'code'));
  const text = kind === 'time' ? timeText(String(value)) : String(value);
  const isLong = text.length > CELL_CHARS_MAX || text.includes('\n');
  return el('td', { class: kind, dir: 'auto' }, isLong ? folded(text, text, 'prose') : text);
}

/** A time without trailing zeros, which do not change it. */
function timeText(text: string): string {
  return text.replace(/^([\d-]{10})T/, '$1 ').replace(/\.\d+/, (fraction) => {
    let end = fraction.length;
    while (fraction[end - 1] === '0') end -= 1;
    return end === 1 ? '' : fraction.slice(0, end);
  });
}

function folded(line: string, whole: string, look: 'code' | 'prose'): HTMLElement {
  const letters = [...line.replace(/\s+/g, ' ').slice(0, 4 * PREVIEW_CHARS)];
  if (letters.length <= PREVIEW_CHARS && whole.length <= 2 * PREVIEW_CHARS) return el('span', { class: look }, line);
  const preview = `${letters.slice(0, PREVIEW_CHARS).join('')}…`;
  return el('details', {}, el('summary', { class: look, dir: 'auto' }, preview), el('pre', { dir: 'auto' }, whole));
}

function emptyLine(columnCount: number): HTMLTableRowElement {
  return el('tr', {}, el('td', { class: 'empty', colspan: Math.max(1, columnCount) }, 'No rows.'));
}
