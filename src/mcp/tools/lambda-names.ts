import { createHash } from 'node:crypto';

/**
 * Names of the tools that lambdas are offered as, and of their arguments, which every client and provider takes. A name
 * depends on the names alone, never on an order, and two that come out alike both get a hash of what they were made of.
 */

/** Clients put the server's name in front: some allow 64 characters for both, some 60. */
const TOOL_CHARS_MAX = 40;
const ARGUMENT_CHARS_MAX = 64;
const HASH_CHARS = 8;

/** Names of arguments that do not arrive: the functions in which libraries wrap calls have parameters so named. */
export const TAKEN_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  python: ['self', 'cls'],
  langchain: ['callbacks', 'config', 'run_manager', 'runtime'],
  semanticKernel: ['arguments', 'execution_settings', 'kernel', 'service', 'settings', 'tool_name'],
  // Fields of the models that AutoGen and mcp-use make.
  pydantic: ['construct', 'copy', 'dict', 'fields', 'json', 'schema', 'validate'],
};
const TAKEN = new Set(Object.values(TAKEN_ARGUMENTS).flat());

interface Wish {
  /** What a hash is made of. */
  whole: string;
  name: string;
}

/**
 * The names of the tools of lambdas, in their order: `workspace_lambda`, with `_` for all but letters and digits,
 * `lambda_` before what begins with neither, and a hash at the end of what is too long, or like another one or one of
 * `builtIn` in any letter case. Undefined where even that is taken.
 */
export function lambdaToolNames(
  lambdas: readonly { workspace: string; name: string }[],
  builtIn: Iterable<string>,
): (string | undefined)[] {
  const wishes = lambdas.map(({ workspace, name }) => ({
    whole: JSON.stringify([workspace, name]),
    name: begun(plain(`${workspace}_${name}`), 'lambda_'),
  }));
  return named(wishes, TOOL_CHARS_MAX, builtIn);
}

/**
 * The names of the arguments for parameters of SQL, in their order: the parameter's own, changed as those of tools are
 * where it does not fit; `p_` stands before what begins with no letter, and before names that some libraries keep for
 * themselves.
 */
export function argumentNames(parameters: readonly string[]): (string | undefined)[] {
  const wishes = parameters.map((parameter) => ({ whole: parameter, name: free(begun(plain(parameter), 'p_')) }));
  return named(wishes, ARGUMENT_CHARS_MAX, []);
}

function named(wishes: readonly Wish[], charsMax: number, taken: Iterable<string>): (string | undefined)[] {
  const used = new Set(Array.from(taken, folded));
  const counts = new Map<string, number>();
  for (const { name } of wishes) counts.set(folded(name), (counts.get(folded(name)) ?? 0) + 1);
  const isFree = ({ name }: Wish) =>
    name.length <= charsMax && counts.get(folded(name)) === 1 && !used.has(folded(name));
  // One that was made with a hash gives way to one that has the same name by itself.
  const own = new Set(wishes.filter(isFree).map(({ name }) => folded(name)));
  return wishes.map((wish) => {
    if (isFree(wish)) return wish.name;
    const name = hashed(wish, charsMax);
    if (own.has(folded(name)) || used.has(folded(name))) return undefined;
    used.add(folded(name));
    return name;
  });
}

function plain(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, '_');
}

function begun(name: string, beginning: string): string {
  return /^[A-Za-z]/.test(name) ? name : `${beginning}${name.replace(/^_/, '')}`;
}

/** Names of the prototype are no argument's: a call without the argument would seem to have it. */
function free(name: string): string {
  return TAKEN.has(name) || name.startsWith('model_') || name in {} ? `p_${name}` : name;
}

function hashed({ whole, name }: Wish, charsMax: number): string {
  const hash = createHash('sha256').update(whole, 'utf8').digest('hex').slice(0, HASH_CHARS);
  return `${name.slice(0, charsMax - HASH_CHARS - 1)}_${hash}`;
}

const folded = (name: string) => name.toLowerCase();
