/** What is right, and how near to it an answer has to be. */
export type Truth =
  /** `within`: how far off is still right (default: what one more digit could be, 1e-9). */
  | { number: number; within?: number }
  /** Any of these. */
  | { text: readonly string[] }
  | { names: readonly string[] }
  | { counts: Readonly<Record<string, number>>; within?: number }
  /** Text in which this is. */
  | { contains: RegExp };

/** Why an answer is wrong; undefined: it is right. Letter case, accents, punctuation, and order of names do not matter. */
export function wrongIn(answer: unknown, truth: Truth): string | undefined {
  if ('number' in truth) return wrongNumber(answer, truth.number, truth.within);
  if ('text' in truth) {
    const said = fold(single(answer));
    return truth.text.some((one) => fold(one) === said) ? undefined : `not ${show(answer)}`;
  }
  if ('contains' in truth) {
    return truth.contains.test(String(single(answer))) ? undefined : `${show(answer)} does not say it`;
  }
  return 'names' in truth ? wrongNames(answer, truth.names) : wrongCounts(answer, truth.counts, truth.within);
}

function wrongNumber(answer: unknown, right: number, within = 1e-9): string | undefined {
  const said = numberIn(single(answer));
  if (said === undefined) return `${show(answer)} is not a number`;
  return Math.abs(said - right) <= within + Number.EPSILON * Math.abs(right) * 4 ? undefined : `not ${said}`;
}

function wrongNames(answer: unknown, right: readonly string[]): string | undefined {
  const list = typeof answer === 'string' ? answer.split(/[,;\n]/) : answer;
  if (!Array.isArray(list)) return `${show(answer)} is not a list`;
  // Names of a service may be given with their workspace.
  const plain = (one: unknown) => String(single(one)).replace(/^[\w-]+\.(?=[\w-]+$)/, '');
  const said = new Set(list.map((one) => fold(plain(one))).filter((one) => one !== ''));
  const wanted = new Set(right.map(fold));
  const missing = [...wanted].filter((one) => !said.has(one)).length;
  const extra = [...said].filter((one) => !wanted.has(one)).length;
  return missing + extra === 0 ? undefined : `${missing} missing, ${extra} too many`;
}

function wrongCounts(answer: unknown, right: Readonly<Record<string, number>>, within?: number): string | undefined {
  const said = new Map(pairsIn(answer).map(([name, value]) => [fold(name), value]));
  const wanted = new Map(Object.entries(right).map(([name, value]) => [fold(name), value]));
  const off = [...wanted].filter(
    ([name, value]) => !said.has(name) || wrongNumber(said.get(name), value, within) !== undefined,
  );
  const extra = [...said.keys()].filter((name) => !wanted.has(name));
  return off.length + extra.length === 0
    ? undefined
    : `${off.length} of ${wanted.size} wrong, ${extra.length} too many`;
}

/** `{a: 1}`, `[["a", 1]]` and `[{name: "a", count: 1}]` say the same. */
function pairsIn(answer: unknown): [unknown, unknown][] {
  if (!Array.isArray(answer)) return typeof answer === 'object' && answer !== null ? Object.entries(answer) : [];
  return answer.map((one) => {
    const [name, value] = Array.isArray(one) ? one : Object.values(one ?? {});
    return [name, value];
  });
}

/** The one thing in an answer that wraps it: `["x"]`, `{name: "x"}`. */
function single(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  const values = Object.values(answer);
  return values.length === 1 ? single(values[0]) : JSON.stringify(answer);
}

/** A number, also as text: `1,234`, `12.5 %`, `12 days`. */
function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const text = value.trim().replace(/(?<=\d)[,\u00a0\u202f](?=\d{3})/g, '');
  const found = /^[^\d+-]{0,3}([+-]?\d+(?:\.\d+)?)(?:\s*[a-z%°²/]*)?$/iu.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

function fold(value: unknown): string {
  return String(value)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 80);
}

/** What a player says at the end. */
export interface Said {
  answer: unknown;
  /** That it is not sure. */
  unsure: boolean;
}

/** Reads `{"answer": …, "unsure": true}`; anything else is the answer itself. */
export function readSaid(json: string): Said {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    value = json.trim();
  }
  if (typeof value !== 'object' || value === null || !('answer' in value)) return { answer: value, unsure: false };
  return { answer: value.answer, unsure: 'unsure' in value && value.unsure === true };
}

/** What follows the last `ANSWER:` of a text; undefined if nothing does. */
export function saidIn(text: string): Said | undefined {
  const at = text.lastIndexOf('ANSWER:');
  if (at < 0) return undefined;
  const json = text
    .slice(at + 'ANSWER:'.length)
    .trim()
    .replace(/^`{1,3}(?:json)?\s*|\s*`{1,3}$/g, '');
  return readSaid(json.startsWith('{') ? json.slice(0, json.lastIndexOf('}') + 1) : (json.split('\n')[0] ?? ''));
}
