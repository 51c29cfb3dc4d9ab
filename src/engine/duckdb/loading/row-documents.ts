import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { createPace, mapInTurns } from '../../../contract/turns/turns.ts';
import type { DeclaredType, NewDocument } from '../../documents.ts';
import type { RowDocument, RowsOptions, RowsProgress } from '../../rows.ts';
import type { Shape } from '../values/shape.ts';
import type { Ask, Part, Relation, RowAsDocument } from './relation.ts';
import { TOO_LARGE } from './row-bytes.ts';
import { ID_BYTES_MAX } from './row-key.ts';

/** Refused rows that are named. */
const REFUSED_SHOWN = 100;
const NO_COLUMNS: ReadonlyMap<string, Shape> = new Map();

/** The types that documents of rows declare. */
export function declaredOf({ columns }: Relation): ReadonlyMap<string, DeclaredType> | undefined {
  const declared = columns.flatMap((one) => (one.declared === undefined ? [] : [[one.name, one.declared] as const]));
  return declared.length === 0 ? undefined : new Map(declared);
}

/** A row as a document that can be stored, or why it cannot. */
export function readRow(
  { document, why }: RowAsDocument,
  relation: Relation,
  options: RowsOptions,
): NewDocument | string {
  if (why !== undefined) return why;
  const read = options.read(document);
  return typeof read === 'string' ? read : { ...read, declared: declaredOf(relation) };
}

export function refuse(progress: RowsProgress, { at, id }: Pick<RowAsDocument, 'at' | 'id'>, why: string): void {
  progress.refusedCount += 1;
  if (progress.refused.length < REFUSED_SHOWN) progress.refused.push({ at, id, why });
}

/** The rows of each part that are refused; if that is to stop the load, some of the first ones. */
export async function findRefused(
  { ask, connection }: { ask: Ask; connection: DuckDBConnection },
  relation: Relation,
  options: RowsOptions,
  progress: RowsProgress,
): Promise<Map<Part, number[]>> {
  const found = new Map<Part, number[]>();
  const { isUnsure } = relation.key;
  for (const part of relation.parts) {
    const lines = await refuseTooLarge(ask, relation, part, progress);
    const from = rowsWithout(part, lines);
    if (isUnsure !== undefined) {
      const text = `SELECT ${relation.documentSql(NO_COLUMNS)} FROM ${from} WHERE (${isUnsure})`;
      for await (const rows of rowsOf(connection, text, options.signal)) {
        for (const values of rows) {
          const row = relation.document(values, NO_COLUMNS);
          const read = readRow(row, relation, options);
          if (typeof read !== 'string') continue;
          refuse(progress, row, read);
          lines.push(row.at);
        }
        if (options.stopsAtRefused && progress.refusedCount > 0) return found;
      }
    }
    if (lines.length > 0) found.set(part, lines);
  }
  return found;
}

/** The rows of a statement, some at a time and in order, and no more of them than whoever takes them asks for. */
async function* rowsOf(
  connection: DuckDBConnection,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<DuckDBValue[][], void> {
  const result = await connection.stream(text);
  const pace = createPace();
  for (;;) {
    signal.throwIfAborted();
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield chunk.getRows();
    const turn = pace();
    if (turn !== undefined) await turn;
  }
}

async function refuseTooLarge(
  ask: Ask,
  { isTooLarge, key }: Relation,
  part: Part,
  progress: RowsProgress,
): Promise<number[]> {
  if (isTooLarge === undefined) return [];
  const id = key.id === undefined ? 'NULL' : `CASE WHEN strlen(${key.id}) <= ${ID_BYTES_MAX} THEN ${key.id} END`;
  const rows = await ask(`SELECT l, ${id} FROM ${part.from} WHERE ${isTooLarge} ORDER BY l`);
  return rows.map(([line, own]) => {
    const at = Number(line);
    refuse(progress, { at, id: typeof own === 'string' ? own : null }, TOO_LARGE);
    return at;
  });
}

/** SQL for the rows of a part without some of them. */
export function rowsWithout(part: Part, lines: readonly number[] | undefined): string {
  if (lines === undefined || lines.length === 0) return part.from;
  return `(SELECT * FROM ${part.from} WHERE l NOT IN (SELECT unnest(from_json('[${lines.join(',')}]', '["BIGINT"]'))))`;
}

/** Hands over all rows as documents, in order, and reads no more of them than that takes. */
export async function handOver(
  connection: DuckDBConnection,
  relation: Relation,
  refused: ReadonlyMap<Part, readonly number[]>,
  take: NonNullable<RowsOptions['take']>,
  signal: AbortSignal,
): Promise<void> {
  const declared = declaredOf(relation);
  for (const part of relation.parts) {
    const from = rowsWithout(part, refused.get(part));
    const text = `SELECT ${relation.documentSql(NO_COLUMNS)} FROM ${from}`;
    for await (const rows of rowsOf(connection, text, signal)) {
      const some = await mapInTurns(rows, (values): RowDocument => {
        const { at, document } = relation.document(values, NO_COLUMNS);
        return { at, document, declared };
      });
      await take(some);
    }
  }
}
