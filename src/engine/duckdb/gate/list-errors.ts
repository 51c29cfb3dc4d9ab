import type { Statement } from '../sql/statement.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';

/** What errors about a list in the place of a value, or the other way round, say in words of the statement. */

const wordAt = (list: TokenList, at: number) => list[at]?.text.toLowerCase() ?? '';
const EACH = /^(?:any|some|all)$/;

/** The engine makes an UNNEST of ANY and ALL: what to say where they have no list; undefined: that is not why it fails. */
export function noListIn(message: string, { body }: Statement): string | undefined {
  if (!message.startsWith('UNNEST not supported here')) return undefined;
  const list = tokenList(body);
  if (list.some(({ text }) => text.toLowerCase() === 'unnest')) return undefined;
  const at = list.findIndex(({ text }, index) => EACH.test(text.toLowerCase()) && list[index + 1]?.text === '(');
  const close = at === -1 ? -1 : list.closeOf(at + 1);
  if (list[close] === undefined || wordAt(list, at + 2) === 'select') return undefined;
  const each = wordAt(list, at).toUpperCase();
  const inner = body.slice(list[at + 2]?.start, list[close - 1]?.end).replaceAll('$', ':');
  const isCast = /^(?:try_)?cast$/.test(wordAt(list, at + 2)) && list.closeOf(at + 3) === close - 1;
  const hint = isCast ? `: write ${inner.slice(0, -1)}[])` : '';
  return `${each} takes a list, and this is one value${hint}.`;
}

/** What to write where a value and a list are compared. */
export function listAdvice({ body }: Statement): string {
  const list = tokenList(body);
  const at = list.findIndex(({ text }, index) => {
    const inside = text.toLowerCase() === 'in' && wordAt(list, index + 1) === '(' ? list[index + 2] : undefined;
    return inside?.kind === 'parameter';
  });
  if (at === -1)
    return "\nA list is compared with one value: write list_contains(list, value), or value = ANY(list); with several, list_has_any(list, ['a', 'b']).";
  const name = list[at + 2]?.text.slice(1);
  const each = wordAt(list, at - 1) === 'not' ? '<> ALL' : '= ANY';
  return `\nIN takes values one by one; with a list in a parameter write x ${each}(:${name}).`;
}
