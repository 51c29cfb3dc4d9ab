import type { AnyOperation } from '../../contract/contract.ts';
import { RESERVED_WORDS } from '../../contract/reserved-words.ts';
import { inQuotes } from '../../contract/text.ts';
import type { Fenced } from '../fence.ts';
import { identifier } from './infer.ts';
import type { Arguments } from './relations.ts';

/** How SQL names a collection or an alias. */

/** `workspace.collection`, each in quotes if it has to be, or is a reserved word: that is no name of its own. */
export function tableOf({ workspace, collection }: { workspace: string; collection: string }): string {
  return [workspace, collection].map((name) => (isReserved(name) ? inQuotes(name, '"') : identifier(name))).join('.');
}

const isReserved = (name: string) => RESERVED_WORDS.has(name.toLowerCase());

/** What is to be said of a name that is a reserved word; of others nothing. */
export function quotesHints(name: string): string[] {
  if (!isReserved(name)) return [];
  return [`in SQL its name alone stands in double quotes, ${inQuotes(name, '"')}, as it is a reserved word`];
}

/** What makes a thing that SQL names. */
const MAKERS: readonly AnyOperation[] = ['createWorkspace', 'createCollection', 'createAlias'];

/** The answer of an operation; says if what was made has a name that SQL has to quote. */
export function withQuotes(answer: Fenced, operation: AnyOperation, { name }: Arguments): Fenced {
  const [hint] = MAKERS.includes(operation) && typeof name === 'string' ? quotesHints(name) : [];
  if (hint === undefined) return answer;
  return { ...answer, next: `${hint.replace(/^i/, 'I')}. ${answer.next ?? ''}`.trimEnd() };
}
