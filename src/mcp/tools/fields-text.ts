import { RESERVED_WORDS } from '../../contract/reserved-words.ts';
import { inQuotes } from '../../contract/text.ts';
import { oneLine } from '../answer-text.ts';
import { estimateTokens, listWithin } from '../room.ts';
import { ancestorsOf } from './infer.ts';
import { runsOf } from './patterned.ts';
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
 * currencies {<key> {name, symbol}}`, `size (large, small)` with its `values`, `{(AWG, …) <key> …}` with keys. `Q1 … Q200 BIGINT ×200` are 200 fields. Text is what
 * has no type. Each field gets its share of the tokens, so that one with
 * a large type does not take the place of the others.
 */
export function fieldsText(
  columns: readonly Column[],
  tokensMax: number,
  values: ReadonlyMap<string, string> = new Map(),
): string {
  const own = columns.filter(({ name }) => !OWN.has(name));
  const shown = runsOf(own, ({ name, type }) => ({
    name,
    like: isSimple(type) && !values.has(name) ? type : undefined,
  }));
  const names = shown.reduce((sum, [first]) => sum + estimateTokens(first?.name ?? '') + 1, 0);
  const share = Math.max(0, tokensMax - names) / Math.max(1, shown.length);
  const told = (spare: number) => {
    let left = spare;
    const texts = shown.map(([first = NO_COLUMN, ...others]) => {
      const room = estimateTokens(first.name) + share + left;
      const { text, tokens } = fieldText(first.name, first.type, room, values);
      left = Math.max(0, room - tokens);
      return others.length === 0 ? text : runText([first, ...others]);
    });
    return { texts, left };
  };
  const most = tokensMax + sumOf(values.values());
  const once = told(0);
  // What the last ones leave is for the first, unless these then take the place of others.
  const { texts: twice } = told(once.left);
  return oneLine(listWithin(sumOf(twice) + twice.length <= most ? twice : once.texts, most));
}

const sumOf = (texts: Iterable<string>) => [...texts].reduce((sum, text) => sum + estimateTokens(text), 0);

const NO_COLUMN: Column = { name: '', type: '' };

/** Whether nothing is in values of a type. */
const isSimple = (type: string) => !/[[({]/.test(type) && type !== 'JSON';

/** `"Q1" … "Q200" BIGINT ×200`. */
function runText(run: readonly Column[]): string {
  const [path, last] = [run[0], run.at(-1)].map((one) => typePlaces(one?.name ?? '', one?.type ?? '')[0]?.path ?? '');
  const type = run[0]?.type === 'VARCHAR' ? '' : `${run[0]?.type} `;
  return `${path} … ${last} ${type}×${run.length}`;
}

/** `tokens`: without those of values. */
function fieldText(name: string, type: string, tokensMax: number, values: ReadonlyMap<string, string>) {
  const [own, ...inner] = typePlaces(name, type);
  if (own === undefined) return { text: name, tokens: estimateTokens(name) };
  const children = new Map<string, TypePlace[]>();
  for (const place of inner) {
    const [parent = own.path] = ancestorsOf(place.path);
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [place]);
    else known.push(place);
  }
  const of = sumOf([own, ...inner].flatMap(({ path }) => values.get(path) ?? []));
  const text = placeText(own, { children, values }, { parent: '', level: 0, tokensMax: tokensMax + of });
  return { text, tokens: estimateTokens(text) - of };
}

interface Known {
  children: ReadonlyMap<string, readonly TypePlace[]>;
  values: ReadonlyMap<string, string>;
}

function placeText(
  place: TypePlace,
  known: Known,
  { parent, level, tokensMax }: { parent: string; level: number; tokensMax: number },
): string {
  const own = place.path.slice(parent.length).replace(/^\.|^\[\]$/, '');
  const step = parent === '' && RESERVED_WORDS.has(own.toLowerCase()) ? inQuotes(own, '"') : own;
  const within = known.children.get(place.path) ?? [];
  const values = known.values.get(place.path) ?? '';
  if (within.length === 0) {
    const parts = [step, place.type === 'VARCHAR' ? '' : place.type, values];
    return parts.filter((part) => part !== '').join(' ');
  }
  const [only] = within;
  const isList = only?.path === `${place.path}[]`;
  const room = tokensMax - estimateTokens(step) - 2;
  const parts =
    level >= LEVELS_MAX || room <= 0
      ? []
      : within.map((one) => placeText(one, known, { parent: place.path, level: level + 1, tokensMax: room }));
  const inside = parts.length === 0 ? '…' : listWithin(parts, room);
  if (isList) return `${step} [${inside}]`.trim();
  return `${step} {${values === '' ? '' : `${values} `}${inside}}`.trim();
}
