import { isObject, type JsonObject, type JsonValue, setField } from '../../contract/json/json.ts';
import { ITEM_BYTES_MAX, ITEM_VALUES_MAX } from '../../contract/json/json-scan.ts';
import { DEPTH_MAX } from '../../contract/json/measure.ts';
import type { FileFormat } from '../catalog/records.ts';
import type { Parsed } from './csv.ts';
import { XmlError, XmlEvents } from './xml-events.ts';

export type XmlFormat = Extract<FileFormat, { kind: 'xml' }>;

/** Tags and entities in one piece, which is parsed in one go: these take less than a tenth of a second. */
const MARKS_MAX = 20_000;
/** Characters in one piece. */
const CHARS_MAX = 1024 * 1024;

/**
 * The documents in one piece of XML, see `XmlDocuments`. Throws an `Error` whose message is a clause saying what is
 * wrong.
 */
export function xmlDocuments(text: string, format: XmlFormat): Parsed[] {
  const count = { tags: countOf(text, '<'), entities: countOf(text, '&') };
  for (const [what, found] of Object.entries(count)) {
    if (found > MARKS_MAX) throw new Error(`it has more than ${MARKS_MAX} ${what}; send it in smaller pieces`);
  }
  if (text.length > CHARS_MAX) throw new Error(`it has more than ${CHARS_MAX} characters; send it in smaller pieces`);
  const documents: Parsed[] = [];
  const reader = new XmlDocuments(format, (parsed, line) => {
    documents.push('problem' in parsed ? { problem: `line ${line} ${parsed.problem}` } : parsed);
  });
  reader.write(text);
  reader.end();
  return documents;
}

/** How often a character occurs, or one more than `MARKS_MAX`. */
function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0 && count <= MARKS_MAX; at = text.indexOf(character, at + 1))
    count += 1;
  return count;
}

export interface XmlRules extends Pick<XmlFormat, 'root_tag' | 'doc_tag' | 'value_tag' | 'attribute_prefix'> {
  /** Whether every child of the root is a document, and has to be named `doc_tag`. */
  isEachChild?: boolean;
  /** What is known of the elements of the file, from the outermost on. */
  elements?: XmlElements;
}

/** Elements of one name in elements that are alike, and those in them. */
export interface XmlElements {
  within: Map<string, XmlElements>;
  /** Whether one of its parents has several of it: then it is an array wherever it is. */
  isRepeated: boolean;
}

/** An open element of a document. */
interface Open {
  members: Map<string, JsonValue[]>;
  texts: string[];
  elements: XmlElements | undefined;
}

/**
 * Finds documents in XML that comes in pieces: the elements named `doc_tag` within the first `root_tag`, but for those
 * inside of another one; without `doc_tag`, the root itself. `write` and `end` throw an `XmlError`.
 *
 * An element with only text becomes a string; one with attributes or child elements becomes an object, with its text
 * under `value_tag`, and each attribute under its name after `attribute_prefix`. Elements with the same name become an
 * array, and so does one alone that is known to be repeated elsewhere; one that is empty is missing. Entities declared in
 * the text are not expanded.
 */
export class XmlDocuments {
  readonly #rules: XmlRules;
  readonly #take: (parsed: Parsed, line: number) => void;
  readonly #events: XmlEvents;
  /** Number of open elements, and of those when the root was the innermost; 0: it has not begun. */
  #level = 0;
  #rootLevel = 0;
  #isAfterRoot = false;
  /** The open elements of the document that is being read. */
  #open: Open[] = [];
  /** What is known of the open elements, documents or not. */
  readonly #known: (XmlElements | undefined)[];
  /** Those of them that are left out, since the document is refused. */
  #refusedLevels = 0;
  #problem: string | undefined;
  #line = 0;
  #chars = 0;
  #values = 0;

