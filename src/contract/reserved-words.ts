/** Words that the SQL engine reserves unless quoted, and that are likely to name a field. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  `all any array asc at both case check column constraint create default desc do else end except fetch foreign from group
  having in initially intersect into lambda lateral leading limit not offset on only or order placing primary references
  returning select show some summarize symmetric table then to trailing union unique user using when where window with`.split(
    /\s+/,
  ),
);
