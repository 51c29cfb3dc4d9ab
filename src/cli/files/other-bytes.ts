import { ApiError } from '../../contract/errors.ts';

const UNPACK = 'Unpack it first, and load the files in it.';
const SHEETS = 'Save each of its sheets as CSV first.';

const WIDE = 'UTF-16 text';
const CONVERT = 'Of CSV, say so: "format": "csv"; otherwise convert it first: iconv -f UTF-16 -t UTF-8 FILE > NEW.';

/** How files begin that are not the text that their name promises, and what to do about it. */
const OTHERS = [
  { begin: [0xff, 0xfe], what: WIDE, instead: CONVERT },
  { begin: [0xfe, 0xff], what: WIDE, instead: CONVERT },
  {
    begin: 'PAR1',
    what: 'Parquet',
    instead: 'Give "format": "parquet", for a file that is not compressed as a whole.',
  },
  {
    begin: 'SQLite format 3',
    what: 'a SQLite database',
    instead: 'Export its tables first: sqlite3 -json FILE "SELECT * FROM t" > t.json.',
  },
  {
    begin: [0xd0, 0xcf, 0x11, 0xe0],
    what: 'an old Office document (xls), or one with a password',
    instead: 'Save it as xlsx without a password, or each of its sheets as CSV.',
  },
  { begin: 'BZh', what: 'compressed (bzip2)', instead: 'Decompress it first, with bunzip2.' },
  { begin: [0xfd, 0x37, 0x7a, 0x58, 0x5a], what: 'compressed (xz)', instead: 'Decompress it first, with unxz.' },
  { begin: [0x37, 0x7a, 0xbc, 0xaf], what: 'a 7z archive', instead: UNPACK },
  { begin: 'Obj\u0001', what: 'Avro', instead: 'Give "format": "avro".' },
  { begin: '%PDF', what: 'a PDF document', instead: 'Extract its tables as CSV first.' },
].map(({ begin, ...rest }) => ({
  begin: typeof begin === 'string' ? Buffer.from(begin) : Buffer.from(begin),
  ...rest,
}));

const WORKBOOK = 'an Excel workbook (xlsx)';
const ZIP = 'a ZIP archive';

/** Throws `invalid_input`, with what it is, for content that is no text of documents. */
export function refuseOtherBytes(head: Buffer, expected?: 'xlsx' | 'wide'): void {
  const found =
    OTHERS.find(({ begin }) => head.subarray(0, begin.length).equals(begin)) ?? archive(head) ?? wideText(head);
  // The directory of an archive, at its end, tells more than its first bytes.
  if (expected === 'xlsx' && (found?.what === WORKBOOK || found?.what === ZIP)) return;
  if (expected === 'wide' && found?.what === WIDE) return;
  if (found !== undefined) throw new ApiError('invalid_input', `The file is ${found.what}. ${found.instead}`);
}

function archive(head: Buffer): { what: string; instead: string } | undefined {
  if (head.toString('latin1', 257, 262) === 'ustar') return { what: 'a tar archive', instead: UNPACK };
  if (head.toString('latin1', 0, 4) !== 'PK\u0003\u0004') return undefined;
  const text = head.toString('latin1');
  if (text.includes('opendocument.spreadsheet')) return { what: 'an OpenDocument sheet (ods)', instead: SHEETS };
  if (text.includes('xl/')) return { what: WORKBOOK, instead: 'Give "format": "xlsx".' };
  return { what: ZIP, instead: UNPACK };
}

/** UTF-16 without a mark: every other byte of text is 0. */
function wideText(head: Buffer): { what: string; instead: string } | undefined {
  const isWide = [0, 1].some((at) => head.length >= 4 && head[at] === 0 && head[at + 2] === 0 && head[1 - at] !== 0);
  if (!isWide) return undefined;
  const endian = head[0] === 0 ? 'BE' : 'LE';
  const convert = `convert it first: iconv -f UTF-16${endian} -t UTF-8 FILE > NEW`;
  return { what: WIDE, instead: `Of CSV, say so: "encoding": "utf-16${endian.toLowerCase()}"; otherwise ${convert}.` };
}
