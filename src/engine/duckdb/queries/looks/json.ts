import { besideText, type JsonBeside, type JsonUse } from '../../gate/json-values.ts';
import { foldName, quoteText } from '../../sql/names.ts';
import { INTEGER_IDS } from '../../sql/type-kinds.ts';
import type { Typed } from '../../values/typed-json.ts';
import { type Asked, type Look, otherText, type Question } from './look.ts';
import { misorderOf, ofNumber, orderSample } from './orders.ts';
import type { SeenText } from './samples.ts';

/*
 * JSON that is put in order, compared, or given to a function of text, by its own text.
 */

export const json: Look = (uses, { values }) =>
  uses.json.flatMap((use): Question[] =>
    use.text === undefined ? [questionOf(use, values)] : textQuestion(use, use.text, values),
  );

/** Of the text of JSON, which is put in order as a field of text may be. */
function textQuestion(
  { source, written = '', number }: JsonUse,
  text: Exclude<JsonUse['text'], undefined>,
  values: Asked['values'],
): Question[] {
  const other = otherText(text.other, values);
  if (source === undefined || (text.other !== undefined && (other === undefined || !/\d/.test(other)))) return [];
  const sample = { ...orderSample(source), within: source.within, isText: true };
  return [
    { kind: 'order', samples: [sample], said: ([texts = []]) => ofNumber(misorderOf(written, texts, other), number) },
  ];
}

function questionOf(use: JsonUse, values: Asked['values']): Question {
  return {
    kind: 'json',
    samples: use.source === undefined ? [] : [{ field: use.source, within: use.source.within, types: [] }],
    said: ([texts]) =>
      use.beside !== undefined
        ? besideSaid(use, use.beside, values, texts)
        : use.call === undefined
          ? orderSaid(use, texts)
          : callSaid(use, use.call, texts),
  };
}

const isText = (text: string) => text.startsWith('"');

/** `texts`: those of the JSON, with quotes around a text; undefined: they are not known. */
function orderSaid({ written }: JsonUse, texts: readonly SeenText[] | undefined): string | undefined {
  const x = written ?? 'x';
  const number = `CAST(${x} AS DOUBLE)`;
  if (texts === undefined)
    return `${written ?? 'A value'} is JSON, compared and ordered by its text, in which 10 comes before 9: ${number} is the number, (${x}->>'$') the text.`;
  const all = [...new Set(texts.map(({ text }) => text))];
  const numbers = all.filter((text) => !isText(text) && Number.isFinite(Number(text))).sort();
  const at = numbers.findIndex((text, index) => Number(text) > Number(numbers[index + 1]));
  if (at < 0) return undefined;
  // What is no number fails the cast, or is told by it.
  const cast = numbers.length === all.length ? number : `TRY_${number}`;
  return `${x} is JSON, compared and ordered by its text: ${numbers[at]} comes before ${numbers[at + 1]}. As a number: ${cast}.`;
}

function callSaid({ written }: JsonUse, call: string, texts: readonly SeenText[] | undefined): string | undefined {
  const x = written ?? 'x';
  if (texts !== undefined && !texts.some(({ text }) => isText(text))) return undefined;
  const by = /^\w+$/.test(call) && call === call.toLowerCase() ? `${call}()` : call;
  return `${written ?? 'A value'} is JSON: to ${by} its text has quotes around it. Without them: (${x}->>'$').`;
}

function besideSaid(
  { written }: JsonUse,
  beside: JsonBeside,
  values: Asked['values'],
  texts: readonly SeenText[] | undefined,
): string | undefined {
  const x = written ?? 'x';
  const other = beside !== 'integer' && 'parameter' in beside ? ofParameter(beside.parameter, values) : beside;
  if (other === undefined) return undefined;
  if (other === 'integer') {
    // What is no number is an error of the engine's.
    const isWhole = texts?.every(({ text }) => isText(text) || Number.isInteger(Number(text))) ?? true;
    return isWhole
      ? undefined
      : `${x} is JSON, and rounded to compare it with an integer: CAST(${x} AS DOUBLE) compares what it is.`;
  }
  if (texts !== undefined && !texts.some(({ text }) => isText(text))) return undefined;
  const differs = other.text === undefined ? 'the text beside it' : quoteText(other.text);
  return `${x} is JSON, in which a text has quotes, so it differs from ${differs}: (${x}->>'$') compares without them.`;
}

/** What a parameter is to JSON that is compared with it. */
function ofParameter(
  name: string,
  values: ReadonlyMap<string, Typed>,
): Exclude<JsonBeside, { parameter: string }> | undefined {
  for (const [own, { value, type }] of values) {
    if (foldName(own) !== name) continue;
    if (INTEGER_IDS.has(type.typeId)) return 'integer';
    return typeof value === 'string' ? besideText(value) : undefined;
  }
  return undefined;
}
