import { SAME_CALLS } from '../dialects.ts';
import { wordOf } from '../forms/edit.ts';
import { tokenList } from '../token-list.ts';
import { formatHere } from './format-codes.ts';

/** Calls of other SQL dialects, and the same call here. */

const PART = /^'?(year|quarter|month|week|day|hour|minute|second|millisecond|microsecond)s?'?$/i;

/** Whether a word is a part of a time. */
export const isPart = (word: string) => PART.test(word);

/** The same calls here, likeliest first; none if there are none for so many arguments. */
export function callsHere(name: string, args: readonly string[]): string[] {
  const folded = name.toLowerCase();
  if (folded === 'decode') return decoded(args);
  return (SAME_CALLS.get(folded) ?? []).flatMap((template) => filled(folded, template, args) ?? []);
}

/** Oracle's `DECODE(x, 1, 'a', 2, 'b', 'else')`, to which NULL is the same as NULL. */
function decoded([operand = '', ...cases]: readonly string[]): string[] {
  const pairs = Math.floor(cases.length / 2);
  if (pairs === 0 || cases.some((one, index) => index % 2 === 0 && /^null$/i.test(one))) return [];
  const whens = Array.from({ length: pairs }, (_, at) => ` WHEN ${cases[2 * at]} THEN ${cases[2 * at + 1]}`);
  const rest = cases.length % 2 === 1 ? ` ELSE ${cases.at(-1)}` : '';
  return [`CASE ${operand}${whens.join('')}${rest} END`];
}

/** Whether brackets around it change nothing: a name, a number, a text, a call, an interval. */
function isWhole(text: string): boolean {
  const list = tokenList(text);
  if (wordOf(list[0]) === 'interval') return list.length <= 3;
  let end = 0;
  // A path, and what is called or indexed by it.
  while (end < list.length && !/^[([]$/.test(list[end]?.text ?? '')) {
    const isDot = list[end]?.text === '.';
    if (isDot !== (end % 2 === 1)) return false;
    end += 1;
  }
  while (end < list.length && /^[([]$/.test(list[end]?.text ?? '')) end = list.closeOf(end) + 1;
  return end === list.length;
}

/** An argument in a form of a template; undefined: it is none of that form. */
function inForm(form: string, arg: string, name: string): string | undefined {
  if (form === 'in') return arg;
  if (form === 'format') return formatHere(name, arg);
  if (form === 'zone') return /^'[a-z]\w*(?:\/[\w+-]+)*'$/i.test(arg) ? arg : undefined;
  if (form === 'utc') return /^'(?:utc|gmt|etc\/utc|\+00:00)'$/i.test(arg) ? '' : undefined;
  if (form === 'json') return /^json_extract\(|->/i.test(arg) ? arg : undefined;
  if (form === 'one') return arg === '1' ? arg : undefined;
  const part = PART.exec(arg)?.[1]?.toLowerCase();
  return form === 'part' ? part && `'${part}'` : part?.toUpperCase();
}

function filled(name: string, template: string, args: readonly string[]): string | undefined {
  const isCall = /^\w+\(.*\)$/.test(template);
  const operand = (text: string) => (isCall || isWhole(text) ? text : `(${text})`);
  let isComplete = true;
  let most = 0;
  const text = template.replace(/\{(?:([a-z]+) )?(\d|\*)\}/g, (_, form: string | undefined, place: string) => {
    if (place === '*') {
      most = args.length;
      return args.join(', ');
    }
    most = Math.max(most, Number(place));
    const arg = args[Number(place) - 1] ?? '';
    const value = form === undefined ? operand(arg) : inForm(form, arg, name);
    if (value === undefined || (value === '' && form !== 'utc')) isComplete = false;
    return value ?? '';
  });
  if (!isComplete || most !== args.length) return undefined;
  return isCall || /^\w+$/.test(text) ? text : `(${text})`;
}
