import { type JsonObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';
import { isEnough, LAST_ROWS, type SeenRow, type SeenRows, seenRow } from '../ingest/seen-rows.ts';
import { entryOf } from './json-entry.ts';
import { itemsOf, type JsonPart, linesIn } from './json-parts.ts';
import type { LoadOptions } from './loading.ts';

/** Documents at the beginning whose texts are looked at. */
const BEGINNING_MAX = 200;
const BEGINNING_BYTES_MAX = 128 * 1024;
/** What is kept of the end of a part. */
const TAIL_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
/** The digits of a number that a workbook shows. */
const DIGITS = 15;

type Options = Pick<LoadOptions, 'idField' | 'fileField' | 'unit'>;
type Placed = { at: number; document: JsonObject };

/** What is looked at of a stream of documents: the first, and the last ones of lines. */
export class DocumentLook {
  /** The first documents. */
  readonly beginning: JsonObject[] = [];
  readonly #options: Options;
  readonly #first: Placed[] = [];
  readonly #names = new Set<string>();
  #cells = 0;
  #chars = 0;
  /** Whether all documents so far are among the first. */
  #isWhole = true;
  #isOrdered = true;
  #tail: JsonPart | undefined;
  #taking: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Looks at a part, each after the one before it; its bytes are used up when that is done. */
  take(part: JsonPart): Promise<void> {
    this.#taking = this.#taking.then(() => this.#look(part));
    return this.#taking;
  }

  async #look(part: JsonPart): Promise<void> {
    this.#tail = part.isLines ? tailOf(part) : undefined;
    if (!this.#isWhole) return;
    this.#isOrdered &&= part.isLines;
    for (const item of itemsOf(part)) {
      if (this.#isFull) {
        this.#isWhole = false;
        return;
      }
      const entry = await entryOf(part.bytes, item, this.#options);
      if ('document' in entry)
        this.#put(entry.document, item.end - item.start, this.#isOrdered ? entry.line : undefined);
    }
  }

  /** Takes one of the first documents, with its line if it has one of its own. */
  #put(document: JsonObject, chars: number, line?: number): void {
    for (const name of Object.keys(document)) this.#names.add(name);
    // What is asked of documents is asked of all fields.
    this.#cells += this.#names.size;
    this.#chars += chars;
    this.#first.push({ at: line ?? this.#first.length + 1, document });
    if (this.#first.length <= BEGINNING_MAX && this.#chars <= BEGINNING_BYTES_MAX) this.beginning.push(document);
  }

  get #isFull(): boolean {
    return isEnough({ rows: this.#first.length, cells: this.#cells, chars: this.#chars });
  }

  /** What was seen of so many entries. */
  async seen(entries: number): Promise<SeenRows> {
    const tail = this.#tail;
    if (this.#isWhole || tail === undefined) return this.#seenOf(undefined, entries);
    const last: Placed[] = [];
    for (const item of [...itemsOf(tail)].slice(-LAST_ROWS)) {
      const entry = await entryOf(tail.bytes, item, this.#options);
      if ('document' in entry) last.push({ at: entry.line, document: entry.document });
    }
    return this.#seenOf(last, entries);
  }

  /** What was seen of these documents; `isWhole`: there are no others. */
  seenOf(documents: readonly JsonObject[], isWhole: boolean): SeenRows {
    this.#isOrdered = false;
    const taken = documents.findIndex((document) => {
      if (!this.#isFull) this.#put(document, 0);
      return this.#isFull;
    });
    this.#isWhole = isWhole && (taken < 0 || taken === documents.length - 1);
    return this.#seenOf(undefined, documents.length);
  }

  #seenOf(last: readonly Placed[] | undefined, entries: number): SeenRows {
    const names = [...this.#names];
    const seen = ({ at, document }: Placed): SeenRow => {
      const cells = names.map((name) => textOf(document, name));
      return seenRow(at, cells);
    };
    const first = this.#first.map(seen);
    const { unit = 'line' } = this.#options;
    return {
      names,
      header: undefined,
      place: this.#isOrdered ? unit : 'document',
      first,
      last: this.#isWhole ? first.slice(-LAST_ROWS) : last?.map(seen),
      rows: this.#isWhole ? first.length : Math.max(entries, first.length + 1),
      isLoose: unit !== 'row',
    };
  }
}

function textOf(document: JsonObject, name: string): string | null {
  const value: JsonValue = Object.hasOwn(document, name) ? (document[name] ?? null) : null;
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return String(Number(value.toPrecision(DIGITS)));
  return typeof value === 'object' ? stringifyJson(value) : String(value);
}

/** A copy of the last lines of a part. */
function tailOf({ bytes, line }: JsonPart): JsonPart {
  const least = Math.max(0, bytes.length - TAIL_BYTES_MAX);
  let start = bytes.length;
  for (let lines = 0; lines <= LAST_ROWS && start > least; lines++) {
    const feed = bytes.lastIndexOf(LINE_FEED, start - 1);
    if (feed < least) break;
    start = feed;
  }
  return { bytes: Buffer.from(bytes.subarray(start)), line: line + linesIn(bytes, 0, start), isLines: true };
}
