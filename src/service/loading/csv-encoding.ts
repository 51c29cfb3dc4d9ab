import { MARK_BYTES, markedEncoding } from '../../contract/byte-order-marks.ts';
import { ApiError } from '../../contract/errors.ts';

type Decoder = InstanceType<typeof TextDecoder>;

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
