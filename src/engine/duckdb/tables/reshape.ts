import { parseJson } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import type { Sql, Transaction } from '../connections/store.ts';
import { changedIn, type Path, shapeAt, withShape } from '../values/paths.ts';
import { type Intake, isObjectShape, type Kind, type Shape } from '../values/shape.ts';
import type { Table } from './catalog.ts';
import { hasOwnStrays, type Retyped, TABLE_FORM, type TableShape } from './columns.ts';
import { kindOfType, NO_VALUES, prevailing, widenKind } from './majority.ts';
import { mapOf } from './maps.ts';
import { storedAt } from './stored-values.ts';

/*
 * Tables of earlier versions: objects whose keys are data were structs with a field for every key of every document, and
 * a field became JSON for good with the first value that had another type. They get the columns that their documents
 * would have if they came now.
 */

/** Values that are read at once. */
const PAGE = 100_000;

/** Whether a table of an earlier version may get other columns. */
export function isOutdated({ form, columns }: TableShape): boolean {
  if (form >= TABLE_FORM) return false;
  return placesIn(columns).some(({ to }) => to === 'json' || (isObjectShape(to) && mapOf(to) !== undefined));
}

function placesIn(columns: ReadonlyMap<string, Shape>) {
  return [...changedIn(undefined, { fields: columns })];
}

/** The shape in which what is JSON has the type of most of its values, and the columns of which that is so. */
export async function reshapedJson(read: Transaction, table: Table): Promise<Retyped> {
  let { columns } = table.shape;
  if (hasOwnStrays(columns)) {
    return { shape: { ...table.shape, form: TABLE_FORM }, retyped: [] };
  }
  for (const { path, to } of placesIn(columns)) {
    if (to !== 'json' || shapeAt(columns, path) !== 'json') continue;
    const shape = await read((sql) => prevailingAt(sql, table, path));
    if (shape !== undefined) columns = withShape(columns, path, shape);
  }
  const retyped = [...columns.keys()].filter((name) => columns.get(name) !== table.shape.columns.get(name));
  const strays = new Set([...table.shape.strays, ...retyped]);
  return { shape: { ...table.shape, columns, strays, form: TABLE_FORM }, retyped };
}

/** The shape of most JSON values at a path; undefined: there is none. */
async function prevailingAt(sql: Sql, table: Table, path: Path): Promise<Shape | undefined> {
  const from = storedAt(table, path);
  const counts = { ...NO_VALUES };
  const types = await sql(`SELECT json_type(v), count(*) FROM ${from} WHERE v IS NOT NULL GROUP BY 1`);
  for (const [type, count] of types) if (type !== 'NULL') counts[kindOfType(String(type))] += Number(count);
  if (Object.values(counts).every((count) => count === 0)) return undefined;
  const kind = prevailing(counts);
  if (kind === 'json') return undefined;
  if (kind === undefined || kind === 'text') return 'string';
  if (kind === 'boolean') return 'boolean';
  return widest(sql, from, kind, path.length - 1);
}

async function widest(sql: Sql, from: string, kind: Kind, level: number): Promise<Shape | undefined> {
  const intake: Intake = { misfits: 0, times: false };
  const pace = createPace();
  const types =
    kind === 'list' ? "'ARRAY'" : kind === 'object' ? "'OBJECT'" : "'UBIGINT', 'BIGINT', 'DOUBLE', 'HUGEINT'";
  let shape: Shape = 'null';
  for (let at = 0; ; at += PAGE) {
    const page = await sql(
      `SELECT v::VARCHAR FROM ${from} WHERE json_type(v) IN (${types}) LIMIT ${PAGE} OFFSET ${at}`,
    );
    for (const [text] of page) {
      const turn = pace();
      if (turn !== undefined) await turn;
      shape = widenKind(kind, shape, parseJson(String(text)), { intake, level });
    }
    if (page.length < PAGE) return shape === 'null' || shape === 'json' ? undefined : shape;
  }
}