  constructor(rules: XmlRules, take: (parsed: Parsed, line: number) => void) {
    this.#rules = rules;
    this.#known = [rules.elements];
    this.#take = take;
    this.#events = new XmlEvents({
      open: (name, attributes, line) => this.#begin(name, attributes, line),
      close: (name) => this.#end(name),
      text: (text) => this.#addText(text),
    });
  }

  /** The line that has been reached. */
  get line(): number {
    return this.#events.line;
  }

  write(text: string): void {
    this.#events.write(text);
  }

  end(): void {
    this.#events.end();
    const { root_tag: rootTag } = this.#rules;
    if (this.#rootLevel === 0) throw new XmlError(`it has no element "${rootTag}", the root_tag`, this.#events.line);
  }

  #begin(name: string, attributes: Readonly<Record<string, string>>, line: number): void {
    this.#level += 1;
    const elements = this.#known.at(-1)?.within.get(name);
    if (this.#rules.elements !== undefined) this.#known.push(elements);
    if (this.#problem !== undefined) {
      this.#refusedLevels += 1;
      return;
    }
    if (this.#open.length === 0 && !this.#isDocument(name, line)) return;
    if (this.#open.length === 0) {
      this.#line = line;
      this.#chars = 0;
      this.#values = 0;
    }
    const members = new Map<string, JsonValue[]>();
    this.#open.push({ members, texts: [], elements });
    this.#count(name.length, 1);
    if (this.#open.length > DEPTH_MAX + 1) this.#refuse(`is nested more than ${DEPTH_MAX} levels deep`);
    for (const [key, value] of Object.entries(attributes)) {
      this.#count(key.length + value.length, 1);
      put(members, `${this.#rules.attribute_prefix}${key}`, value);
    }
  }

  #isDocument(name: string, line: number): boolean {
    const { root_tag: rootTag, doc_tag: docTag, isEachChild } = this.#rules;
    if (this.#rootLevel === 0 && (rootTag === null || name === rootTag)) {
      this.#rootLevel = this.#level;
      if (isEachChild === true) return false;
    }
    if (this.#rootLevel === 0 || this.#isAfterRoot) return false;
    if (isEachChild !== true) return docTag === null ? this.#level === this.#rootLevel : name === docTag;
    if (name === docTag) return true;
    throw new XmlError(`an element "${name}" stands among those named "${docTag}", the documents`, line);
  }

  #addText(text: string): void {
    const open = this.#open.at(-1);
    if (open === undefined || this.#problem !== undefined) return;
    this.#count(text.length, 0);
    open.texts.push(text);
  }

  #count(chars: number, values: number): void {
    this.#chars += chars;
    this.#values += values;
    if (this.#chars > ITEM_BYTES_MAX) this.#refuse(`has more than ${ITEM_BYTES_MAX} characters (10 MiB)`);
    if (this.#values > ITEM_VALUES_MAX) this.#refuse(`has more than ${ITEM_VALUES_MAX} elements and attributes`);
  }

  /** Nothing more of the document is kept. */
  #refuse(problem: string): void {
    if (this.#problem !== undefined) return;
    this.#problem = problem;
    this.#refusedLevels = this.#open.length;
    this.#open = [];
  }

  #end(name: string): void {
    this.#level -= 1;
    if (this.#rules.elements !== undefined) this.#known.pop();
    if (this.#level < this.#rootLevel) this.#isAfterRoot = true;
    if (this.#problem !== undefined) {
      this.#refusedLevels -= 1;
      if (this.#refusedLevels > 0) return;
      this.#take({ problem: this.#problem }, this.#line);
      this.#problem = undefined;
      return;
    }
    const closed = this.#open.pop();
    if (closed === undefined) return;
    const value = jsonOf(closed, this.#rules.value_tag);
    const around = this.#open.at(-1);
    if (around !== undefined) put(around.members, name, value);
    else {
      const ofText = value === null ? {} : { [this.#rules.value_tag]: value };
      const document = isObject(value) ? (value as JsonObject) : ofText;
      this.#take({ document }, this.#line);
    }
  }
}

function put(members: Map<string, JsonValue[]>, name: string, value: JsonValue): void {
  const before = members.get(name);
  if (before === undefined) members.set(name, [value]);
  else before.push(value);
}

/** Null if the element is empty. */
function jsonOf({ members, texts, elements }: Open, valueTag: string): JsonValue {
  const text = texts.join('').trim();
  if (members.size === 0) return text === '' ? null : text;
  if (text !== '') put(members, valueTag, text);
  const object: JsonObject = {};
  for (const [name, values] of members) {
    const [only = null] = values;
    if (values.length > 1) setField(object, name, values);
    else if (only !== null) setField(object, name, elements?.within.get(name)?.isRepeated === true ? values : only);
  }
  return object;
}
