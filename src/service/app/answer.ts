import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { stringifyJson } from '../../contract/json.ts';

/** Text of this length is made in one go, and what is shorter as a whole is sent as one. */
const PIECE_CHARACTERS = 256 * 1024;
/** Items of a list that are made into text at once, at first; then as many as make a piece. */
const ITEMS_FIRST = 16;

/**
 * The JSON text of an answer: whole where it is short, else a stream that makes it piece by piece, no faster than it is
 * read, and with room for other requests between two pieces. What takes long is a list at the top of the answer.
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
