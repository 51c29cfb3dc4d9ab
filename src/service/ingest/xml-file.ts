import { ApiError } from '../../contract/errors.ts';
import { stringifyJson } from '../../contract/json/json.ts';
import type { Parsed } from './csv.ts';
import { XmlDocuments, type XmlElements, type XmlRules } from './xml.ts';
import { XmlError, XmlEvents } from './xml-events.ts';

/** How much of a file is read to find out which of its elements are documents, and which of those in them are repeated. */
export const OUTLINE_BYTES = 8 * 1024 * 1024;
const NAMES_MAX = 200;
const ELEMENTS_MAX = 10_000;
const TWICE = 2;

/** How a file of XML is read, as far as it was said. */
export interface XmlSettings {
  docTag?: string | undefined;
  rootTag?: string | undefined;
  valueTag?: string | undefined;
  attributePrefix?: string | undefined;
  /** Absent: what its first line says, or UTF-8. */
  encoding?: string | undefined;
}

export interface XmlBeginning {
  head: Buffer;
  /** Its bytes, from which as many are taken as tell what its documents are. */
  begin(): Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** A document, or why it is none, with the line where it begins and its size as text. */
export interface XmlEntry {
  bytes: number;
  entry: { at: number } & Parsed;
}

/** The entries found; after a `failure` the rest cannot be read. */
export interface XmlFound {
  entries: XmlEntry[];
  failure?: ApiError | undefined;
}

/** Parses the pieces of one file, in order. */
export interface XmlReader {
  read(piece: Buffer): XmlFound;
  /** The remaining entries, at the end of the file. */
  end(): XmlFound;
}

export interface XmlOpened {
  /** A reader of the whole file, from its beginning. */
  newReader(): XmlReader;
  /** The name of the documents' elements, if it was found and not given. */
  docTag?: string;
  /** If one element that holds all others is a document: those in it that are there several times. */
  lists?: { path: string; items: number }[];
}

/**
 * XML by the service's rules for the text of uploaded files. Without `docTag`, the children of the root (of the first
 * `rootTag`) are the documents if they all have one name, or else the root itself is.
 */
export async function openXml(
  bytes: XmlBeginning,
  { docTag, rootTag, valueTag, attributePrefix, encoding: given }: XmlSettings = {},
) {
  const encoding = given === undefined ? encodingOf(bytes.head) : knownEncoding(given);
  const rules: XmlRules = {
    root_tag: rootTag ?? null,
    doc_tag: docTag ?? null,
    value_tag: valueTag ?? '#text',
    attribute_prefix: attributePrefix ?? '@',
  };
  const { children, repeated, elements } = await outlineOf(bytes, encoding, rules.root_tag);
  rules.elements = elements;
  if (docTag !== undefined) return { newReader: () => xmlReader(rules, encoding) } satisfies XmlOpened;
  const [only] = children;
  const isEachChild = children.size === 1 && only !== undefined;
  const opened: XmlOpened = {
    newReader: () => xmlReader(isEachChild ? { ...rules, doc_tag: only[0], isEachChild } : rules, encoding),
  };
  if (isEachChild) opened.docTag = only[0];
  if (repeated.length > 0 && !(isEachChild && only[1] > 1)) opened.lists = repeated;
  return opened;
}

function xmlReader(rules: XmlRules, encoding: string): XmlReader {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let entries: XmlEntry[] = [];
  const documents = new XmlDocuments(rules, (parsed, at) => {
    if ('document' in parsed) {
      entries.push({ bytes: stringifyJson(parsed.document).length, entry: { at, ...parsed } });
      return;
    }
    const hint = rules.doc_tag === null || rules.isEachChild === true ? DOC_TAG : '';
    entries.push({ bytes: 0, entry: { at, problem: `${parsed.problem}${hint}` } });
  });
  const found = (piece: Buffer | undefined): XmlFound => {
    let failure: ApiError | undefined;
    try {
      if (piece !== undefined) documents.write(decoder.decode(piece, { stream: true }));
      else {
        documents.write(decoder.decode());
        documents.end();
      }
    } catch (error) {
      failure = failureOf(error, documents.line, encoding);
    }
    const taken = entries;
    entries = [];
    return { entries: taken, failure };
  };
  return { read: found, end: () => found(undefined) };
}

const DOC_TAG = '; "doc_tag" names the elements that are the documents';

function failureOf(error: unknown, line: number, encoding: string): ApiError {
  if (error instanceof XmlError) {
    const at = error.line.toLocaleString('en-US');
    return new ApiError('invalid_input', `The file is not XML, at line ${at}: ${error.message}.`, { cause: error });
  }
  if (!(error instanceof TypeError)) throw error;
  const message = `The file is not valid ${encoding} after line ${line.toLocaleString('en-US')}. If it is in another encoding, its first line has to say so: <?xml version="1.0" encoding="ISO-8859-1"?>.`;
  return new ApiError('invalid_input', message, { cause: error });
}

/** What the declaration in the first line says; UTF-16 has been refused before by its bytes. */
function encodingOf(head: Buffer): string {
  const [, label = 'utf-8'] = /^[^<]{0,3}<\?xml[^>]{0,200}encoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})/.exec(
    head.toString('latin1', 0, 400),
  ) ?? [undefined];
  return /^utf-?16/i.test(label) ? 'utf-8' : knownEncoding(label);
}

function knownEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    const message = `The file says that its encoding is ${JSON.stringify(label)}, which is not known here. Convert it to UTF-8.`;
    throw new ApiError('invalid_input', message, { cause: error });
  }
}

interface XmlOutline {
  /** The root's children, by name: how many there are. */
  children: Map<string, number>;
  /** The names of all elements that are there several times, the most frequent first. */
  repeated: { path: string; items: number }[];
  elements: XmlElements;
}

/** Notes which elements are repeated in one of their parents. */
class ElementsSeen {
  readonly all: XmlElements = { within: new Map(), isRepeated: false };
  readonly #open: { elements: XmlElements | undefined; names: Set<string> }[] = [
    { elements: this.all, names: new Set() },
  ];
  #count = 0;

  open(name: string): void {
    const around = this.#open.at(-1);
    let elements = around?.elements?.within.get(name);
    if (elements === undefined && around?.elements !== undefined && this.#count < ELEMENTS_MAX) {
      this.#count += 1;
      elements = { within: new Map(), isRepeated: false };
      around.elements.within.set(name, elements);
    }
    if (elements !== undefined && around?.names.has(name) === true) elements.isRepeated = true;
    around?.names.add(name);
    this.#open.push({ elements, names: new Set() });
  }

  close(): void {
    this.#open.pop();
  }
}

/** What is at the beginning of the file; the reader of the documents says what is wrong with it. */
async function outlineOf(bytes: XmlBeginning, encoding: string, rootTag: string | null): Promise<XmlOutline> {
  const children = new Map<string, number>();
  const names = new Map<string, number>();
  const seen = new ElementsSeen();
  let [level, rootLevel, isAfter] = [0, 0, false];
  const events = new XmlEvents({
    open(name) {
      level += 1;
      seen.open(name);
      if (isAfter) return;
      if (rootLevel > 0) countIn(names, name);
      if (rootLevel > 0 && level === rootLevel + 1) countIn(children, name);
      if (rootLevel === 0 && (rootTag === null || name === rootTag)) rootLevel = level;
    },
    close() {
      level -= 1;
      seen.close();
      if (level < rootLevel) isAfter = true;
    },
    text: () => undefined,
  });
  const decoder = new TextDecoder(encoding);
  let read = 0;
  try {
    for await (const piece of bytes.begin()) {
      events.write(decoder.decode(piece, { stream: true }));
      read += piece.length;
      if (read > OUTLINE_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
  }
  const repeated = [...names].flatMap(([path, items]) => (items < TWICE ? [] : [{ path, items }]));
  return { children, repeated: repeated.sort((a, b) => b.items - a.items), elements: seen.all };
}

function countIn(counts: Map<string, number>, name: string): void {
  const before = counts.get(name);
  if (before !== undefined || counts.size < NAMES_MAX) counts.set(name, (before ?? 0) + 1);
}
