import { counted } from '../../contract/in-words.ts';
import type { Figures } from './field-figures.ts';
import type { FieldLine } from './fold-lines.ts';
import { ancestorsOf, type InferredField, isUuid, isWithin } from './infer.ts';
import type { TypePlace } from './sql-type.ts';

/** The column for fields that cannot have one of their own. */
export const EXTRA_COLUMN = '_extra';
/** A longer type text is that of a nested type, whose fields have lines of their own. */
const TYPE_CHARS_MAX = 24;

const JSON_TYPE = /^JSON(?:\[\d*\])*$/;

/**
 * A line per field: of those with a type in all documents, and of those within JSON in the sample.
 */
export function linesOf(
  inferred: readonly InferredField[],
  places: ReadonlyMap<string, TypePlace>,
  figures: ReadonlyMap<string, Figures>,
  { sampled, counted: all }: { sampled: number; counted: number },
): FieldLine[] {
  const rank = new Map([...places.keys()].map((path, index) => [path, index]));
  const known = new Set(inferred.map(({ path }) => path));
  const jsons = new Set([...places.values()].filter(({ type }) => JSON_TYPE.test(type)).map(({ path }) => path));
  // What is within a column and has no place in its type does not fit: it is told with the strays.
  const fitting = inferred.filter(({ path }) => places.size === 0 || places.has(path) || isWithin(path, jsons));
  const unseen = [...places.values()].filter(({ path }) => !known.has(path) && (figures.get(path)?.present ?? 0) > 0);
  const rankOf = (path: string): number => {
    for (const of of [path, ...ancestorsOf(path)]) {
      const found = rank.get(of);
      if (found !== undefined) return found;
    }
    return -1;
  };
  const fields: InferredField[] = [
    ...fitting,
    ...unseen.map(({ path, depth }) => ({ path, depth, type: '', present: 0, examples: [] })),
  ];
  // What has no place of its own is within JSON, and stays behind that.
  const ordered = places.size === 0 ? fields : fields.toSorted((a, b) => rankOf(a.path) - rankOf(b.path));
  return ordered.map((field) => {
    const figure = figures.get(field.path);
    const [present, of] = figure === undefined ? [field.present, sampled] : [figure.present, all];
    const share = Math.round((100 * present) / of);
    const shown = share === 0 ? '<1%' : share === 100 && present < of ? '>99%' : `${share}%`;
    const { least, most, distinct, values: whole } = figure ?? {};
    const values =
      least === undefined ? (whole ?? telling(field.examples)) : least === most ? least : `${least} … ${most}`;
    return {
      path: field.path,
      depth: field.depth,
      type: typeText(places.get(field.path), field, distinct),
      rest: [shown, field.keys === undefined ? (distinct ?? null) : null, values],
    };
  });
}

/** Examples, but for those of which nobody learns anything. */
function telling(examples: readonly unknown[]): readonly unknown[] {
  return examples.every((example) => typeof example === 'string' && isUuid(example)) ? examples.slice(0, 1) : examples;
}

/** Whether a place has the type JSON, which by itself does not say what values to expect. */
export function isJson(place: TypePlace | undefined): boolean {
  return place?.type === 'JSON' && place.path !== EXTRA_COLUMN;
}

/** Nested fields have the words that fields within JSON have. */
const WORDS: Record<string, string> = {
  VARCHAR: 'text',
  BIGINT: 'integer',
  HUGEINT: 'integer',
  DOUBLE: 'number',
  BOOLEAN: 'boolean',
};

function typeText(place: TypePlace | undefined, { type, keys }: InferredField, distinct: number | undefined): string {
  if (place?.type.startsWith('MAP(VARCHAR')) return `map of ${counted(distinct ?? keys ?? 0, 'keys')}`;
  if (keys !== undefined) return `object of ${counted(keys, 'keys')}`;
  if (isJson(place)) return `JSON (${type || 'null'})`;
  const own = place?.type ?? '';
  if (own.endsWith(']')) return own.length <= TYPE_CHARS_MAX ? own : 'array';
  if (own.startsWith('STRUCT')) return 'object';
  return place?.depth === 0 ? own : (WORDS[own] ?? (own === '' ? type : own));
}
