/** Words that the SQL engine takes for no column unless quoted, and that are likely to name a field. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  `all analyze anti any array asc at authorization binary both by case check collation column constraint create cross default
  desc describe do else end except fetch for foreign freeze from full glob group having in initially inner intersect into join
  lambda lateral leading left like limit natural not offset on only or order outer overlaps pivot placing positional primary
  qualify references returning right select semi show similar some summarize symmetric table then to trailing union unique
  unpivot user using verbose when where window with`.split(/\s+/),
);
