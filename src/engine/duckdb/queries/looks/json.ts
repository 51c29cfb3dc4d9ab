import type { JsonUse } from '../../gate/json-values.ts';
import type { Look, Question } from './look.ts';
import type { SeenText } from './samples.ts';

/*
 * JSON that is put in order, or given to a function of text, by its own text.
 */

export const json: Look = (uses) =>
  uses.json.map(
    (use): Question => ({
      kind: 'json',
      samples: use.source === undefined ? [] : [{ field: use.source, within: use.source.within, types: [] }],
      said: ([texts]) => (use.call === undefined ? orderSaid(use, texts) : callSaid(use, use.call, texts)),
    }),
  );

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
