import type { OpenedRow, OpenedRows } from '../../rows.ts';
import { type Ask, NO_COLUMNS, type Part, type Relation } from './relation.ts';
import { TOO_LARGE } from './row-bytes.ts';
import { declaredOf, type RowsReading } from './row-documents.ts';
import { type PlanRows, partBehind } from './rows-part.ts';

/** Text of rows that is held at once, about. */
const TEXT_CHARS = 4 * 1024 * 1024;
/** Rows that are read before it is known how large they are. */
const FIRST_ROWS = 100;

/**
 * Reads the rows of a file piece by piece: nothing of the engine is held between two pieces, so that it does not matter how
 * long whoever asks takes with one.
 */
export function openedRows(
  relation: Relation,
  onConnection: <T>(work: (reading: RowsReading) => Promise<T>, signal: AbortSignal) => Promise<T>,
  plan: PlanRows,
): OpenedRows {
  const declared = declaredOf(relation);
  let step = FIRST_ROWS;

  async function rowsIn(ask: Ask, part: Part, from: number, to: number): Promise<OpenedRow[]> {
    const within = `l > ${from} AND l <= ${to}`;
    const { isTooLarge } = relation;
    const fits = isTooLarge === undefined ? '' : ` AND NOT coalesce(${isTooLarge}, false)`;
    const rows = await ask(`SELECT ${relation.documentSql(NO_COLUMNS)} FROM ${part.from} WHERE ${within}${fits}`);
    const large =
      isTooLarge === undefined ? [] : await ask(`SELECT l FROM ${part.from} WHERE ${within} AND ${isTooLarge}`);
    let chars = 0;
    const all = rows.map((values): OpenedRow => {
      const bytes = values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);
      chars += bytes;
      return {
        at: Number(values[0]),
        bytes,
        read() {
          const { document, why } = relation.document(values, NO_COLUMNS);
          return why === undefined ? { document, declared } : { why };
        },
      };
    });
    for (const [at] of large) all.push({ at: Number(at), bytes: 0, read: () => ({ why: TOO_LARGE }) });
    if (chars > 0) step = Math.max(1, Math.min(16 * step, Math.floor(((to - from) * TEXT_CHARS) / chars)));
    return all.sort((a, b) => a.at - b.at);
  }

  return {
    lasts: relation.parts.map(({ last }) => last),
    partBehind: (after, options, signal) =>
      onConnection(async (reading) => {
        const part = relation.parts.find(({ last }) => last > after);
        return part && (await partBehind(reading, relation, part, after, options, { plan, signal }));
      }, signal),
    next: (after, signal) =>
      onConnection(async ({ ask }) => {
        let from = after;
        for (const part of relation.parts) {
          from = Math.max(from, part.first - 1);
          while (from < part.last) {
            signal.throwIfAborted();
            const to = Math.min(part.last, from + step);
            const rows = await rowsIn(ask, part, from, to);
            if (rows.length > 0) return rows;
            from = to;
          }
        }
        return [];
      }, signal),
  };
}
