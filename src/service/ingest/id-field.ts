import { isObject, type JsonValue, stringifyJson } from '../../contract/json/json.ts';

/**
 * A document whose `_id` is the text or number of its field `idField`, or the JSON text of what its `_id` is, without which it is as given; or why it has none, as
 * a clause.
 */
export function withIdField(document: JsonValue, idField: string | undefined): JsonValue {
  if (idField === undefined || !isObject(document)) return document;
  const value = Object.hasOwn(document, idField) ? (document[idField] ?? null) : null;
  const id = idFrom(value, idField);
  return id === undefined ? document : { ...document, _id: id };
}

/** Why a document cannot have the value of a field as its `_id`; undefined if it can. */
export function problemOfIdField(document: JsonValue, idField: string | undefined): string | undefined {
  if (idField === undefined || !isObject(document)) return undefined;
  const id = idFrom(Object.hasOwn(document, idField) ? (document[idField] ?? null) : null, idField);
  const name = JSON.stringify(idField);
  if (id === undefined) return `has no text or number in the field ${name}, which is to be its _id`;
  const own = document['_id'] ?? null;
  return own === null || idField === '_id' || String(own) === id
    ? undefined
    : `has an _id already, which is not its ${name}`;
}

/** An object or list that is an `_id` itself is one as its JSON text. */
function idFrom(value: JsonValue, idField: string): string | undefined {
  if (typeof value === 'object') return value === null || idField !== '_id' ? undefined : stringifyJson(value);
  const isId = ['string', 'number', 'bigint'].includes(typeof value) && value !== '';
  return isId ? String(value) : undefined;
}
