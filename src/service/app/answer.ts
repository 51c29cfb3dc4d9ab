import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { stringifyJson } from '../../contract/json/json.ts';

/** About this much text is serialized in one go; a shorter answer is sent whole. */
const PIECE_CHARACTERS = 256 * 1024;
/** What a number or a bracket counts, in characters. */
const SCALAR_CHARACTERS = 8;
/** One more for this many levels around a bracket: `JSON.stringify` looks whether it is one of them. */
const LEVELS_PER_CHARACTER = 16;

/**
 * The JSON text of an answer: a string if it is short, otherwise a stream that serializes it piece by piece, no faster
 * than it is read, and lets other requests run between pieces.
 */
export function encodeAnswer(answer: object): string | Readable {
  const pieces = memberPieces(answer);
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

/** About how many characters the text of a value has; stops counting at `max`. */
function weigh(value: unknown, max: number, depth = 0): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return SCALAR_CHARACTERS;
  let weight = SCALAR_CHARACTERS + depth / LEVELS_PER_CHARACTER;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && weight < max; index++)
      weight += weigh(value[index], max - weight, depth + 1);
    return weight;
  }
  const object = value as { [key: string]: unknown };
  for (const key in object) {
    if (weight >= max) break;
    weight += key.length + weigh(object[key], max - weight, depth + 1);
  }
  return weight;
}

/** The text of a value that is long, in pieces; of any other, in one. */
function* piecesOf(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > PIECE_CHARACTERS) yield* textPieces(value);
  else if (Array.isArray(value)) yield* itemPieces(value);
  else if (typeof value !== 'object' || value === null) yield stringifyJson(value);
  else yield* memberPieces(value);
}

function* itemPieces(items: readonly unknown[]): Generator<string> {
  let separator = '[';
  let from = 0;
  let weight = 0;
  for (let index = 0; index < items.length; index++) {
    const added = weigh(items[index], PIECE_CHARACTERS);
    if (weight > 0 && weight + added > PIECE_CHARACTERS) {
      yield separator + stringifyJson(items.slice(from, index)).slice(1, -1);
      separator = ',';
      from = index;
      weight = 0;
    }
    weight += added;
    if (added < PIECE_CHARACTERS) continue;
    yield separator;
    yield* piecesOf(items[index] ?? null);
    separator = ',';
    from = index + 1;
    weight = 0;
  }
  const last = stringifyJson(items.slice(from)).slice(1, -1);
  yield `${from === 0 || last !== '' ? separator : ''}${last}]`;
}

function* memberPieces(object: object): Generator<string, undefined> {
  let piece = '{';
  let isFirst = true;
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    piece += `${isFirst ? '' : ','}${JSON.stringify(key)}:`;
    isFirst = false;
    if (weigh(value, PIECE_CHARACTERS) < PIECE_CHARACTERS) piece += stringifyJson(value);
    else {
      yield piece;
      yield* piecesOf(value);
      piece = '';
    }
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}}`;
}

function* textPieces(text: string): Generator<string> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + PIECE_CHARACTERS);
    // Halves of a character are written as escapes.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to -= 1;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}
