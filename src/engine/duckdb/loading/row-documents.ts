import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { createPace, mapInTurns } from '../../../contract/turns/turns.ts';
import type { DeclaredType, NewDocument } from '../../documents.ts';
import type { Refusal, RefusedRow, RowDocument, RowsOptions, RowsProgress } from '../../rows.ts';
import { type Ask, NO_COLUMNS, type Part, type Relation, type RowAsDocument } from './relation.ts';
import { TOO_LARGE } from './row-bytes.ts';
import { ID_BYTES_MAX } from './row-key.ts';

/** Refused rows that are named. */
const REFUSED_SHOWN = 100;

export interface RowsReading {
  ask: Ask;
  connection: DuckDBConnection;
}

/** A row that is refused; of one that is too large without its document. */
type RefusedAsDocument = RefusedRow & Pick<RowAsDocument, 'document'>;

/** The types that documents of rows declare. */
export function declaredOf({ columns }: Relation): ReadonlyMap<string, DeclaredType> | undefined {
  const declared = columns.flatMap((one) => (one.declared === undefined ? [] : [[one.name, one.declared] as const]));
  return declared.length === 0 ? undefined : new Map(declared);
}

/** A row as a document that can be stored, or why it cannot. */
export function readRow(
  { document, why }: RowAsDocument,
  relation: Relation,
  options: Pick<RowsOptions, 'read'>,
): NewDocument | Refusal {
  if (why !== undefined) return { why };
  const read = options.read(document);
  return 'why' in read ? read : { ...read, declared: declaredOf(relation) };
}

export function refuse(progress: RowsProgress, { at, id, why, kind }: RefusedRow): void {
  progress.refusedCount += 1;
  if (progress.refused.length < REFUSED_SHOWN) progress.refused.push({ at, id, why, kind });
}

/** The rows of each part that are refused; if that is to stop the load, some of the first ones. */
export async function findRefused(
  reading: RowsReading,
  relation: Relation,
  options: RowsOptions,
  progress: RowsProgress,
): Promise<Map<Part, number[]>> {
  const found = new Map<Part, number[]>();
  for (const part of relation.parts) {
    const lines: number[] = [];
    for await (const some of refusedIn(reading, relation, part, options)) {
      for (const row of some) {
        refuse(progress, row);
        lines.push(row.at);
      }
      if (options.stopsAtRefused && progress.refusedCount > 0) return found;
    }
    if (lines.length > 0) found.set(part, lines);
  }
  return found;
}

/** The rows of a part that are refused, some at a time. */
export async function* refusedIn(
  { ask, connection }: RowsReading,
  relation: Relation,
  part: Part,
  options: Pick<RowsOptions, 'read' | 'signal'>,
): AsyncGenerator<RefusedAsDocument[], void> {
  const { isUnsure } = relation.key;
  const large = await tooLargeIn(ask, relation, part);
  const from = rowsWithout(
    part,
    large.map(({ at }) => at),
  );
  if (isUnsure !== undefined) {
    const text = `SELECT ${relation.documentSql(NO_COLUMNS)} FROM ${from} WHERE (${isUnsure})`;
    for await (const rows of rowsOf(connection, text, options.signal)) {
      const read = rows.flatMap((values) => {
        const row = relation.document(values, NO_COLUMNS);
        const read = readRow(row, relation, options);
        return 'why' in read ? [{ ...row, ...read }] : [];
      });
      yield [...large.splice(0), ...read];
    }
  }
  if (large.length > 0) yield large;
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

async function tooLargeIn(ask: Ask, { isTooLarge, key }: Relation, part: Part): Promise<RefusedAsDocument[]> {
  if (isTooLarge === undefined) return [];
  const id = key.id === undefined ? 'NULL' : `CASE WHEN strlen(${key.id}) <= ${ID_BYTES_MAX} THEN ${key.id} END`;
  const rows = await ask(`SELECT l, ${id} FROM ${part.from} WHERE ${isTooLarge} ORDER BY l`);
  return rows.map(([line, own]) => ({
    at: Number(line),
    id: typeof own === 'string' ? own : null,
    why: TOO_LARGE,
    document: {},
  }));
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
