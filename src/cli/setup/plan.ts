import { isObject } from '../../contract/json.ts';
import { SETTINGS } from '../../settings.ts';
import { plainText } from '../log.ts';
import { type AssistantKind, isOurs, pathOf, SERVER_NAME } from './clients.ts';
import { backUp, type ConfigFile, readConfigFile, writeConfigFile } from './config-file.ts';
import { type Entry, entryAt, Refusal, withEntry } from './format.ts';
import { unifiedDiff } from './unified-diff.ts';

/** What is to happen to the configuration of one assistant. */
export interface Plan {
  kind: AssistantKind;
  file: ConfigFile;
  /** The whole new text; undefined: the file goes. */
  text: string | undefined;
}

/** An assistant whose configuration is left alone, and why. */
export interface Refused {
  kind: AssistantKind;
  why: string;
}

/** Runs a step for one assistant; what is refused comes back as such, and every other error is thrown. */
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

/** How the configuration becomes one with our entry; undefined where it has exactly that already. */
export async function planFor(kind: AssistantKind, path: string, entry: Entry): Promise<Plan | undefined> {
  // Most assistants replace variables in these texts, each in a way of its own.
  const odd = [entry['command'], ...(Array.isArray(entry['args']) ? entry['args'] : [])].find((one) => /\$/.test(one));
  if (odd !== undefined)
    throw new Refusal(`${JSON.stringify(odd)} holds a "$", which ${kind.name} may take for a variable`);
  const file = await readConfigFile(path);
  const before = file.text ?? '';
  const text = withEntry(
    kind.format,
    before,
    pathOf(kind),
    withKept(entryAt(kind.format, before, pathOf(kind)), entry),
  );
  return text === file.text ? undefined : { kind, file, text };
}

/** Variables for what an entry of this run says by itself. */
const DECIDED: ReadonlySet<string> = new Set(
  (['dataDir', 'url', 'apiKey', 'apiKeyFile', 'toolsets', 'profile', 'readOnly', 'allowDirs'] as const).map(
    (setting) => SETTINGS[setting].env,
  ),
);

/**
 * The entry with what its user has added to an earlier one of this program: variables, such as the secrets that an
 * assistant may refer to, and settings of the assistant's own, such as a time limit.
 */
function withKept(old: unknown, entry: Entry): Entry {
  if (!isObject(old) || !isOurs(old)) return entry;
  const { env: oldEnv, ...others } = old;
  const kept = Object.entries(isObject(oldEnv) ? oldEnv : {}).filter(([name]) => !DECIDED.has(name));
  const env = { ...Object.fromEntries(kept), ...(isObject(entry['env']) ? entry['env'] : {}) };
  return { ...others, ...entry, ...(Object.keys(env).length === 0 ? {} : { env }) };
}

/** Writes what was planned, after a copy of the file as it was; resolves to the path of the copy, where there is one. */
export async function carryOut({ file, text }: Plan & { text: string }): Promise<string | undefined> {
  const copy = await backUp(file);
  await writeConfigFile(file, text);
  return copy;
}

const SHOWN_CHARS_MAX = 300;
const SECRET_NAME = /key|token|secret|passw|auth|credential|bearer/i;

/**
 * The change for a person to look at, as a unified diff. Values of names that sound secret are not shown, in lines that
 * stay neither: a terminal is recorded and looked at by others.
 */
export function shownChange({ file, text }: Plan, secret?: string): string {
  const lines = unifiedDiff(file.path, file.text, text).split('\n');
  return plainText(lines.map((line) => cut(withoutSecrets(line.replace(/\r$/, ''), secret))).join('\n'));
}

/** A text in which the secret, and what sounds like one, is masked. */
export function withoutSecrets(text: string, secret?: string): string {
  const masked = secret === undefined ? text : text.replaceAll(secret, MASK);
  return masked.replace(
    /(["']?)([\w.-]+)\1(\s*[:=]\s*)(["'])((?:\\.|(?!\4)[^\\])*)\4/g,
    (whole, quote: string, name: string, between: string, mark: string) =>
      SECRET_NAME.test(name) && !/_file$/i.test(name)
        ? `${quote}${name}${quote}${between}${mark}${MASK}${mark}`
        : whole,
  );
}

const MASK = '••••••';

/** A long line around our entry, if that is in it, or its beginning. */
function cut(line: string): string {
  if (line.length <= SHOWN_CHARS_MAX) return line;
  const at = Math.max(1, line.indexOf(SERVER_NAME) - SHOWN_CHARS_MAX / 4);
  const part = line.slice(at, at + SHOWN_CHARS_MAX);
  return `${line[0]}${at > 1 ? '…' : ''}${part}${at + SHOWN_CHARS_MAX < line.length ? '…' : ''}`;
}

/** Lines for a person to paste where this program does not write. */
export function linesToPaste(kind: AssistantKind, entry: Entry, secret?: string): string {
  return withoutSecrets(kind.format.put('', pathOf(kind), entry).trim(), secret);
}
