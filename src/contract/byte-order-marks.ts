export const MARK_BYTES = 3;
const MARKS: readonly (readonly [mark: string, encoding: string])[] = [
  ['efbbbf', 'utf-8'],
  ['fffe', 'utf-16le'],
  ['feff', 'utf-16be'],
];

/** The encoding that a mark at the beginning of a text says; undefined: it has none. */
export function markedEncoding(head: Uint8Array): string | undefined {
  const begin = Buffer.from(head.subarray(0, MARK_BYTES)).toString('hex');
  return MARKS.find(([mark]) => begin.startsWith(mark))?.[1];
}
