import type { JsonObject } from '../../../contract/json/json.ts';
import type { NewColumn } from '../../engine.ts';
import type { Transaction } from '../connections/store.ts';
import { ID_COLUMN, TIME_COLUMN } from '../sql/names.ts';
import { typeOf } from '../values/types.ts';
import { newTable, type Table } from './catalog.ts';
import type { TableShape } from './columns.ts';
import { fitting } from './store-documents.ts';

/* The columns that a table would have. */

/** A table that is not there yet, without any documents. */
export const NEW_TABLE: Table = newTable({ id: '', workspace: '', name: '', retentionSecs: null }, true);

const readsNothing = async () => {
  throw new Error('A table that is not there was read.');
};
const NOTHING_STORED: Transaction = (work) => work(Object.assign(readsNothing, { again: readsNothing }));

export function newColumnsIn({ columns }: TableShape): NewColumn[] {
  return [...columns].map(([name, shape]) => ({ name, type: typeOf(shape) }));
}

/** As in `Engine`. */
export async function columnsFor(documents: readonly JsonObject[]): Promise<NewColumn[]> {
  const accepted = documents.map((document, place) => {
    const { [ID_COLUMN]: _id, [TIME_COLUMN]: _time, ...fields } = document;
    return { id: String(place), fields, eventTimeMicros: null };
  });
  return newColumnsIn((await fitting(NOTHING_STORED, NEW_TABLE, accepted)).shape);
}
