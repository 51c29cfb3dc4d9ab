import { createPace } from '../../../contract/turns/turns.ts';
import type { Splice } from '../sql/splices.ts';
import type { Node } from '../sql/tree.ts';
import { createJsonUses, noteJson } from './json-values.ts';
import { nodesWithScope } from './node-scopes.ts';
import type { Relations } from './query-columns.ts';
import { noteSetOperation, type SetOperations, type SetOperationsMet } from './set-operations.ts';
import { noteTimeComparison, type TimeComparison } from './time-comparisons.ts';
import { createTimeTypes } from './time-types.ts';
import { createTraps, noteTrap } from './trap-warnings.ts';
import { createValueUses, NO_USES, noteValues, type ValueUses, valueUsesOf } from './value-uses.ts';

/** What a statement does that is allowed, and may be something else than is meant. */
export interface Uses {
  /** Text that it compares with times, where the engine would not object. */
  timeComparisons: readonly TimeComparison[];
  /** Fields of text that it puts in order, or casts, and the like. */
  valueUses: ValueUses;
  /** What its UNION, INTERSECT and EXCEPT do with columns of one name. */
  setOperations: SetOperations;
  /** What is to be said of it, whatever its answer is. */
  told: readonly string[];
}

/** What is found in the query `tree`, of which `body` is the text, in one walk over its nodes; others get their turn meanwhile. */
export async function usesOf(
  tree: Node,
  relations: Relations,
  { body, bytes, isExplained }: { body: string; bytes: Buffer; isExplained: boolean },
): Promise<Uses & { splices: readonly Splice[] }> {
  const times = { types: createTimeTypes(relations), found: [] as TimeComparison[] };
  const json = createJsonUses(relations, body, bytes);
  // With a budget of its own: what is told may not take from what decides how times are compared.
  const values = createValueUses(tree, createTimeTypes(relations), json);
  const sets: SetOperationsMet = { warnings: new Set(), misplaced: new Set(), fitByName: true };
  const traps = createTraps(relations, bytes);
  const pace = createPace();
  for (const [node, scope] of nodesWithScope(tree)) {
    noteTimeComparison(times, node, scope);
    // Without collections there are no values to tell of.
    if (relations.tables.size > 0) noteValues(values, node, scope);
    if (json !== undefined) noteJson(json, node, scope);
    noteSetOperation(sets, node, relations);
    noteTrap(traps, node);
    const turn = pace();
    if (turn !== undefined) await turn;
  }
  // Only now, so that all have seen what is written.
  for (const [literal, value] of json?.respelled ?? []) literal['value'] = value;
  const ofFields = isExplained || relations.tables.size === 0 ? NO_USES : valueUsesOf(values);
  return {
    timeComparisons: times.found,
    valueUses: { ...ofFields, json: json?.found ?? [] },
    setOperations: {
      warnings: [...sets.warnings],
      misplaced: [...sets.misplaced],
      fitByName: sets.fitByName && sets.misplaced.size > 0,
    },
    told: traps.said.flatMap((said) => [...said]),
    splices: json?.splices ?? [],
  };
}
