import { parseXml, XmlCdata, XmlElement, XmlText } from '@rgrove/parse-xml';
import type { JsonObject, JsonValue } from '../../contract/json.ts';
import type { FileFormat } from '../records.ts';
import { DEPTH_MAX } from '../values.ts';

export type XmlFormat = Extract<FileFormat, { kind: 'xml' }>;

/** More tags than this in one piece would keep the service from everything else for seconds. */
const TAGS_MAX = 500_000;

/**
 * The documents of one piece of XML, each the elements named `doc_tag` within the first `root_tag`; without `doc_tag`, the
 * root is the one document. Throws `Error` with a clause that says why it is none.
 *
 * An element of text alone is a string; one with attributes or elements is an object, with its text under `value_tag` and
 * its attributes under `attribute_prefix` and their names. Elements of one name are an array. Entities that the text
 * itself declares are not known, so that none can grow or reach a file.
 */
export function xmlDocuments(text: string, format: XmlFormat): JsonObject[] {
  const tags = text.split('<', TAGS_MAX + 2).length - 1;
  if (tags > TAGS_MAX) throw new Error(`it has more than ${TAGS_MAX} tags; send it in smaller pieces`);
  const top = rootOf(text);
  const root = format.root_tag === null ? top : firstNamed(top, format.root_tag);
  if (root === undefined) throw new Error(`it has no element "${format.root_tag}", the root_tag`);
  const found = format.doc_tag === null ? [root] : allNamed(root, format.doc_tag);
  return found.map((element) => {
    const value = jsonOf(element, format, 0);
    return typeof value === 'object' ? (value as JsonObject) : { [format.value_tag]: value };
  });
}

function rootOf(text: string): XmlElement {
  let root: XmlElement | null;
  try {
    ({ root } = parseXml(text));
  } catch (error) {
    if (error instanceof RangeError) throw new Error('it is nested too deeply', { cause: error });
    const message = error instanceof Error ? error.message : String(error);
    throw new Error((message.split('\n', 1)[0] ?? '').replace(/[.\s]+$/, ''), { cause: error });
  }
  if (root === null) throw new Error('it has no element');
  return root;
}

function elementsOf(element: XmlElement): XmlElement[] {
  return element.children.filter((child) => child instanceof XmlElement);
}

/** The first in the order of the text, the root itself included. */
function firstNamed(root: XmlElement, name: string): XmlElement | undefined {
  const left = [root];
  for (let element = left.pop(); element !== undefined; element = left.pop()) {
    if (element.name === name) return element;
    for (const child of elementsOf(element).reverse()) left.push(child);
  }
  return undefined;
}

/** All in the order of the text that are not within another one, the root itself included. */
function allNamed(root: XmlElement, name: string): XmlElement[] {
  const found: XmlElement[] = [];
  const left = [root];
  for (let element = left.pop(); element !== undefined; element = left.pop()) {
    if (element.name === name) found.push(element);
    else for (const child of elementsOf(element).reverse()) left.push(child);
  }
  return found;
}

function jsonOf(element: XmlElement, format: XmlFormat, level: number): JsonValue {
  if (level > DEPTH_MAX) throw new Error(`it is nested more than ${DEPTH_MAX} levels deep`);
  const members = new Map<string, JsonValue[]>();
  const put = (name: string, value: JsonValue) => {
    const before = members.get(name);
    if (before === undefined) members.set(name, [value]);
    else before.push(value);
  };
  for (const [name, value] of Object.entries(element.attributes)) put(`${format.attribute_prefix}${name}`, value);
  const texts: string[] = [];
  for (const child of element.children) {
    if (child instanceof XmlElement) put(child.name, jsonOf(child, format, level + 1));
    else if (child instanceof XmlText || child instanceof XmlCdata) texts.push(child.text);
  }
  const text = texts.join('').trim();
  if (members.size === 0) return text;
  if (text !== '') put(format.value_tag, text);
  // fromEntries keeps a name such as __proto__ a name like any other.
  return Object.fromEntries(
    [...members].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? null) : values]),
  );
}
