/*
 * Patterns of paths. In a name `*` stands for any characters and `?` for one; `**` as a name stands for any number of names.
 */

/** Whether the names of a path fit those of a pattern. */
export function fitsPath(pattern: readonly string[], names: readonly string[]): boolean {
  return fits(pattern, names, sameName, '**');
}

const sameName = (step: string, name: string) => fits([...step], [...name], sameCharacter, '*');
const sameCharacter = (step: string, character: string) => step === '?' || step === character;

/** Whether the items fit the pattern, in which `any` stands for any number of them. The work is linear in each. */
function fits(
  pattern: readonly string[],
  items: readonly string[],
  same: (step: string, item: string) => boolean,
  any: string,
): boolean {
  let [step, item] = [0, 0];
  // Where to go on after the last `any`, if what follows it does not fit: it stands for one item more.
  let [again, from] = [-1, 0];
  while (item < items.length) {
    if (pattern[step] === any) {
      again = step + 1;
      from = item;
      step = again;
    } else if (step < pattern.length && same(pattern[step] ?? '', items[item] ?? '')) {
      step += 1;
      item += 1;
    } else if (again >= 0) {
      from += 1;
      item = from;
      step = again;
    } else return false;
  }
  return pattern.slice(step).every((rest) => rest === any);
}
