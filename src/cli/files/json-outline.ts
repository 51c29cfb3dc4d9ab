/** Finds the lists and objects of objects inside a JSON file that is one object, by its bytes, without keeping what is in them. */

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [COMMA, COLON] = [0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
export const isSpace = (byte: number) => byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09;
const isMark = (byte: number, at: number) => byte === ([0xef, 0xbb, 0xbf][at] ?? -1);

const LISTS_MAX = 100;
const KEYS_MAX = 20;
const KEY_BYTES_MAX = 1_000;
const LEVELS_MAX = 20;
/** So many members that have so much of their keys in common are documents, and no parts of one. */
const ALIKE_MIN = 4;
const ALIKE_SHARE = 0.6;
const COLUMNS_MIN = 2;
const MEMBER_KEYS_MAX = 1_000;

export interface ObjectList {
  /** The keys that lead to it, joined by dots. */
  path: string;
  items: number;
  /** Where it begins and ends, in bytes, and the line of its beginning. */
  begin: number;
  end: number;
  line: number;
}

/** An object of which all members are objects. */
export interface Dictionary extends ObjectList {
  /** Whether they have nearly the same keys. */
  isAlike: boolean;
  /** Whether these are numbers of rows: the members are columns. */
  isColumns: boolean;
  /** Whether these begin with 0, and no column holds objects alone. */
  isFromZero: boolean;
  hasId: boolean;
}

export interface Outline {
  /** The lists that consist of objects and are in no other list. */
  lists: ObjectList[];
  /** In no list, nor in one whose members are alike. */
  dictionaries: Dictionary[];
  /** The first keys of the object. */
  keys: string[];
}

/** What is known of an object that is open. */
interface OpenObject {
  begin: number;
  line: number;
  members: number;
  objects: number;
  /** How many of its members have a key; more keys than are counted are `others`. */
  keys: Map<string, number>;
  others: number;
}

/** Reads the pieces of a file in order. */
export class OutlineScanner {
  readonly #lists: ObjectList[] = [];
  readonly #keys: string[] = [];
  readonly #dictionaries: Dictionary[] = [];
  readonly #objects: OpenObject[] = [];
  /** The keys of the objects that enclose the place; the last is the current one's. */
  readonly #path: string[] = [];
  #offset = 0;
  #line = 1;
  /** Lists and objects that are open within a list that is in objects only. */
  #depth = 0;
  #list: (ObjectList & { isObjects: boolean }) | undefined;
  #state: 'start' | 'inside' | 'after' | 'none' = 'start';
  #isString = false;
  #isEscaped = false;
  /** Whether a text, where one begins now, is a key. */
  #isKey = false;
  #key: number[] | undefined;

  /** Returns false once the file is known not to be one object. */
  read(piece: Buffer): boolean {
    for (let index = 0; index < piece.length && this.#state !== 'none'; index++) {
      const byte = piece[index] ?? 0;
      this.#take(byte, this.#offset + index);
      if (byte === LINE_FEED) this.#line += 1;
    }
    this.#offset += piece.length;
    return this.#state !== 'none';
  }

  /** Undefined if the file is not one object. */
  end(): Outline | undefined {
    return this.#state === 'after'
      ? { lists: this.#lists, dictionaries: this.#dictionaries, keys: this.#keys }
      : undefined;
  }

  #take(byte: number, at: number): void {
    if (this.#isString) this.#takeText(byte);
    else if (isSpace(byte)) return;
    else if (this.#state === 'start') {
      if (byte === OPEN_OBJECT) this.#open(at);
      else if (!isMark(byte, at)) this.#state = 'none';
    } else if (this.#state === 'after') this.#state = 'none';
    else if (byte === QUOTE) this.#beginText();
    else if (this.#list !== undefined) this.#takeInList(byte, at);
    else this.#takeInObject(byte, at);
  }

  #beginText(): void {
    this.#isString = true;
    this.#key = this.#isKey && this.#list === undefined ? [] : undefined;
    if (this.#list !== undefined && this.#depth === 1) this.#list.isObjects = false;
  }

  #takeText(byte: number): void {
    if (!this.#isEscaped && byte === QUOTE) {
      this.#isString = false;
      if (this.#key !== undefined) this.#setKey(this.#key);
      return;
    }
    this.#isEscaped = !this.#isEscaped && byte === BACKSLASH;
    if (this.#key !== undefined && this.#key.length < KEY_BYTES_MAX) this.#key.push(byte);
  }

  #setKey(bytes: readonly number[]): void {
    const text = Buffer.from(bytes).toString();
    let key = text;
    try {
      key = JSON.parse(`"${text}"`) as string;
    } catch {
      // The reader of the documents says what is wrong.
    }
    this.#path[this.#path.length - 1] = key;
    if (this.#path.length === 1 && this.#keys.length < KEYS_MAX) this.#keys.push(key);
    this.#isKey = false;
    const own = this.#objects.at(-1);
    if (own !== undefined) own.members += 1;
    const around = this.#objects.at(-2);
    if (around === undefined) return;
    const count = around.keys.get(key);
    if (count !== undefined || around.keys.size < MEMBER_KEYS_MAX) around.keys.set(key, (count ?? 0) + 1);
    else around.others += 1;
  }

  #closeObject(at: number): void {
    const closed = this.#objects.pop();
    if (closed === undefined || closed.members === 0 || closed.objects < closed.members) return;
    const { begin, line, members: items, keys, others } = closed;
    const known = [...keys.values()].reduce((sum, count) => sum + count, 0);
    const all = known + others;
    const isSame = all >= ALIKE_SHARE * (keys.size + others) * items && all > 0;
    // Of so many rows that not all of their numbers are known, those that are tell.
    const isTable = known > 0 && known >= ALIKE_SHARE * keys.size * items && items >= COLUMNS_MIN;
    const isColumns = isTable && [...keys.keys()].every((key) => /^\d{1,15}$/.test(key));
    const isAlike = isSame && items >= ALIKE_MIN && !isColumns;
    const found = this.#dictionaries;
    // Where the cells of a column are all objects they may well be documents, by their numbers.
    const isFromZero = isColumns && keys.has('0') && (found.at(-1)?.begin ?? -1) < begin;
    if (isAlike || isColumns) while ((found.at(-1)?.begin ?? -1) > begin) found.pop();
    if (found.length >= LISTS_MAX) return;
    const path = this.#path.join('.');
    found.push({ path, items, begin, end: at + 1, line, isAlike, isColumns, isFromZero, hasId: keys.has('_id') });
  }

  #open(at: number): void {
    const around = this.#objects.at(-1);
    if (around !== undefined) around.objects += 1;
    this.#objects.push({ begin: at, line: this.#line, members: 0, objects: 0, keys: new Map(), others: 0 });
    this.#state = this.#path.length < LEVELS_MAX ? 'inside' : 'none';
    this.#path.push('');
    this.#isKey = true;
  }

  #takeInObject(byte: number, at: number): void {
    if (byte === OPEN_OBJECT) this.#open(at);
    else if (byte === CLOSE_OBJECT) {
      this.#path.pop();
      this.#closeObject(at);
      this.#isKey = false;
      if (this.#path.length === 0) this.#state = 'after';
    } else if (byte === COMMA) this.#isKey = true;
    else if (byte === COLON) this.#isKey = false;
    else if (byte === OPEN_LIST) {
      this.#depth = 1;
      this.#list = { path: this.#path.join('.'), items: 0, begin: at, end: at, line: this.#line, isObjects: true };
    }
  }

  #takeInList(byte: number, at: number): void {
    const list = this.#list;
    if (list === undefined) return;
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (this.#depth === 1 && byte === OPEN_OBJECT) list.items += 1;
      if (this.#depth === 1 && byte === OPEN_LIST) list.isObjects = false;
      this.#depth += 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      this.#depth -= 1;
      if (this.#depth > 0) return;
      const { isObjects, ...found } = list;
      if (isObjects && found.items > 0 && this.#lists.length < LISTS_MAX) this.#lists.push({ ...found, end: at + 1 });
      this.#list = undefined;
    } else if (this.#depth === 1 && byte !== COMMA) list.isObjects = false;
  }
}
