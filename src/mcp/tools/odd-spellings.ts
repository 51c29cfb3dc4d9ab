import type { InferredField } from './infer.ts';
import type { ToolContext } from './tool.ts';

/** Fields that are asked about. */
const FIELDS_MAX = 6;

/**
 * What the service says of fields of text that hold numbers or days in other spellings: that they have another order as
 * text, and the SQL that reads them. It is the warning of a query that orders them, so that both say the same.
 */
export async function oddSpellings(
  { client, signal }: Pick<ToolContext, 'client' | 'signal'>,
  table: string,
  fields: readonly InferredField[],
): Promise<string[]> {
  // An item of a list, and a key of a map, are no path in SQL.
  const paths = fields.flatMap(({ path, isSpelledText }) => (isSpelledText && !/\[\]|<\w+>/.test(path) ? [path] : []));
  const said: string[] = [];
  for (const path of paths.slice(0, FIELDS_MAX)) {
    const query = `SELECT max(${path}) FROM (SELECT * FROM ${table} LIMIT 1)`;
    // It only helps, and its failure must not hide the fields.
    const answer = await client.runQuery({ sql: { query } }, { signal }).catch(() => undefined);
    said.push(...(answer?.warnings ?? []).map(String).filter((warning) => warning.startsWith(`${path} is text`)));
  }
  return said;
}
