/** Builds elements without parsing markup: data can only become text or the value of an attribute. */

type Value = string | number | boolean | undefined;

interface Properties {
  [attribute: string]: Value | Listeners;
}

type Listeners = Readonly<Record<string, (event: Event) => void>>;

type Child = Node | string | undefined;

const SVG = 'http://www.w3.org/2000/svg';

function fill(element: Element, properties: Properties, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === 'object') {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else set(element, name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
}

/** Sets an attribute; true sets it to the empty text, false and undefined remove it. */
export function set(element: Element, name: string, value: Value): void {
  if (value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? '' : String(value));
}

/** An HTML element; `on` has its event listeners. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, properties, children);
  return element;
}

export function svg(tag: string, properties: Properties = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  fill(element, properties, children);
  return element;
}

/** A `select` with the texts of `options`; `chosen` is called with the index. */
export function select(
  label: string,
  options: readonly string[],
  selected: number,
  chosen: (index: number) => void,
): HTMLLabelElement {
  const list = el(
    'select',
    { on: { change: () => chosen(list.selectedIndex) } },
    ...options.map((text, index) => el('option', { value: index, selected: index === selected }, text)),
  );
  return el('label', { class: 'field' }, el('span', {}, label), list);
}
