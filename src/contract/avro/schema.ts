import { shortestFloat } from '../json/floats.ts';
import { isObject, type JsonObject, type JsonValue, setField } from '../json/json.ts';
import { type AvroCursor, AvroError } from './cursor.ts';
import { logicalReader, type Read } from './logical.ts';

/** What reading is told, or asks. */
export interface AvroNotes {
  /** A number that JSON has not. */
  unwritable(): void;
  /** A decimal of more digits than a number keeps, within the field of this name of the document. */
  longDecimal(field: string): void;
  /** The schema has decimals that may be such. */
  mayBeLong(): void;
  /** Whether all decimals within the field are to be text. */
  isText(field: string): boolean;
}

interface Scope {
  /** The named types so far, by their full name. */
  named: Map<string, Read>;
  notes: AvroNotes;
  namespace: string;
  /** The document's field that the type is in. */
  field: string;
  depth: number;
}

const DEPTH_MAX = 200;

/**
 * How to read a value of the schema; `before`: schemas whose named types it uses, each behind those that it uses itself.
 * Throws an `AvroError` for a schema that is none.
 */
export function readerOfSchema(text: string, notes: AvroNotes, before: readonly string[] = []): Read {
  const named = new Map<string, Read>();
  const read = (one: string) => compiled(parsedSchema(one), { named, notes, namespace: '', field: '', depth: 0 });
  for (const one of before) read(one);
  return read(text);
}

/** Throws an `AvroError` if a schema is no JSON. */
export function parsedSchema(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AvroError('its schema is no JSON', { cause: error });
  }
}

function compiled(schema: unknown, scope: Scope): Read {
  if (scope.depth > DEPTH_MAX) throw new AvroError('its schema is nested too deeply');
  const inner = { ...scope, depth: scope.depth + 1 };
  if (typeof schema === 'string') return primitive(schema, scope) ?? reference(schema, scope);
  if (Array.isArray(schema)) return unionReader(schema.map((one) => compiled(one, inner)));
  if (!isObject(schema)) throw new AvroError('its schema holds what is no type');
  const { type } = schema as { type?: unknown };
  if (typeof type !== 'string') return compiled(type, inner);
  const own = schema as Record<string, unknown>;
  const plain = complexReader(type, own, inner) ?? primitive(type, scope) ?? reference(type, scope);
  const { notes, field } = scope;
  const read = logicalReader(own, plain, {
    longDecimal: () => notes.longDecimal(field),
    mayBeLong: notes.mayBeLong,
    isText: () => notes.isText(field),
  });
  if (['fixed', 'enum'].includes(type)) scope.named.set(fullName(own, scope), read);
  return read;
}

function primitive(type: string, { notes }: Scope): Read | undefined {
  const finite = (value: number, shown: (value: number) => number) => {
    if (Number.isFinite(value)) return shown(value);
    notes.unwritable();
    return null;
  };
  const readers: Record<string, Read> = {
    null: () => null,
    boolean: (cursor) => cursor.boolean(),
    int: (cursor) => cursor.long(),
    long: (cursor) => cursor.long(),
    float: (cursor) => finite(cursor.float(), shortestFloat),
    double: (cursor) => finite(cursor.double(), (value) => value),
    bytes: (cursor) => cursor.take(cursor.long()).toString('base64'),
    string: (cursor) => cursor.text(),
  };
  const read = Object.hasOwn(readers, type) ? readers[type] : undefined;
  return read && counted(read);
}

function counted(read: Read): Read {
  return (cursor) => {
    cursor.count();
    return read(cursor);
  };
}

function complexReader(type: string, schema: Record<string, unknown>, scope: Scope): Read | undefined {
  switch (type) {
    case 'record':
    case 'error':
      return recordReader(schema, scope);
    case 'enum':
      return enumReader(schema);
    case 'fixed':
      return fixedReader(schema);
    case 'array':
      return arrayReader(compiled(schema['items'], scope));
    case 'map':
      return mapReader(compiled(schema['values'], scope));
    default:
      return undefined;
  }
}

function fullName({ name, namespace }: Record<string, unknown>, scope: Scope): string {
  if (typeof name !== 'string' || name === '') throw new AvroError('its schema has a named type without a name');
  if (name.includes('.')) return name;
  const space = typeof namespace === 'string' ? namespace : scope.namespace;
  return space === '' ? name : `${space}.${name}`;
}

function reference(name: string, { named, namespace }: Scope): Read {
  const known = named.get(namespace === '' || name.includes('.') ? name : `${namespace}.${name}`) ?? named.get(name);
  if (known !== undefined) return known;
  throw new AvroError(`its schema uses the type ${JSON.stringify(name.slice(0, 100))}, which it does not define`);
}

function recordReader(schema: Record<string, unknown>, scope: Scope): Read {
  const name = fullName(schema, scope);
  const fields: { key: string; read: Read }[] = [];
  const read = counted((cursor) =>
    cursor.within(() => {
      const record: JsonObject = {};
      for (const field of fields) {
        const value = field.read(cursor);
        if (value !== null) setField(record, field.key, value);
      }
      return record;
    }),
  );
  // A field may be of the record's own type.
  scope.named.set(name, read);
  const { fields: given } = schema;
  if (!Array.isArray(given)) throw new AvroError(`its schema has the record ${JSON.stringify(name)} without fields`);
  const namespace = name.slice(0, Math.max(0, name.lastIndexOf('.')));
  for (const field of given) {
    const key = isObject(field) ? field['name'] : undefined;
    if (typeof key !== 'string') throw new AvroError('its schema has a field without a name');
    const inner = { ...scope, namespace, field: scope.field === '' ? key : scope.field };
    fields.push({ key, read: compiled((field as Record<string, unknown>)['type'], inner) });
  }
  return read;
}

function enumReader({ symbols }: Record<string, unknown>): Read {
  if (!Array.isArray(symbols)) throw new AvroError('its schema has an enum without symbols');
  return counted((cursor) => {
    const index = Number(cursor.long());
    const symbol: unknown = symbols[index];
    if (typeof symbol !== 'string') throw new AvroError(`an enum of ${symbols.length} symbols has the index ${index}`);
    return symbol;
  });
}

function fixedReader({ size }: Record<string, unknown>): Read {
  if (!Number.isSafeInteger(size) || Number(size) < 0) throw new AvroError('its schema has a fixed without a size');
  return counted((cursor) => cursor.take(Number(size)).toString('base64'));
}

function unionReader(branches: readonly Read[]): Read {
  return (cursor) => {
    const index = Number(cursor.long());
    const branch = branches[index];
    if (branch === undefined) throw new AvroError(`a union of ${branches.length} types has the index ${index}`);
    return branch(cursor);
  };
}

/** The items of an array or map come in blocks, each with their number; a negative one is followed by their bytes. */
function* places(cursor: AvroCursor): Generator<void> {
  for (let items = Number(cursor.long()); items !== 0; items = Number(cursor.long())) {
    if (items < 0) cursor.long();
    for (let index = Math.abs(items); index > 0; index--) {
      cursor.count();
      yield;
    }
  }
}

function arrayReader(read: Read): Read {
  return counted((cursor) =>
    cursor.within(() => {
      const items: JsonValue[] = [];
      for (const _ of places(cursor)) items.push(read(cursor));
      return items;
    }),
  );
}

function mapReader(read: Read): Read {
  return counted((cursor) =>
    cursor.within(() => {
      const members: JsonObject = {};
      for (const _ of places(cursor)) {
        const key = cursor.text();
        setField(members, key, read(cursor));
      }
      return members;
    }),
  );
}
