import { isObject } from '../../contract/json/json.ts';
import { variableOf } from '../../settings.ts';
import { plainText } from '../log.ts';
import { type AssistantKind, isOurs, pathOf, SERVER_NAME } from './clients.ts';
import { backUp, type ConfigFile, readConfigFile, writeConfigFile } from './config-file.ts';
import { type Entry, entryAt, Refusal, withEntry } from './format.ts';
import { unifiedDiff } from './unified-diff.ts';

/** The planned change to the configuration of one assistant. */
export interface Plan {
  kind: AssistantKind;
  file: ConfigFile;
  /** The complete new text; undefined if the file is to be removed. */
  text: string | undefined;
}

/** An assistant whose configuration is left alone, and why. */
export interface Refused {
  kind: AssistantKind;
  why: string;
}

/** Runs a step for one assistant; a `Refusal` is returned as a result, any other error is thrown. */
export async function tryFor<Done>(kind: AssistantKind, step: () => Promise<Done>): Promise<Done | Refused> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof Refusal) return { kind, why: error.message };
    throw error;
  }
}

export function isRefused(result: object | undefined): result is Refused {
  return result !== undefined && 'why' in result;
}

/** The change that adds our entry; undefined if the configuration already has exactly that entry. */
export async function planFor(kind: AssistantKind, path: string, entry: Entry): Promise<Plan | undefined> {
  // Most assistants substitute variables in these texts, each in its own way.
  const odd = [entry['command'], entry['args'] ?? []].flat().find((one) => /\$/.test(String(one)));
  if (odd !== undefined)
    throw new Refusal(`${JSON.stringify(odd)} holds a "$", which ${kind.name} may take for a variable`);
  const file = await readConfigFile(path);
  const before = file.text ?? '';
  const text = withEntry(
    kind.format,
    before,
    pathOf(kind),
    withKept(kind, entryAt(kind.format, before, pathOf(kind)), entry),
  );
  return text === file.text ? undefined : { kind, file, text };
}

/** Variables for what an entry of this run says by itself. */
const DECIDED: ReadonlySet<string> = new Set(
  (
    [
      'dataDir',
      'url',
      'apiKey',
      'apiKeyFile',
      'toolsets',
      'profile',
      'lambdaTools',
      'readOnly',
      'allowDirs',
      'allowHosts',
      'exportDirs',
    ] as const
  ).map(variableOf),
);

/**
 * The entry with what its user has added to an earlier one of this program: variables, such as the secrets that an
 * assistant may refer to, and settings of the assistant's own, such as a time limit.
 */
function withKept({ variables: key = 'env' }: AssistantKind, old: unknown, entry: Entry): Entry {
  if (!isObject(old) || !isOurs(old)) return entry;
  const merged: Record<string, unknown> = { ...old, ...entry };
  if (!isObject(old[key])) return merged;
  const kept = Object.entries(old[key]).filter(([name]) => !DECIDED.has(name));
  const variables = { ...Object.fromEntries(kept), ...(isObject(entry[key]) ? entry[key] : {}) };
  if (Object.keys(variables).length > 0) merged[key] = variables;
  else delete merged[key];
  return merged;
}

/** Writes the planned text, after copying the original file; resolves to the path of the copy, if there is one. */
export async function carryOut({ file, text }: Plan & { text: string }): Promise<string | undefined> {
  const copy = await backUp(file);
  await writeConfigFile(file, text);
  return copy;
}

const SHOWN_CHARS_MAX = 300;
const SECRET_NAME = /key|token|secret|passw|auth|credential|bearer/i;

/**
 * The change as a unified diff, for a person to check. Values whose names suggest a secret are masked, even on
 * unchanged lines: terminals are recorded and watched by others.
 */
export function shownChange({ file, text }: Plan, secret?: string): string {
  const lines = unifiedDiff(file.path, file.text, text).split('\n');
  return plainText(lines.map((line) => cut(withoutSecrets(line.replace(/\r$/, ''), secret))).join('\n'));
}

/** A text with the secret, and whatever has the name of one, masked. */
export function withoutSecrets(text: string, secret?: string): string {
  const masked = secret === undefined ? text : text.replaceAll(secret, MASK);
  return masked.replace(ASSIGNED, (whole, between: string, value: string, at: number) => {
    const name = nameBefore(masked, at);
    return SECRET_NAME.test(name) && !/_file$/i.test(name) ? `${between}${value[0]}${MASK}${value[0]}` : whole;
  });
}

const ASSIGNED = /([:=]\s*)("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')/g;

/** The name, perhaps in quotes, that ends at `end`; empty if there is none. */
function nameBefore(text: string, end: number): string {
  let last = end;
  while (/\s/.test(text[last - 1] ?? '')) last -= 1;
  if (/["']/.test(text[last - 1] ?? '')) last -= 1;
  let first = last;
  while (/[\w.-]/.test(text[first - 1] ?? '')) first -= 1;
  return text.slice(first, last);
}

const MASK = '••••••';

/** A long line, cut to its part around our entry, if it contains that, or to its beginning. */
function cut(line: string): string {
  if (line.length <= SHOWN_CHARS_MAX) return line;
  const at = Math.max(1, line.indexOf(SERVER_NAME) - SHOWN_CHARS_MAX / 4);
  const part = line.slice(at, at + SHOWN_CHARS_MAX);
  return `${line[0]}${at > 1 ? '…' : ''}${part}${at + SHOWN_CHARS_MAX < line.length ? '…' : ''}`;
}

/** Lines for a person to paste, for configurations that this program does not write. */
export function linesToPaste(kind: AssistantKind, entry: Entry, secret?: string): string {
  return withoutSecrets(kind.format.put('', pathOf(kind), entry).trim(), secret);
}
