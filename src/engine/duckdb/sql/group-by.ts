import type { ApiError } from '../../../contract/errors.ts';
import type { TokenList } from './token-list.ts';

/**
 * Most terms of a GROUP BY, times its grouping sets. The engine's parser takes time that grows with the square of the
 * terms, and with the sets: 15 seconds for 128 sets of 1,000. When the statement runs, each set has a hash table of 2 MiB
 * or more, and the engine looks for no interrupt before it has prepared all of them: seconds for 2,000 sets.
 */
const TERMS_MAX = 1_000;

/** Words behind a GROUP BY, which end it. */
const AFTER = new Set(['having', 'window', 'qualify', 'order', 'limit', 'union', 'intersect', 'except']);

/** Terms in a list or an item of a GROUP BY, the number of grouping sets that they make, and the index of its end. */
interface Groups {
  sets: number;
  terms: number;
  end: number;
}

function wordAt(list: TokenList, at: number): string {
  const token = list[at];
  return token?.kind === 'word' ? token.text.toLowerCase() : '';
}

/** Whether GROUP BY begins at a token. */
function isGroupBy(list: TokenList, at: number): boolean {
  return wordAt(list, at) === 'group' && wordAt(list, at + 1) === 'by';
}

/** Whether an expression can end before a token: after any other mark, what looks like a word of SQL is a name. */
function mayEndBefore(list: TokenList, at: number): boolean {
  const before = list[at - 1];
  return before?.kind !== 'punctuation' || ')]}*?'.includes(before.text);
}

/** Whether an item of a GROUP BY ends before a token. */
function isEnd(list: TokenList, at: number): boolean {
  const token = list[at];
  if (token === undefined) return true;
  if (token.kind === 'punctuation') return ',)]};'.includes(token.text);
  return (AFTER.has(wordAt(list, at)) && mayEndBefore(list, at)) || isGroupBy(list, at);
}

function endOfExpression(list: TokenList, from: number): number {
  let at = from;
  while (!isEnd(list, at)) at = list.closeOf(at) + 1;
  return at;
}

/** Reads items up to the end of their list. Grouping sets in GROUPING SETS are added up, others are combined. */
function readItems(list: TokenList, from: number, isAdded = false): Groups {
  const first = readItem(list, from);
  let { sets, terms, end } = first;
  while (list[end]?.text === ',') {
    const item = readItem(list, end + 1);
    sets = isAdded ? sets + item.sets : sets * item.sets;
    terms += item.terms;
    end = item.end;
  }
  return { sets, terms, end };
}

function readItem(list: TokenList, at: number): Groups {
  if (isEnd(list, at)) return { sets: 1, terms: 1, end: at };
  const kind = wordAt(list, at);
  const isSets = kind === 'grouping' && wordAt(list, at + 1) === 'sets';
  const isNamed = kind === 'cube' || kind === 'rollup' || kind === 'row';
  const open = at + (isSets ? 2 : isNamed ? 1 : 0);
  const close = list[open]?.text === '(' ? list.closeOf(open) : open;
  // Brackets around only a part of an expression group nothing.
  if (close === open || !isEnd(list, close + 1)) return { sets: 1, terms: 1, end: endOfExpression(list, at) };
  const { sets, terms } = readItems(list, open + 1, isSets);
  const items = list.endsOf(open).length;
  const made = kind === 'cube' ? 2 ** items : kind === 'rollup' ? items + 1 : sets;
  return { sets: made, terms, end: close + 1 };
}

/**
 * Refuses a GROUP BY of many terms, and many grouping sets in the whole statement. They are counted here, since the
 * engine's parser already takes too long.
 */
export function checkGroups(list: TokenList, fail: (index: number, message: string) => ApiError): void {
  let inSets = 0;
  for (const [at, { start }] of list.entries()) {
    if (!isGroupBy(list, at)) continue;
    const { sets, terms } = readItems(list, at + 2);
    if (sets > 1) inSets += sets * terms;
    if (Math.max(terms, inSets) <= TERMS_MAX) continue;
    const how =
      inSets <= TERMS_MAX
        ? 'Group by fewer columns, or by a list of them.'
        : 'Each counts once for every grouping set: CUBE of n columns makes 2^n sets, ROLLUP n + 1, and several of them ' +
          'are multiplied. Ask in several statements.';
    throw fail(start, `GROUP BY has more than ${TERMS_MAX} terms. ${how}`);
  }
}
