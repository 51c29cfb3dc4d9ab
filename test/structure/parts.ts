import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';

/** Whether generated files are to be written anew instead of being compared. */
export const isUpdating = process.env['UPDATE_README'] === '1';
export const howToUpdate = (tests = 'test/structure') =>
  `a generated text is out of date; write it with: UPDATE_README=1 npx vitest run ${tests}`;

/** Expects a file to hold this text, or writes it; `tests` are those that do. */
export function expectGenerated(file: string, text: string, tests?: string): void {
  if (isUpdating) writeFileSync(file, text);
  expect(readFileSync(file, 'utf8'), howToUpdate(tests)).toBe(text);
}

/** A page with a generated part inserted between its markers. */
export function withPart(page: string, part: string, text: string): string {
  const begin = page.indexOf(`<!-- ${part}:begin`);
  const end = page.indexOf(`<!-- ${part}:end -->`);
  if (begin < 0 || end < begin) throw new Error(`the page has no markers for ${part}`);
  const bodyStart = page.indexOf('\n', begin) + 1;
  return `${page.slice(0, bodyStart)}\n${text}\n\n${page.slice(end)}`;
}
