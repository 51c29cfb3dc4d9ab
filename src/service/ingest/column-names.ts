import { counted } from '../../contract/in-words.ts';
import { cut } from '../../contract/text.ts';

const SHOWN = 5;
const CHARS_MAX = 100;

/** Names of columns, and what to tell of those that are not as the file has them. */
export interface DistinctNames {
  names: string[];
  /** Undefined: the file names each column once. */
  note: string | undefined;
}

/**
 * The names of columns with a number behind those that stand further left, too: `a`, `a_2`. That is no name of the file,
 * whatever its letter case, which SQL does not tell apart. Linear, since each number is tried once.
 */
export function distinctNames(given: readonly string[]): DistinctNames {
  const seen = new Set<string>();
  const taken = new Set(given.map((name) => name.toLowerCase()));
  const numbers = new Map<string, number>();
  const renamed: [from: string, to: string][] = [];
  const names = given.map((name) => {
    if (seen.size !== seen.add(name).size) return name;
    const plain = name.toLowerCase();
    let number = (numbers.get(plain) ?? 1) + 1;
    while (taken.has(`${plain}_${number}`)) number += 1;
    numbers.set(plain, number);
    renamed.push([name, `${name}_${number}`]);
    return `${name}_${number}`;
  });
  return { names, note: renamed.length === 0 ? undefined : noteOf(renamed) };
}

function noteOf(renamed: readonly (readonly [string, string])[]): string {
  const short = (text: string) => JSON.stringify(cut(text, CHARS_MAX));
  const shown = renamed.slice(0, SHOWN).map(([from, to]) => `another column ${short(from)} is ${short(to)}`);
  const more = renamed.length > SHOWN ? `, and so on (${counted(renamed.length, 'columns')})` : '';
  return `The file has columns of one name: ${shown.join(', ')}${more}.`;
}
