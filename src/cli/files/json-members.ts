import type { FilePiece } from '../../mcp/tools/file.ts';
import { isSpace } from './json-outline.ts';

/** The members of a JSON object as documents, one after the other, by their bytes. */

const LINE_FEED = 0x0a;
const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x5b, 0x5d, 0x7b, 0x7d];
const FEED = Buffer.from('\n');

/** Gives each member, which is an object, its key as a field of the name `keyField`; lines stay as they are. */
export async function* membersOf(pieces: AsyncIterable<FilePiece>, keyField: string): AsyncGenerator<FilePiece> {
  const reader = new MemberReader(keyField);
  for await (const { piece, bytesRead } of pieces) {
    const read = reader.read(piece);
    if (read.length > 0) yield { piece: read, bytesRead };
  }
}

class MemberReader {
  readonly #begin: string;
  /** Objects and lists that are open, the outer object included. */
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #key: Buffer[] = [];
  #isKeyWanted = false;

  constructor(keyField: string) {
    this.#begin = `{${JSON.stringify(keyField)}:`;
  }

  read(piece: Buffer): Buffer {
    const parts: Buffer[] = [];
    /** Where what is taken over as it is begins: of a text, if that is a key, or of the members. */
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] ?? 0;
      if (this.#isText) {
        const isEnd = byte === QUOTE && !this.#isEscaped;
        this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
        if (isEnd) this.#isText = false;
        if (isEnd && this.#depth === 1) this.#key.push(Buffer.from(piece.subarray(from, at + 1)));
        continue;
      }
      if (this.#isKeyWanted && !isSpace(byte)) {
        this.#isKeyWanted = false;
        // What is behind the field of the key, unless it is the only one.
        if (byte !== CLOSE) parts.push(Buffer.from(','));
        from = at;
      }
      if (byte === QUOTE) {
        this.#isText = true;
        if (this.#depth === 1) {
          from = at;
          this.#key = [];
        }
      } else if (byte === OPEN || byte === OPEN_LIST) {
        this.#depth += 1;
        if (this.#depth !== 2) continue;
        parts.push(Buffer.from(this.#begin), ...this.#key);
        this.#isKeyWanted = true;
        from = at + 1;
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        this.#depth -= 1;
        if (this.#depth === 1) parts.push(piece.subarray(from, at + 1));
      } else if (byte === LINE_FEED && this.#depth < 2) parts.push(FEED);
      else if (byte === LINE_FEED && this.#isKeyWanted) parts.push(FEED);
    }
    if (this.#isText && this.#depth === 1) this.#key.push(Buffer.from(piece.subarray(from)));
    else if (this.#depth > 1 && !this.#isKeyWanted) parts.push(piece.subarray(from));
    return Buffer.concat(parts);
  }
}
