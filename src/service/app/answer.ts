import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { stringifyJson } from '../../contract/json.ts';

/** About this much text is serialized in one go; a shorter answer is sent whole. */
const PIECE_CHARACTERS = 256 * 1024;
/** How many items of a list are serialized at once to begin with; the number then adapts to the size of a piece. */
const ITEMS_FIRST = 16;

/**
 * The JSON text of an answer: a string if it is short, otherwise a stream that serializes it piece by piece, no faster
 * than it is read, and lets other requests run between pieces. Only lists at the top level of the answer are split.
 */
export function encodeAnswer(answer: object): string | Readable {
  const pieces = piecesOf(answer);
  const first: string[] = [];
  for (let characters = 0; characters < PIECE_CHARACTERS; ) {
    const { value, done } = pieces.next();
    if (done === true) return first.join('');
    first.push(value);
    characters += value.length;
  }
  return Readable.from(unhurried(first.join(''), pieces), { objectMode: false, highWaterMark: PIECE_CHARACTERS });
}

async function* unhurried(first: string, rest: Iterable<string>): AsyncGenerator<Buffer> {
  yield Buffer.from(first);
  await turn();
  for (const piece of rest) {
    yield Buffer.from(piece);
    await turn();
  }
}

function* piecesOf(answer: object): Generator<string, undefined> {
  let separator = '{';
  for (const [key, value] of Object.entries(answer)) {
    if (value === undefined) continue;
    const head = `${separator}${JSON.stringify(key)}:`;
    separator = ',';
    if (!Array.isArray(value) || value.length <= ITEMS_FIRST) yield head + stringifyJson(value);
    else yield* listPieces(head, value);
  }
  yield separator === '{' ? '{}' : '}';
}

function* listPieces(head: string, items: readonly unknown[]): Generator<string> {
  let separator = `${head}[`;
  let count = ITEMS_FIRST;
  for (let from = 0; from < items.length; ) {
    const text = stringifyJson(items.slice(from, from + count));
    yield separator + text.slice(1, -1);
    separator = ',';
    from += count;
    if (text.length < PIECE_CHARACTERS / 2) count *= 2;
    else if (text.length > PIECE_CHARACTERS) count = Math.max(1, Math.floor((count * PIECE_CHARACTERS) / text.length));
  }
  yield ']';
}
