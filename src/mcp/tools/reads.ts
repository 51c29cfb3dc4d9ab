/** With which statements that read begin; SQL of this service has no others, that of other services may. */
const READING = new Set('select with from values table describe desc summarize show pivot unpivot'.split(' '));
/** What can follow WITH and writes. */
const WRITING = /\b(?:insert|merge)\s+into\b|\bdelete\s+from\b|\bupdate\s+\S+\s+set\b/i;

/**
 * Whether a SQL statement only reads, as far as its words tell; a doubt counts as no. After WITH others can
 * follow, so the words of one that writes may not be in it, not even in a text.
 */
export function onlyReads(sql: string): boolean {
  const start = statementStart(sql);
  const [word = ''] = /^[a-z]*/i.exec(sql.slice(start, start + WORD_CHARS_MAX)) ?? [];
  const first = word.toLowerCase();
  if (!READING.has(first)) return false;
  return first !== 'with' || !WRITING.test(sql);
}

const WORD_CHARS_MAX = 20;

/** Where the first word begins, behind spaces, brackets and comments. */
function statementStart(sql: string): number {
  let at = 0;
  while (at < sql.length) {
    const two = sql.slice(at, at + 2);
    if (two === '--' || two === '/*') {
      const end = sql.indexOf(two === '--' ? '\n' : '*/', at + 2);
      if (end === -1) return sql.length;
      at = end + (two === '--' ? 1 : 2);
    } else if (sql[at] === '(' || sql[at]?.trim() === '') at += 1;
    else break;
  }
  return at;
}
