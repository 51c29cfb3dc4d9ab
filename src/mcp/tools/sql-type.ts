import { placeOf } from '../../contract/strays.ts';
import { ANY_FIELD, ANY_KEY, type AnyStep, identifier } from './infer.ts';

/** A place in the values of a column, with its type: `o` STRUCT(…), `o.k` BIGINT, `items[].price` DOUBLE. */
export interface TypePlace {
  /** Spelled as `inferFields` does. */
  path: string;
  /** As in `contract/strays.ts`, with 0 for items and keys. */
  place: string;
  /** Levels below the column. */
  depth: number;
  type: string;
  /** The name of the one place of all that is in it, if it is a map, or an object of many fields of one type. */
  any: AnyStep | undefined;
}

interface Type {
  text: string;
  /** How many lists enclose it: in `BIGINT[][]` the BIGINT is in two. */
  lists: number;
  fields: [name: string, type: Type][];
  /** Of a map with text keys. */
  values?: Type | undefined;
}

const LEVELS_MAX = 32;
/** Fewer fields of one type have a place each. */
const ALIKE_MIN = 16;
const STRUCT = /STRUCT\(/y;
const MAP = /MAP\(VARCHAR, /y;
const NAME = /\s*(?:"((?:[^"]|"")*)"|([^\s"(),[\]]+))\s+/y;
/** A type without fields: words, with the contents of brackets, and quoted texts and names. */
const PLAIN = /(?:"[^"]*"|'[^']*'|[^"'(),[\]])+/y;
const LIST = /\[\d*\]/y;

/**
 * The column itself and all places in it, parents first, parsed from the text of its type. If the type is not spelled
 * as the engine does, only the column.
 */
export function typePlaces(column: string, type: string): TypePlace[] {
  const path = identifier(column);
  const read = createReader(type).whole();
  const places: TypePlace[] = [
    {
      path,
      place: placeOf([column]),
      depth: 0,
      type,
      any: anyIn(read),
    },
  ];
  if (read !== undefined) addPlaces(places, read, { path, place: placeOf([column]), depth: 0 });
  return places;
}

/** The name of the one place in a type, or in its items with so many lists taken off. */
function anyIn(type: Type | undefined, lists = 0): AnyStep | undefined {
  if (type === undefined || type.lists !== lists) return undefined;
  const { fields, values } = type;
  if (values !== undefined) return ANY_KEY;
  const first = fields[0]?.[1];
  const isAlike = ([, one]: [string, Type]) => one.text === first?.text && one.lists === first.lists;
  return fields.length >= ALIKE_MIN && fields.every(isAlike) ? ANY_FIELD : undefined;
}

function addPlaces(
  places: TypePlace[],
  type: Type,
  { path, place, depth }: Pick<TypePlace, 'path' | 'place' | 'depth'>,
): void {
  const { text, lists, fields, values } = type;
  const any = anyIn(type, lists);
  for (let list = 1; list <= lists; list++) {
    places.push({
      path: path + '[]'.repeat(list),
      place: place + '/0'.repeat(list),
      depth: depth + list,
      type: text + '[]'.repeat(lists - list),
      any: list === lists ? any : undefined,
    });
  }
  const inner: [string, string, Type][] = fields.map(([name, one]) => [identifier(name), placeOf([name]), one]);
  const alike = values ?? fields[0]?.[1];
  for (const [name, step, one] of any && alike ? [[any, '0', alike] as const] : inner) {
    const field = {
      path: `${path}${'[]'.repeat(lists)}.${name}`,
      place: `${place}${'/0'.repeat(lists)}/${step}`,
      depth: depth + lists + 1,
    };
    places.push({ ...field, type: one.text + '[]'.repeat(one.lists), any: anyIn(one) });
    addPlaces(places, one, field);
  }
}

function createReader(text: string) {
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  const skip = (mark: string) => {
    const isThere = text.startsWith(mark, at);
    if (isThere) at += mark.length;
    return isThere;
  };

  /** Skips the arguments of a type whose inside has no fields for us: DECIMAL(18,2), MAP(BIGINT, STRUCT(…)). */
  const takeArguments = (): boolean => {
    if (!skip('(')) return true;
    for (let open = 1; open > 0; ) {
      if (skip('(')) open += 1;
      else if (skip(')')) open -= 1;
      else if (!skip(',') && !skip('[') && !skip(']') && take(PLAIN) === null) return false;
    }
    return true;
  };

  const takeFields = (level: number): Type['fields'] | undefined => {
    const fields: Type['fields'] = [];
    do {
      const name = take(NAME);
      const type = name === null ? undefined : takeType(level);
      if (name === null || type === undefined) return undefined;
      fields.push([name[1]?.replaceAll('""', '"') ?? name[2] ?? '', type]);
    } while (skip(','));
    return skip(')') ? fields : undefined;
  };

  const takeType = (level: number): Type | undefined => {
    if (level > LEVELS_MAX) return undefined;
    const start = at;
    const isMap = take(MAP) !== null;
    const values = isMap ? takeType(level + 1) : undefined;
    if (isMap && (values === undefined || !skip(')'))) return undefined;
    const fields = isMap || take(STRUCT) === null ? [] : takeFields(level + 1);
    if (fields === undefined) return undefined;
    if (!isMap && fields.length === 0 && (take(PLAIN) === null || !takeArguments())) return undefined;
    const own = text.slice(start, at);
    let lists = 0;
    while (take(LIST) !== null) lists += 1;
    return { text: own, lists, fields, values };
  };

  return {
    whole: () => {
      const type = takeType(0);
      return at === text.length ? type : undefined;
    },
  };
}
