import {
  DuckDBArrayVector,
  DuckDBBlobVector,
  DuckDBListVector,
  DuckDBMapVector,
  DuckDBStructVector,
  DuckDBUnionVector,
  DuckDBVarCharVector,
  type DuckDBVector,
} from '@duckdb/node-api';

/** A text is stored as 16 bytes, the first four of which are its length. */
const TEXT_HEAD = 16;

/** Estimates the memory of a vector without converting its values to JavaScript. */
export function vectorBytes(vector: DuckDBVector): number {
  // The driver gives lengths only along with copies of the values.
  if (vector instanceof DuckDBVarCharVector) return textBytes(vector.itemCount, vector['dataView'], vector['validity']);
  if (vector instanceof DuckDBBlobVector) return textBytes(vector.itemCount, vector['dataView'], vector['validity']);
  if (vector instanceof DuckDBListVector) return vector.itemCount * TEXT_HEAD + vectorBytes(vector.childVector);
  if (vector instanceof DuckDBMapVector) return vectorBytes(vector['listVector']);
  if (vector instanceof DuckDBUnionVector) return vectorBytes(vector['structVector']);
  if (vector instanceof DuckDBArrayVector) return vectorBytes(vector['childData']);
  if (vector instanceof DuckDBStructVector) {
    let bytes = vector.itemCount;
    for (let index = 0; index < vector.type.entryNames.length; index++)
      bytes += vectorBytes(vector.entryVectorAt(index));
    return bytes;
  }
  return vector.itemCount * 8;
}

function textBytes(count: number, heads: DataView, validity: { itemValid(row: number): boolean }): number {
  let bytes = count * TEXT_HEAD;
  for (let row = 0; row < count; row++) if (validity.itemValid(row)) bytes += heads.getUint32(row * TEXT_HEAD, true);
  return bytes;
}

/**
 * The first row with a text of more than `max` bytes, or 0 if one is anywhere within lists and structs; infinity if none
 * is.
 */
export function rowOfLongText(vector: DuckDBVector, max: number): number {
  if (vector instanceof DuckDBVarCharVector) {
    return longTextIn(vector.itemCount, vector['dataView'], vector['validity'], max);
  }
  if (vector instanceof DuckDBBlobVector) {
    return longTextIn(vector.itemCount, vector['dataView'], vector['validity'], max);
  }
  return innerVectors(vector).some((inner) => rowOfLongText(inner, max) < inner.itemCount)
    ? 0
    : Number.POSITIVE_INFINITY;
}

function longTextIn(count: number, heads: DataView, validity: { itemValid(row: number): boolean }, max: number) {
  for (let row = 0; row < count; row++) {
    if (heads.getUint32(row * TEXT_HEAD, true) > max && validity.itemValid(row)) return row;
  }
  return Number.POSITIVE_INFINITY;
}

function innerVectors(vector: DuckDBVector): readonly DuckDBVector[] {
  if (vector instanceof DuckDBListVector) return [vector.childVector];
  if (vector instanceof DuckDBMapVector) return [vector['listVector']];
  if (vector instanceof DuckDBUnionVector) return [vector['structVector']];
  if (vector instanceof DuckDBArrayVector) return [vector['childData']];
  if (!(vector instanceof DuckDBStructVector)) return [];
  return vector.type.entryNames.map((_, index) => vector.entryVectorAt(index));
}

/** Number of items of lists and maps in a vector, at every depth, of all its rows together. */
export function itemsIn(vector: DuckDBVector): number {
  if (vector instanceof DuckDBListVector) return vector.childVector.itemCount + itemsIn(vector.childVector);
  if (vector instanceof DuckDBMapVector) return itemsIn(vector['listVector']);
  if (vector instanceof DuckDBUnionVector) return itemsIn(vector['structVector']);
  if (vector instanceof DuckDBArrayVector) return itemsIn(vector['childData']);
  if (!(vector instanceof DuckDBStructVector)) return 0;
  let items = 0;
  for (let index = 0; index < vector.type.entryNames.length; index++) items += itemsIn(vector.entryVectorAt(index));
  return items;
}
