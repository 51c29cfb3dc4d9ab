import { oneLine } from '../answer-text.ts';
import { estimateTokens, listWithin } from '../room.ts';
import { ancestorsOf } from './infer.ts';
import { type TypePlace, typePlaces } from './sql-type.ts';

/** Levels of objects and lists that are told. */
const LEVELS_MAX = 3;
/** Columns that every collection has, or that are told elsewhere. */
const OWN = new Set(['_id', '_event_time', '_strays', '_extra']);

interface Column {
  name: string;
  type: string;
}

/**
 * The fields of a collection in one line, with what is in them: `area DOUBLE, name {common, official}, tags [],
 * currencies {<key> {name, symbol}}`. Text is what has no type. Each field gets its share of the tokens, so that one with
 * a large type does not take the place of the others.
 */
export function fieldsText(columns: readonly Column[], tokensMax: number): string {
  const shown = columns.filter(({ name }) => !OWN.has(name));
  const names = shown.reduce((sum, { name }) => sum + estimateTokens(name) + 1, 0);
  const share = Math.max(0, tokensMax - names) / Math.max(1, shown.length);
  let spare = 0;
  const texts = shown.map(({ name, type }) => {
    const room = estimateTokens(name) + share + spare;
    const text = fieldText(name, type, room);
    spare = Math.max(0, room - estimateTokens(text));
    return text;
  });
  return oneLine(listWithin(texts, tokensMax));
}

function fieldText(name: string, type: string, tokensMax: number): string {
  const [own, ...inner] = typePlaces(name, type);
  if (own === undefined) return name;
  const children = new Map<string, TypePlace[]>();
  for (const place of inner) {
    const [parent = own.path] = ancestorsOf(place.path);
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [place]);
    else known.push(place);
  }
  return placeText(own, children, { parent: '', level: 0, tokensMax });
}

/** A place with what is in it. */
function placeText(
  place: TypePlace,
  children: ReadonlyMap<string, readonly TypePlace[]>,
  { parent, level, tokensMax }: { parent: string; level: number; tokensMax: number },
): string {
  const step = place.path.slice(parent.length).replace(/^\.|^\[\]$/, '');
  const within = children.get(place.path) ?? [];
  if (within.length === 0) return [step, place.type === 'VARCHAR' ? '' : place.type].join(' ').trim();
  const [only] = within;
  const isList = only?.path === `${place.path}[]`;
  const room = tokensMax - estimateTokens(step) - 2;
  const parts =
    level >= LEVELS_MAX || room <= 0
      ? []
      : within.map((one) => placeText(one, children, { parent: place.path, level: level + 1, tokensMax: room }));
  const inside = parts.length === 0 ? '…' : listWithin(parts, room);
  if (isList) return `${step} [${inside}]`.trim();
  return `${step} {${inside}}`.trim();
}
