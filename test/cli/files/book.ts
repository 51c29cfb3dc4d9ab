import { zipSync } from 'fflate';

/** Workbooks for tests, of the fewest parts. */

const RELATION = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="http://example.org/${type}" Target="${target}"/>`;

/** A workbook with one sheet; `parts` are further ones, or other ones. */
export function book(sheet: string, parts: Record<string, string> = {}): Uint8Array {
  const texts: Record<string, string> = {
    '_rels/.rels': `<Relationships>${RELATION('r1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': `<Relationships>${RELATION('r1', 'worksheet', 'worksheets/s.xml')}${RELATION('r2', 'sharedStrings', '/xl/sharedStrings.xml')}</Relationships>`,
    'xl/sharedStrings.xml': '<sst/>',
    'xl/worksheets/s.xml': sheet,
    ...parts,
  };
  return zipSync(Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)])));
}

export const rows = (...cells: string[][]) =>
  `<worksheet><sheetData>${cells.map((row) => `<row>${row.join('')}</row>`).join('')}</sheetData></worksheet>`;
export const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
export const number = (value: string) => `<c><v>${value}</v></c>`;
export const HEAD = [text('a'), text('b')];
