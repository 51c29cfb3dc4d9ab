import { type Condition, faultOf, type Operator, operatorsFor } from './condition.ts';
import { el, select, set } from './dom.ts';
import type { Column } from './result.ts';

const OPERATOR_NAMES: Readonly<Record<Operator, string>> = {
  contains: 'contains',
  '=': 'is',
  '<>': 'is not',
  '<': 'is less than',
  '<=': 'is at most',
  '>': 'is more than',
  '>=': 'is at least',
  null: 'is NULL',
  'not null': 'is not NULL',
};

/** The controls for one condition; `wanted` is called with it on submission, and with undefined when it is cleared. */
export function createFilter(
  columns: readonly Column[],
  wanted: (condition: Condition | undefined) => void,
): HTMLElement {
  let column: number | undefined;
  let operator: Operator = 'contains';
  const value = el('input', {
    type: 'search',
    'aria-label': 'Value',
    placeholder: 'Filter rows',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const fault = el('p', { class: 'fault', id: 'filter-fault', role: 'alert', hidden: true });
  const operatorPlace = el('span', { class: 'place' });
  const tell = (message: string | undefined) => {
    fault.hidden = message === undefined;
    fault.textContent = message ?? '';
    set(value, 'aria-invalid', message === undefined ? undefined : 'true');
    set(value, 'aria-describedby', message === undefined ? undefined : fault.id);
  };
  const needsValue = () => operator !== 'null' && operator !== 'not null';
  const showOperators = () => {
    const possible = operatorsFor(column === undefined ? undefined : columns[column]?.kind);
    operator = possible[0] ?? 'contains';
    const names = possible.map((one) => OPERATOR_NAMES[one]);
    const list = select('Condition', names, possible.indexOf(operator), (index) => {
      operator = possible[index] ?? operator;
      value.hidden = !needsValue();
    });
    operatorPlace.replaceChildren(list);
    value.hidden = !needsValue();
  };
  const columnList = select('Column', ['Any column', ...columns.map(({ name }) => name)], 0, (index) => {
    column = index === 0 ? undefined : index - 1;
    tell(undefined);
    showOperators();
  });
  value.addEventListener('input', () => {
    if (value.value === '') wanted(undefined);
  });
  // Not a form: hosts need not allow their frames to submit one.
  const send = () => {
    const condition = { column, operator, value: value.value };
    const isEmpty = needsValue() && (value.value === '' || (operator === 'contains' && value.value.trim() === ''));
    const message = isEmpty ? undefined : faultOf(condition, columns);
    tell(message);
    if (message === undefined) wanted(isEmpty ? undefined : condition);
  };
  const clear = () => {
    value.value = '';
    tell(undefined);
    wanted(undefined);
    value.focus();
  };
  value.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') send();
  });
  showOperators();
  return el(
    'div',
    { class: 'filter', role: 'search', 'aria-label': 'Filter rows' },
    columnList,
    operatorPlace,
    value,
    el('button', { type: 'button', on: { click: send } }, 'Filter'),
    el('button', { type: 'button', class: 'quiet', on: { click: clear } }, 'Clear'),
    fault,
  );
}
