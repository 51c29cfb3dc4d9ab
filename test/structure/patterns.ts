import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'vite';

export const SRC = resolve(import.meta.dirname, '../../src');

/** A regular expression of the source, and where it is. */
export interface Pattern {
  file: string;
  line: number;
  source: string;
  flags: string;
}

/** A place that makes a regular expression of a text. */
export interface Made {
  file: string;
  line: number;
  /** Whether it does so while a program runs, and not once, when its module is loaded. */
  isInFunction: boolean;
}

interface SyntaxNode {
  type: string;
  start: number;
  [key: string]: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string';

const FUNCTIONS = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'PropertyDefinition',
]);

/** All that the source says about regular expressions, by the syntax tree. */
export function patternsOf(): { literals: Pattern[]; made: Made[] } {
  const literals: Pattern[] = [];
  const made: Made[] = [];
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  for (const file of files) readFile(file, literals, made);
  return { literals, made };
}

function readFile(file: string, literals: Pattern[], made: Made[]): void {
  const text = readFileSync(join(SRC, file), 'utf8');
  const { program, errors } = parseSync(file, text, { lang: 'ts' });
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const lineOf = ({ start }: SyntaxNode) => text.slice(0, start).split('\n').length;
  const visit = (value: unknown, isInFunction: boolean): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, isInFunction);
    if (!isNode(value)) return;
    const regex = value['regex'] as { pattern: string; flags: string } | undefined;
    if (regex !== undefined) literals.push({ file, line: lineOf(value), source: regex.pattern, flags: regex.flags });
    // Any use of the name counts, so that it cannot be called by another.
    const isOfValue = value.type === 'Identifier' && value['name'] === 'RegExp';
    if (isOfValue) made.push({ file, line: lineOf(value), isInFunction });
    for (const [key, child] of Object.entries(value)) {
      const isType =
        key === 'typeAnnotation' || key === 'typeArguments' || key === 'returnType' || key === 'typeParameters';
      if (typeof child === 'object' && !isType) visit(child, isInFunction || FUNCTIONS.has(value.type));
    }
  };
  visit(program, false);
}

/** The regular expressions that these modules make of texts while they are loaded. */
export async function madeOnLoad(files: readonly string[]): Promise<Pattern[]> {
  const found = new Map<string, Pattern>();
  const Original = globalThis.RegExp;
  const note = (pattern: RegExp): RegExp => {
    const frame = new Error().stack
      ?.split('\n')
      .find((one) => one.includes(`${SRC}/`) && !one.includes('/node_modules/'));
    const [, file = '', line = ''] =
      frame === undefined ? [] : (/\/src\/([^:?]+)[^:]*:(\d+):\d+\)?$/.exec(frame) ?? []);
    const { source, flags } = pattern;
    if (files.includes(file)) found.set(`${file} ${source} ${flags}`, { file, line: Number(line), source, flags });
    return pattern;
  };
  globalThis.RegExp = new Proxy(Original, {
    construct: (target, given) => note(Reflect.construct(target, given) as RegExp),
    apply: (target, self, given) => note(Reflect.apply(target, self, given) as RegExp),
  });
  try {
    for (const file of files) await import(join(SRC, file));
  } finally {
    globalThis.RegExp = Original;
  }
  return [...found.values()];
}
