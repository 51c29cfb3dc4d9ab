/** A page with a generated part inserted between its markers. */
export function withPart(page: string, part: string, text: string): string {
  const begin = page.indexOf(`<!-- ${part}:begin`);
  const end = page.indexOf(`<!-- ${part}:end -->`);
  if (begin < 0 || end < begin) throw new Error(`the page has no markers for ${part}`);
  const bodyStart = page.indexOf('\n', begin) + 1;
  return `${page.slice(0, bodyStart)}\n${text}\n\n${page.slice(end)}`;
}
