import { posix } from 'node:path';
import { ApiError } from '../../contract/errors.ts';
import { nearest } from '../../contract/nearest.ts';
import { XmlError, XmlEvents, type XmlHandlers } from '../../service/ingest/xml-events.ts';
import { builtInFormat, type CellFormat, formatOf } from './xlsx-formats.ts';
import type { Zip, ZipPiece } from './zip.ts';

/** The parts of a workbook beside its sheets. */

const SHEETS_MAX = 1_000;
const STYLES_MAX = 100_000;
const SHEETS_SHOWN = 10;
/** Texts of all cells together: they are kept, since cells have their numbers. */
const TEXTS_BYTES_MAX = 256 * 1024 * 1024;
const TEXTS_MAX = 10_000_000;
const CHUNK_BYTES = 1024 * 1024;

/** The name of an element or attribute without its namespace. */
export const local = (name: string) => name.slice(name.indexOf(':') + 1);

/** Parses a part; rejects `invalid_input`. Gives the pieces after each has been parsed. */
export async function* parsedPart(zip: Zip, name: string, handlers: XmlHandlers): AsyncGenerator<ZipPiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const events = new XmlEvents(handlers);
  try {
    for await (const one of zip.pieces(name)) {
      events.write(decoder.decode(one.piece, { stream: true }));
      yield one;
    }
    events.write(decoder.decode());
    events.end();
  } catch (error) {
    if (!(error instanceof XmlError) && !(error instanceof TypeError)) throw error;
    const why = error instanceof XmlError ? error.message : 'it is not UTF-8';
    const message = `The workbook cannot be read: its part ${JSON.stringify(name)} is damaged: ${why}.`;
    throw new ApiError('invalid_input', message, { cause: error });
  }
}

async function parse(zip: Zip, name: string, handlers: Partial<XmlHandlers>): Promise<void> {
  const none = () => undefined;
  for await (const _ of parsedPart(zip, name, { open: none, close: none, text: none, ...handlers }));
}

type Relations = Map<string, { type: string; part: string }>;

/** What a part relates to, by id. */
async function relationsOf(zip: Zip, part: string): Promise<Relations> {
  const folder = posix.dirname(part);
  const relations: Relations = new Map();
  const name = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  if (!zip.has(name)) return relations;
  await parse(zip, name, {
    open(_, { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode }) {
      if (mode === 'External' || relations.size >= SHEETS_MAX * 2) return;
      const path = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
      relations.set(id, { type: type.slice(type.lastIndexOf('/') + 1), part: path });
    },
  });
  return relations;
}

export interface Workbook {
  /** The sheet to read: its name, and its part. */
  sheet: string;
  part: string;
  /** The names of the others. */
  others: string[];
  /** Whether days are counted from 1904 on. */
  is1904: boolean;
  texts: Texts;
  /** What the formats of cells of a style show, by the number of the style. */
  formats: readonly (CellFormat | undefined)[];
}

/** What is needed to read a sheet: that of the name, or the first. Rejects `invalid_input`. */
export async function openWorkbook(zip: Zip, asked: string | undefined): Promise<Workbook> {
  const top = await relationsOf(zip, '.');
  const main = [...top.values()].find(({ type }) => type === 'officeDocument')?.part ?? 'xl/workbook.xml';
  if (!zip.has(main) || !main.endsWith('.xml')) {
    const message = main.endsWith('.bin')
      ? 'The file is a binary workbook (xlsb). Save it as xlsx, or its sheets as CSV.'
      : 'The file is no workbook (xlsx), but another ZIP archive. Unpack it first, and load the files in it.';
    throw new ApiError('invalid_input', message);
  }
  const relations = await relationsOf(zip, main);
  const sheets: { name: string; part: string }[] = [];
  let is1904 = false;
  await parse(zip, main, {
    open(element, attributes) {
      if (local(element) === 'workbookPr') is1904 = isTrue(attributes['date1904']);
      if (local(element) !== 'sheet' || sheets.length >= SHEETS_MAX) return;
      const [, id = ''] = Object.entries(attributes).find(([key]) => key.includes(':') && local(key) === 'id') ?? [];
      const relation = relations.get(id);
      // Sheets that are charts have no cells.
      if (relation?.type === 'worksheet') sheets.push({ name: attributes['name'] ?? '', part: relation.part });
    },
  });
  const found = sheetOf(sheets, asked);
  const partOf = (type: string) => [...relations.values()].find((one) => one.type === type && zip.has(one.part))?.part;
  return {
    sheet: found.name,
    part: found.part,
    others: sheets.filter((one) => one !== found).map(({ name }) => name),
    is1904,
    texts: await textsOf(zip, partOf('sharedStrings')),
    formats: await formatsOf(zip, partOf('styles')),
  };
}

