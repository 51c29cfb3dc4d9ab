/** What the engine calls a column that nobody named, with its inner names and our marks as they are written in SQL. */
export function asWritten(name: string): string {
  return name
    .replace(/\bmain\.(?:"(\w+)"|(\w+))(?=\()/g, '$1$2')
    .replace(/\bo_vals(?=\()/g, 'values')
    .replaceAll('\u0001', '%')
    .replaceAll('\u0002', '');
}

/**
 * Column names made unique, as the engine does it for tables: `x`, `x_1`, `x_2`. Names are the same that `sameAs` makes
 * equal (default: those that are spelled alike).
 */
export function uniqueNames(names: readonly string[], sameAs = (name: string) => name): string[] {
  const taken = new Set(names.map(sameAs));
  const seen = new Set<string>();
  /** Numbers below these are in use: to try them again for each of many thousands of equal names would take minutes. */
  const nextCounts = new Map<string, number>();
  return names.map((name) => {
    const same = sameAs(name);
    let count = nextCounts.get(same) ?? 1;
    let unique = name;
    for (; seen.has(sameAs(unique)) || (unique !== name && taken.has(sameAs(unique))); count++)
      unique = `${name}_${count}`;
    nextCounts.set(same, count);
    seen.add(sameAs(unique));
    return unique;
  });
}
