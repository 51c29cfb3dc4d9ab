import { foldName } from '../sql/names.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { isNode, type Node, nodesOf, textOf } from '../sql/tree.ts';
import { columnsOf, type Relations } from './query-columns.ts';

/*
 * UNION, INTERSECT and EXCEPT put columns together by their places, whatever they are called: collections that have the same
 * fields in another order give one column of two fields.
 */

/** What set operations of a statement do with columns of one name. */
export interface SetOperations {
  /** What is to be said; empty: they have the same names at the same places, as far as is known. */
  warnings: readonly string[];
  /** The names that are at different places, as SQL writes them. */
  misplaced: readonly string[];
  /** Whether all of them are a UNION that BY NAME would put right, or leave as it is. */
  fitByName: boolean;
}

/** Those that have been met, as they are noted. */
export interface SetOperationsMet {
  warnings: Set<string>;
  misplaced: Set<string>;
  fitByName: boolean;
}

export function noteSetOperation(met: SetOperationsMet, node: Node, relations: Relations): void {
  const word = node['type'] === 'SET_OPERATION_NODE' ? textOf(node['setop_type']) : '';
  if (word === '' || word === 'UNION_BY_NAME' || relations.tables.size === 0) return;
  const name = misplacedIn(node, relations);
  if (name !== undefined) {
    met.misplaced.add(fieldName(name));
    met.warnings.add(warningOf(word, name, node['setop_all'] === false ? '' : ' ALL'));
  } else if (!isSame(node, relations)) met.fitByName = false;
  if (word !== 'UNION') met.fitByName = false;
}

function warningOf(word: string, name: string, all: string): string {
  const how =
    word === 'UNION'
      ? `UNION${all} BY NAME puts columns together by their names`
      : 'name the columns of both in the same order';
  return `${word} puts columns together by their places, and ${fieldName(name)} has another place in each SELECT: ${how}.`;
}

const sidesOf = ({ left, right }: Node, relations: Relations) =>
  [left, right].map((side) => columnsOf(side, relations)?.map(foldName));

/** Whether both sides have the same names at the same places. */
function isSame(node: Node, relations: Relations): boolean {
  const [left, right] = sidesOf(node, relations);
  return left !== undefined && left.join('\n') === right?.join('\n');
}

/** A name that both sides have, at different places; undefined: there is none, or it may be meant. */
function misplacedIn(node: Node, relations: Relations): string | undefined {
  const [left, right] = sidesOf(node, relations);
  if (left === undefined || right === undefined || isTurned(node, relations)) return undefined;
  const places = new Map(right.map((name, at) => [name, at]));
  const isOnce = new Set(left).size === left.length && places.size === right.length;
  const at = left.findIndex((name, place) => (places.get(name) ?? place) !== place);
  return isOnce && at !== -1 ? columnsOf(node['left'], relations)?.[at] : undefined;
}

/** Whether columns of one collection are named in both orders, as of edges that go both ways. */
function isTurned({ left, right }: Node, { tables }: Relations): boolean {
  const [one, other] = [left, right].map((side) => {
    const select = isNode(side) && side['type'] === 'SELECT_NODE' ? side : {};
    const isNamed = nodesOf(select['select_list']).every((item) => item['class'] !== 'STAR');
    return isNamed && isNode(select['from_table']) ? tables.get(select['from_table']) : undefined;
  });
  return one !== undefined && one === other;
}
