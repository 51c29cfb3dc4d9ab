const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** A size with three digits, in decimal units: `1.53 MB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1_000;
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${UNITS[unit]}`;
}

/** A number with its noun, which is given in the plural: `1 document`, `2 documents`. */
export function counted(count: number, plural: string): string {
  const noun = count === 1 ? plural.replace(/ies$/, 'y').replace(/(?<=s|x|ch|sh)es$|s$/, '') : plural;
  return `${count.toLocaleString('en-US')} ${noun}`;
}

/** The first of some names: `a, b and 3 more`. */
export function someOf(names: readonly string[], max: number): string {
  const more = names.length - max;
  return names.slice(0, max).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Names in quotes: `"a", "b"`. */
export function quotedList(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
