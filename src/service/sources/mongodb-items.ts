import { type Collecting, createCollecting, refusedItem } from './items.ts';
import { BsonError, documentText, type Element, elementsOf } from './mongodb-bson.ts';
import { idText, type PlainId, plainBy } from './mongodb-ids.ts';

/** Collects documents of a collection, given as BSON. */
export interface Items {
  readonly collecting: Collecting;
  /** What the `_id`s that were seen so far make plain; null: there was none. */
  readonly plain: PlainId | null;
  /** Adds a document, or that it is refused; returns where its `_id` is, if it has one. */
  add(bytes: Buffer): Element | undefined;
  /** Adds that the document of an `_id`, which lies in these bytes, is gone. */
  remove(bytes: Buffer, id: Element): void;
  /** The text of an `_id`; undefined if it has none, which is refused then. */
  idOf(bytes: Buffer, id: Element): string | undefined;
}

/** Longest name of an item, in characters. */
const ITEM_CHARS_MAX = 200;

/** `name`: the collection's. */
export function createItems(name: string, from: PlainId | null): Items {
  const collecting = createCollecting();
  let plain = from;

  function idOf(bytes: Buffer, id: Element): string | undefined {
    plain ??= plainBy(bytes, id);
    return tried(bytes, () => idText(bytes, id, plain ?? 'text'), 'an _id');
  }

  function tried<T>(bytes: Buffer, work: () => T, what: string): T | undefined {
    try {
      return work();
    } catch (error) {
      // A number that lies beyond the bytes, too.
      if (!(error instanceof BsonError) && !(error instanceof RangeError)) throw error;
      const reason = error instanceof BsonError ? error.message : 'is no valid BSON';
      collecting.refuse(refusedItem(itemName(name, what), reason, bytes.subarray(0, ITEM_CHARS_MAX)));
      return undefined;
    }
  }

  return {
    collecting,
    get plain() {
      return plain;
    },
    idOf,
    add(bytes) {
      const id = idIn(bytes);
      const text = id === undefined ? undefined : idOf(bytes, id);
      if (id !== undefined && text === undefined) return id;
      const read = tried(bytes, () => documentText(bytes), text ?? 'a document');
      if (read !== undefined && text !== undefined)
        collecting.add({ id: text, ...read, item: itemName(name, text) }, bytes.length);
      return id;
    },
    remove(bytes, id) {
      const text = idOf(bytes, id);
      if (text !== undefined) collecting.add({ id: text, document: null, item: itemName(name, text) }, bytes.length);
    },
  };
}

function itemName(name: string, id: string): string {
  return `${name}/${id}`.slice(0, ITEM_CHARS_MAX);
}

/** The `_id` of a document, which is nearly always its first element. */
export function idIn(bytes: Buffer): Element | undefined {
  return elementIn(bytes, '_id');
}

/** The element of this name; undefined if there is none that can be read. */
function elementIn(bytes: Buffer, name: string): Element | undefined {
  try {
    for (const element of elementsOf(bytes)) if (element.name === name) return element;
  } catch (error) {
    if (!(error instanceof BsonError) && !(error instanceof RangeError)) throw error;
  }
  return undefined;
}
