import { parseXml, XmlCdata, XmlElement, XmlText } from '@rgrove/parse-xml';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { DEPTH_MAX } from '../../contract/json/measure.ts';
import { withoutTrailing } from '../../contract/text.ts';
import type { FileFormat } from '../catalog/records.ts';

export type XmlFormat = Extract<FileFormat, { kind: 'xml' }>;

/** Tags and entities in one piece, which is parsed in one go: these take less than a tenth of a second. */
const MARKS_MAX = 20_000;
/** Characters in one piece. */
const CHARS_MAX = 1024 * 1024;

/**
 * The documents in one piece of XML: the elements named `doc_tag` within the first `root_tag`; without `doc_tag`, the
 * root itself. Throws an `Error` whose message is a clause saying what is wrong.
 *
 * An element with only text becomes a string; one with attributes or child elements becomes an object, with its text
 * under `value_tag`, and each attribute under its name after `attribute_prefix`. Elements with the same name become an
 * array. Entities declared in the text are not expanded, so that none can blow up or read a file.
 */
export function xmlDocuments(text: string, format: XmlFormat): JsonObject[] {
  const count = { tags: countOf(text, '<'), entities: countOf(text, '&') };
  for (const [what, found] of Object.entries(count)) {
    if (found > MARKS_MAX) throw new Error(`it has more than ${MARKS_MAX} ${what}; send it in smaller pieces`);
  }
  if (text.length > CHARS_MAX) throw new Error(`it has more than ${CHARS_MAX} characters; send it in smaller pieces`);
  // As XML has it; the parser takes a time that grows with the square of their number.
  const top = rootOf(text.replace(/\r\n?/g, '\n'));
  const root = format.root_tag === null ? top : firstNamed(top, format.root_tag);
  if (root === undefined) throw new Error(`it has no element "${format.root_tag}", the root_tag`);
  const found = format.doc_tag === null ? [root] : allNamed(root, format.doc_tag);
  return found.map((element) => {
    const value = jsonOf(element, format, 0);
    return typeof value === 'object' ? (value as JsonObject) : { [format.value_tag]: value };
  });
}

/** How often a character occurs, or one more than `MARKS_MAX`. */
function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= MARKS_MAX; at = text.indexOf(character, at + 1))
    count += 1;
  return count;
}

function rootOf(text: string): XmlElement {
  let root: XmlElement | null;
  try {
    ({ root } = parseXml(text));
  } catch (error) {
    if (error instanceof RangeError) throw new Error('it is nested too deeply', { cause: error });
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(withoutTrailing(message.split('\n', 1)[0] ?? '', '.'), { cause: error });
  }
  if (root === null) throw new Error('it has no element');
  return root;
}

function elementsOf(element: XmlElement): XmlElement[] {
  return element.children.filter((child) => child instanceof XmlElement);
}

/** The first element with that name in document order; may be the root itself. */
function firstNamed(root: XmlElement, name: string): XmlElement | undefined {
  const left = [root];
  for (let element = left.pop(); element !== undefined; element = left.pop()) {
    if (element.name === name) return element;
    for (const child of elementsOf(element).reverse()) left.push(child);
  }
  return undefined;
}

/** All elements with that name in document order, except those inside another one; may include the root itself. */
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
  // fromEntries treats a name such as __proto__ like any other.
  return Object.fromEntries(
    [...members].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? null) : values]),
  );
}
