import { nameOfToken } from './paths.ts';
import { fieldName } from './syntax-hints.ts';
import { tokenList } from './token-list.ts';
import { isNumberType } from './type-kinds.ts';

/*
 * The value that an object stands for, as far as its type tells: XML text with attributes is an object with `#text`.
 */

/** A longer type is not looked into, and further fields are not named. */
const TYPE_CHARS_MAX = 20_000;
const NAMES_MAX = 6;

const TEXT = '#text';
const NESTED = /^(?:STRUCT|MAP)\(|\[\d*\]$/;

/** What is known of an object's fields. */
export interface ObjectValue {
  /** Their names as SQL has them, the first ones. */
  names: string[];
  /** The field that has its value, if that is clear; as a number, and as anything that is no object or list. */
  number?: string | undefined;
  scalar?: string | undefined;
}

/** What is known of the object with whose type, as the engine writes it, a text begins; undefined: it begins with another. */
export function objectValue(type: string): ObjectValue | undefined {
  if (!type.startsWith('STRUCT(') || type.length > TYPE_CHARS_MAX) return undefined;
  const list = tokenList(type);
  const ends = list.endsOf(1);
  const fields = ends.flatMap((end, index) => {
    const first = index === 0 ? 2 : (ends[index - 1] ?? 0) + 1;
    const name = list[first] && nameOfToken(list[first]);
    return name === undefined ? [] : [{ name, type: type.slice(list[first + 1]?.start, list[end - 1]?.end) }];
  });
  const only = (found: typeof fields) =>
    fields.find(({ name }) => name === TEXT) ?? (found.length === 1 ? found[0] : undefined);
  const [number, scalar] = [
    only(fields.filter((field) => isNumberType(field.type))),
    only(fields.filter((field) => !NESTED.test(field.type))),
  ].map((field) => field && fieldName(field.name));
  return { names: fields.slice(0, NAMES_MAX).map(({ name }) => fieldName(name)), number, scalar };
}
