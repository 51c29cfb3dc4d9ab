export interface Splice {
  at: number;
  length: number;
  text: string;
}

/** A text with pieces inserted. */
export interface Spliced {
  sql: string;
  /** Maps a byte offset in `sql` to one in the original text. */
  originOf(offset: number): number;
}

/** Inserts the pieces into the text. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Spliced {
  const ordered = splices.toSorted((a, b) => a.at - b.at);
  const parts: Buffer[] = [];
  let at = 0;
  for (const piece of ordered) {
    parts.push(bytes.subarray(at, piece.at), Buffer.from(piece.text));
    at = piece.at + piece.length;
  }
  parts.push(bytes.subarray(at));
  const originOf = (offset: number) => {
    let shift = 0;
    for (const piece of ordered) {
      const length = Buffer.byteLength(piece.text);
      const start = piece.at + shift;
      if (offset < start + (piece.length === 0 ? 0 : 1)) break;
      if (offset < start + length) return piece.at;
      shift += length - piece.length;
    }
    return offset - shift;
  };
  return { sql: Buffer.concat(parts).toString(), originOf };
}
