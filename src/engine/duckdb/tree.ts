/** A node of the tree that the engine's parser makes of a statement. */
export type Node = { [key: string]: unknown };

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
