import type { BatchOutcome } from '../../batches.ts';
import type { OnFieldNews } from '../../field-news.ts';
import type { OpenedRow, RowsPart, RowsPartOptions } from '../../rows.ts';
import type { Sql } from '../connections/store.ts';
import { quoteText } from '../sql/names.ts';
import type { Table } from '../tables/catalog.ts';
import { StorableRows } from '../tables/store-batch.ts';
import type { WritesContext } from '../tables/store-documents.ts';
import type { Shape } from '../values/shape.ts';
import { type AddedRows, insertRows } from './add-part.ts';
import type { RowsPlan } from './fit.ts';
import type { Part, Relation } from './relation.ts';
import { declaredOf, type RowsReading, refusedIn, rowsWithout } from './row-documents.ts';

/** Decides how the rows of a relation go into a table. */
export type PlanRows = (table: Table, relation: Relation) => Promise<RowsPlan>;

/** The rows of a part behind a row, as `OpenedRows.partBehind` gives them. */
export async function partBehind(
  reading: RowsReading,
  relation: Relation,
  whole: Part,
  after: number,
  { prefix, read, refusedMax }: RowsPartOptions,
  { plan, signal }: { plan: PlanRows; signal: AbortSignal },
): Promise<RowsPart | undefined> {
  const part = partFrom(whole, Math.max(whole.first, after + 1));
  const refused: RowsPart['refused'][number][] = [];
  for await (const some of refusedIn(reading, relation, part, { read, signal })) {
    refused.push(...some);
    if (refused.length > refusedMax) return undefined;
  }
  const lines = refused.map(({ at }) => at);
  const { id: own } = relation.key;
  const from = rowsWithout(part, lines);
  const named =
    own === undefined ? [] : await reading.ask(`SELECT l, ${own} FROM ${from} WHERE ${own} IS NOT NULL ORDER BY l`);
  if (relation.check !== undefined) await reading.ask(`SELECT ${relation.check} FROM ${part.from}`);
  // As `derivedId`.
  const derived = `(${quoteText(`${prefix}/`)} || l)`;
  const id = own === undefined ? derived : `coalesce(${own}, ${derived})`;
  return new PartOfRows({
    relation: { ...relation, key: { ...relation.key, id, isNumbered: own === undefined } },
    part,
    plan,
    refused: refused.sort((a, b) => a.at - b.at),
    ids: named.map(([row, text]) => [Number(row), String(text)]),
  });
}

function partFrom(part: Part, first: number): Part {
  if (first === part.first) return part;
  const { from, last } = part;
  return { from: `(SELECT * FROM ${from} WHERE l >= ${first})`, rows: last - first + 1, first, last };
}

interface PartOptions extends Pick<RowsPart, 'refused' | 'ids'> {
  relation: Relation;
  part: Part;
  plan: PlanRows;
}

class PartOfRows extends StorableRows {
  readonly first: number;
  readonly last: number;
  readonly refused: RowsPart['refused'];
  readonly ids: RowsPart['ids'];
  readonly #relation: Relation;
  readonly #part: Part;
  readonly #plan: PlanRows;

  constructor({ relation, part, plan, refused, ids }: PartOptions) {
    super();
    this.first = part.first;
    this.last = part.last;
    this.refused = refused;
    this.ids = ids;
    this.#relation = relation;
    this.#part = part;
    this.#plan = plan;
  }

  async store(
    context: WritesContext,
    table: Table,
    finish: (sql: Sql, table: Table, rows: NonNullable<BatchOutcome['rows']>) => Promise<void>,
    onNews: OnFieldNews | undefined,
  ): Promise<void> {
    const relation = this.#relation;
    const plan = await this.#plan(table, relation);
    const refused = this.refused.map(({ at }) => at);
    const adding = { relation, part: this.#part, plan, refused, options: { reserveIds: noneMade, onNews } };
    await insertRows(context, table, adding, (sql, after, { added, replaced, others }) =>
      finish(sql, after, { added, replaced, others: others.map((one) => otherRow(relation, one, plan.shape.columns)) }),
    );
  }
}

function noneMade(): never {
  throw new Error('each row of a part has an id');
}

function otherRow(
  relation: Relation,
  values: AddedRows['others'][number],
  columns: ReadonlyMap<string, Shape>,
): OpenedRow {
  return {
    at: Number(values[0]),
    bytes: 0,
    read() {
      const { document, why } = relation.document(values, columns);
      return why === undefined ? { document, declared: declaredOf(relation) } : { why };
    },
  };
}
