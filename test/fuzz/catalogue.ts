import { DuckDBInstance } from '@duckdb/node-api';
import { COMPAT_FUNCTIONS } from '../../src/engine/duckdb/sql/compat.ts';
import { SCALAR_FUNCTIONS, TABLE_FUNCTIONS } from '../../src/engine/duckdb/sql/functions.ts';
import { EXAMPLES } from './examples.ts';

/** A way to call a function that queries may call. */
export interface Signature {
  name: string;
  kind: 'scalar' | 'aggregate' | 'window' | 'table';
  /** The catalogue's names of types; null: any. */
  parameters: (string | null)[];
  /** The type of further arguments, if there may be any. */
  more: string | null;
  returns: string | null;
}

/** All that queries may call: from the engine's catalogue, so that nothing is forgotten, and our lists. */
export interface Catalogue {
  signatures: readonly Signature[];
  /** Expressions that are known to run, with the function that each of them shows. */
  examples: readonly { name: string; sql: string; kind: 'scalar' | 'rows' }[];
  /** Every allowed name. */
  names: readonly string[];
}

/** Functions of the parser or of windows only, which the engine's catalogue does not have or has without parameters. */
const WINDOWS: Record<string, (string | null)[][]> = {
  row_number: [[]],
  rank: [[], ['BIGINT']],
  rank_dense: [[]],
  dense_rank: [[]],
  percent_rank: [[]],
  cume_dist: [[]],
  ntile: [['BIGINT']],
  lag: [[null], [null, 'BIGINT'], ['BIGINT', 'BIGINT', 'BIGINT']],
  lead: [[null], [null, 'BIGINT'], ['BIGINT', 'BIGINT', 'BIGINT']],
  first_value: [[null]],
  last_value: [[null]],
  nth_value: [[null, 'BIGINT']],
  fill: [['DOUBLE'], ['BIGINT']],
};

const ALL = `SELECT DISTINCT lower(function_name), function_type, parameter_types, varargs, return_type,
    CASE WHEN function_type LIKE '%macro' THEN len(parameters) END
  FROM duckdb_functions() WHERE function_type NOT IN ('pragma') AND database_name = 'system' ORDER BY ALL`;

/** The engine's documentation has an example for most functions; some are no expression. */
const DOCUMENTED = `SELECT DISTINCT lower(function_name), unnest(examples) FROM duckdb_functions()
  WHERE function_type IN ('scalar', 'aggregate') AND database_name = 'system' ORDER BY ALL`;

function isAllowed(name: string, kind: Signature['kind']): boolean {
  return (kind === 'table' ? TABLE_FUNCTIONS : SCALAR_FUNCTIONS).has(name);
}

function kindOf(type: string): Signature['kind'] {
  if (type.startsWith('table')) return 'table';
  return type === 'aggregate' || type === 'window' ? type : 'scalar';
}

async function readEngine(): Promise<{ all: unknown[][]; documented: unknown[][] }> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const rowsOf = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJS() as unknown[][];
  const read = { all: await rowsOf(ALL), documented: await rowsOf(DOCUMENTED) };
  connection.disconnectSync();
  instance.closeSync();
  return read;
}

export async function readCatalogue(): Promise<Catalogue> {
  const { all, documented } = await readEngine();
  const signatures: Signature[] = [];
  for (const [name, type, types, more, returns, count] of all) {
    const kind = kindOf(String(type));
    if (!isAllowed(String(name), kind) || String(name) in WINDOWS) continue;
    const given = Array.isArray(types) ? types.map((one) => (one === null ? null : String(one))) : [];
    const parameters = count === null ? given : Array.from({ length: Number(count) }, () => null);
    const text = (value: unknown) => (value === null ? null : String(value));
    signatures.push({ name: String(name), kind, parameters, more: text(more), returns: text(returns) });
  }
  for (const [name, forms] of Object.entries(WINDOWS)) {
    for (const parameters of forms) signatures.push({ name, kind: 'window', parameters, more: null, returns: null });
  }
  const compat = COMPAT_FUNCTIONS.map(({ name, example }) => {
    const isOverRows = /\b[ns]\b/.test(example.replace(/'[^']*'/g, ''));
    return { name: name.toLowerCase(), sql: example, kind: isOverRows ? ('rows' as const) : ('scalar' as const) };
  });
  const own = documented
    .filter(([name]) => SCALAR_FUNCTIONS.has(String(name)))
    .map(([name, sql]) => ({ name: String(name), sql: String(sql), kind: 'scalar' as const }));
  const names = [...new Set([...SCALAR_FUNCTIONS, ...TABLE_FUNCTIONS, ...compat.map(({ name }) => name)])];
  return { signatures, examples: [...EXAMPLES, ...compat, ...own], names };
}