export const isTrue = (text: string | undefined) => text === '1' || text === 'true';

function sheetOf<T extends { name: string }>(sheets: readonly T[], asked: string | undefined): T {
  const exact = asked === undefined ? sheets[0] : sheets.find(({ name }) => name === asked);
  const found = exact ?? sheets.find(({ name }) => name.toLowerCase() === asked?.toLowerCase());
  if (found !== undefined) return found;
  if (asked === undefined) throw new ApiError('invalid_input', 'The workbook has no sheet with cells.');
  const names = sheets.map(({ name }) => name);
  const close = nearest(asked, names);
  const shown = (close.length > 0 ? close : names.slice(0, SHEETS_SHOWN))
    .map((name) => JSON.stringify(name))
    .join(', ');
  const hint = close.length > 0 ? `Did you mean ${shown}?` : `Its sheets are ${shown}.`;
  throw new ApiError('invalid_input', `The workbook has no "sheet" ${JSON.stringify(asked.slice(0, 100))}. ${hint}`);
}

/** The formats of the styles of cells. */
async function formatsOf(zip: Zip, part: string | undefined): Promise<(CellFormat | undefined)[]> {
  const formats: (CellFormat | undefined)[] = [];
  if (part === undefined) return formats;
  const own = new Map<number, CellFormat | undefined>();
  let isWithin = false;
  await parse(zip, part, {
    open(element, { numFmtId, formatCode = '' }) {
      const name = local(element);
      if (name === 'numFmt' && own.size < STYLES_MAX) own.set(Number(numFmtId), formatOf(formatCode));
      if (name === 'cellXfs') isWithin = true;
      if (name !== 'xf' || !isWithin || formats.length >= STYLES_MAX) return;
      const id = Number(numFmtId ?? 0);
      formats.push(own.has(id) ? own.get(id) : builtInFormat(id));
    },
    close(element) {
      if (local(element) === 'cellXfs') isWithin = false;
    },
  });
  return formats;
}

/** The texts that cells have the numbers of. */
async function textsOf(zip: Zip, part: string | undefined): Promise<Texts> {
  const texts = new Texts();
  if (part === undefined) return texts;
  const text = new RichText();
  await parse(zip, part, {
    open(element) {
      if (local(element) === 'si') text.clear();
      text.open(element);
    },
    close(element) {
      text.close(element);
      if (local(element) === 'si') texts.add(text.take());
    },
    text: (piece) => text.add(piece),
  });
  return texts;
}

/** Gathers a text whose parts are formatted; how it is pronounced is none of it. */
export class RichText {
  #pieces: string[] = [];
  #isText = false;
  #phonetic = 0;

  open(element: string): void {
    const name = local(element);
    if (name === 'rPh') this.#phonetic += 1;
    if (name === 't') this.#isText = this.#phonetic === 0;
  }

  close(element: string): void {
    const name = local(element);
    if (name === 'rPh') this.#phonetic -= 1;
    if (name === 't') this.#isText = false;
  }

  add(piece: string): void {
    if (this.#isText) this.#pieces.push(piece);
  }

  clear(): void {
    this.#pieces = [];
    this.#isText = false;
  }

  take(): string {
    const text = unescaped(this.#pieces.join(''));
    this.clear();
    return text;
  }
}

/** Characters that XML has not are written as _x000D_. */
export function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Many texts, kept as bytes: as strings they would hold the pieces of the file that they were cut from. */
class Texts {
  readonly #chunks: Buffer[] = [];
  readonly #places: number[] = [];
  #room = 0;
  #bytes = 0;

  add(text: string): void {
    const length = Buffer.byteLength(text);
    this.#bytes += length;
    if (this.#bytes > TEXTS_BYTES_MAX || this.#places.length >= TEXTS_MAX * PLACE) {
      const message = `The workbook has more than ${TEXTS_MAX.toLocaleString('en-US')} texts, or 256 MiB of them. Save its sheets as CSV.`;
      throw new ApiError('invalid_input', message);
    }
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.length - this.#room < length) {
      chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, length));
      this.#chunks.push(chunk);
      this.#room = 0;
    }
    chunk.write(text, this.#room);
    this.#places.push(this.#chunks.length - 1, this.#room, length);
    this.#room += length;
  }

  at(index: number): string | undefined {
    const chunk = this.#chunks[this.#places[index * PLACE] ?? -1];
    const from = this.#places[index * PLACE + 1] ?? 0;
    return chunk?.toString('utf8', from, from + (this.#places[index * PLACE + 2] ?? 0));
  }
}

/** Numbers that say where a text is. */
const PLACE = 3;
