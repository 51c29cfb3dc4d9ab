import { isAscii } from 'node:buffer';
import { MARK_BYTES, markedEncoding } from '../../contract/byte-order-marks.ts';
import { ApiError } from '../../contract/errors.ts';
import { cut } from '../../contract/text.ts';
import { CsvError } from '../ingest/csv-records.ts';
import { inWestern, isUtf8SoFar, WesternLook } from './western.ts';

type Decoder = InstanceType<typeof TextDecoder>;

const LETTERS = /\p{L}+/gu;
const ABROAD = /[\u0080-\uffff]/;
const CHARS_SHOWN = 40;
/** With so many nothing is decided by where a piece ends. */
const HELD_BYTES = 64 * 1024;

/** A body of CSV that is to be UTF-8, or else is windows-1252 where nothing speaks against that. */
export class GuessedEncoding {
  /** What is told of it; undefined: it is UTF-8, or what it is is not known. */
  note: string | undefined;

  async *decoded(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    /** Undefined: all so far is ASCII, which is the same in both, or is held until there is enough to tell. */
    let look: WesternLook | 'none' | undefined;
    let held: Buffer = Buffer.alloc(0);
    const settle = () => {
      const western = new WesternLook();
      western.take(held);
      look = !isUtf8SoFar(held) && western.isPlausible ? western : 'none';
      if (look === 'none') return held;
      this.note = noteOf(inWestern(held));
      return Buffer.from(inWestern(held));
    };
    for await (const piece of decodedAs(undefined, body)) {
      if (look === 'none' || (held.length === 0 && isAscii(piece))) yield piece;
      else if (look === undefined) {
        held = Buffer.concat([held, piece]);
        if (held.length >= HELD_BYTES) yield settle();
      } else {
        look.take(piece);
        yield Buffer.from(inWestern(piece));
      }
    }
    if (look === undefined && held.length > 0) yield settle();
    if (look === undefined || look === 'none' || look.isPlausible) return;
    throw new CsvError('it is not valid UTF-8. Name its "encoding" beside the separator, or convert it first (iconv)');
  }
}

function noteOf(text: string): string {
  const at = text.search(ABROAD);
  const words = text.slice(Math.max(0, at - CHARS_SHOWN), at + CHARS_SHOWN).match(LETTERS) ?? [];
  const word = cut(words.find((one) => ABROAD.test(one)) ?? '', CHARS_SHOWN);
  return `The file is not UTF-8 and was read as windows-1252, such as ${JSON.stringify(word)}; if that is wrong, load it anew with its "encoding" in "format_params".`;
}

/** The body as UTF-8. */
export async function* decodedAs(encoding: string | undefined, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let decoder: Decoder | undefined;
  /** What came before enough was there to see a mark; null: it was. */
  let head: Buffer | null = Buffer.alloc(0);
  const decode = (piece: Buffer) => (decoder === undefined ? piece : Buffer.from(decodedBy(decoder, piece)));
  for await (const piece of body) {
    if (head === null) {
      yield decode(piece);
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (head.length < MARK_BYTES) continue;
    decoder = decoderOf(encoding, head);
    yield decode(head);
    head = null;
  }
  if (head !== null) {
    decoder = decoderOf(encoding, head);
    yield decode(head);
  }
  if (decoder !== undefined) yield Buffer.from(decodedBy(decoder));
}

/** Undefined: it is UTF-8. A mark at the beginning counts more than a name. */
function decoderOf(encoding: string | undefined, head: Buffer): Decoder | undefined {
  const name = markedEncoding(head) ?? encoding ?? 'utf-8';
  const decoder = new TextDecoder(name, { fatal: true });
  return decoder.encoding === 'utf-8' ? undefined : decoder;
}

function decodedBy(decoder: Decoder, piece?: Buffer): string {
  try {
    return piece === undefined ? decoder.decode() : decoder.decode(piece, { stream: true });
  } catch (error) {
    throw new ApiError('invalid_input', `The file is not valid ${decoder.encoding}.`, { cause: error });
  }
}
