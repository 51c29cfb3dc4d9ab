import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { parse } from '../gate/parse.ts';
import { readStatement } from '../sql/statement.ts';
import { clausesOf, isNode, modifiersOf, type Node, nodesIn } from '../sql/tree.ts';

/** A part of a statement that a caller writes, without the rest. */
export interface Part {
  /** What the caller calls it. */
  name: string;
  /** A statement that consists of the part. */
  probe: string;
  /** The only clause that this may have, by the key of the tree. */
  clause: 'where_clause' | 'modifiers';
  /** What it must be, in words. */
  kind: string;
}

const NOT_ONE_SELECT = /is not allowed: SQL here only reads|^Only one statement/;

/**
 * The part's node in the engine's tree. Throws `query_error` unless the text is that part of a statement and nothing
 * else.
 */
export async function readPart(connection: DuckDBConnection, part: Part, signal: AbortSignal): Promise<Node> {
  const statement = await readStatement(part.probe);
  const [parameter] = statement.parameters;
  if (parameter !== undefined) {
    throw new ApiError(
      'query_error',
      `${part.name} cannot have parameters such as ":${parameter}": write the value itself.`,
    );
  }
  const wrong = new ApiError('query_error', `${part.name} must be ${part.kind}.`);
  const tree = await parse(connection, statement, signal).catch((error: unknown) => {
    throw error instanceof ApiError && NOT_ONE_SELECT.test(error.message) ? wrong : error;
  });
  const node = isNode(tree) && isNode(tree['node']) ? tree['node'] : {};
  const isRight =
    clausesOf(node).every((key) => key === part.clause) &&
    modifiersOf(node).every(({ type }) => type === 'ORDER_MODIFIER');
  if (node['type'] !== 'SELECT_NODE' || !isRight) throw wrong;
  return node;
}

export const CONDITION_KIND = "one condition such as amount > 10 AND status = 'open'";

/**
 * Throws `query_error` unless the text is a condition, as after WHERE, that each document decides by itself. There are no
 * brackets around it in the probe: with some, `a) OR (b` would pass. It begins in the second line.
 */
export async function checkCondition(connection: DuckDBConnection, sql: string, signal: AbortSignal): Promise<void> {
  const part: Part = {
    name: 'where',
    probe: `SELECT 1 FROM t WHERE\n${sql}\n`,
    clause: 'where_clause',
    kind: CONDITION_KIND,
  };
  const { where_clause: condition } = await readPart(connection, part, signal);
  if (condition === undefined) throw new ApiError('query_error', `where must be ${CONDITION_KIND}.`);
  for (const inner of nodesIn(condition)) {
    if (inner['class'] !== 'SUBQUERY') continue;
    throw new ApiError(
      'query_error',
      'where cannot have a subquery, since each document decides it by itself. Query the _id of the documents, and name these.',
    );
  }
}
