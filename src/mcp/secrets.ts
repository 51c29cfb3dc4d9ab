import { ApiError } from '../contract/errors.ts';
import { jsonIn } from '../contract/json/json.ts';
import { mapSecrets } from '../contract/secret.ts';
import { lowerFirst } from '../contract/text.ts';
import type { Fenced } from './fence.ts';
import type { SecretOf } from './means.ts';

/** Keeps secrets from the model: arguments name them by reference, and answers that repeat them are masked. */

/** Replaces a secret. */
const MASK = '********';
const REFERENCE = /^(env|file):/;
const REFERENCE_CHARS_MAX = 200;
/** Shorter texts could be any word, so they are not looked for in answers. */
const HIDDEN_CHARS_MIN = 6;

const GIVEN_PLAINLY = 'The secret of this call is now part of the conversation.';
const BY_REFERENCE =
  'A reference keeps the next one out of it: env:NAME or file:PATH in its place, which this server resolves; a human sets it up.';
const NO_REFERENCES = 'This server takes no references to secrets. Its operator can allow them with --secret-dir.';

export interface CallSecrets {
  /** `value` with references resolved in fields that `schema` marks. Throws `invalid_input`, naming the reference. */
  resolve(schema: unknown, value: unknown): unknown;
  /** The answer without any of the secrets; advises to use references if a secret was given in plain text. */
  hide(answer: Fenced): Fenced;
}

/** Whether a text refers to a secret that is stored elsewhere. */
export function isReference(value: unknown): value is string {
  return typeof value === 'string' && REFERENCE.test(value);
}

/** `secretOf` resolves a reference; absent: references are refused. */
export function secretsOfCall(secretOf: SecretOf | undefined): CallSecrets {
  const known = new Set<string>();
  let isPlain = false;
  const remember = (value: unknown): void => {
    for (const text of hideable(value)) known.add(text);
  };
  const lookUp = (reference: string): string => {
    if (secretOf !== undefined) return secretOf(reference);
    const shown = JSON.stringify(reference.slice(0, REFERENCE_CHARS_MAX));
    throw new ApiError('invalid_input', `Cannot use the reference ${shown}: ${lowerFirst(NO_REFERENCES)}`);
  };
  const replaceIn = (value: unknown): unknown => {
    if (isReference(value)) return lookUp(value);
    if (Array.isArray(value)) return value.map(replaceIn);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, replaceIn(field)]));
  };
  return {
    resolve: (schema, value) =>
      mapSecrets(schema, value, 'given', (marked) => {
        const references = [...textsIn(marked)].filter(isReference);
        if (references.length === 0) {
          isPlain = true;
          if (typeof marked === 'string') remember(marked);
          return marked;
        }
        if (!isReference(marked)) {
          for (const reference of references) remember(lookUp(reference));
          return replaceIn(marked);
        }
        const content = lookUp(marked);
        remember(content);
        remember(jsonIn(content));
        return content;
      }),
    hide: (answer) => {
      const next = isPlain
        ? [answer.next, GIVEN_PLAINLY, secretOf ? BY_REFERENCE : NO_REFERENCES].filter(Boolean).join(' ')
        : answer.next;
      if (known.size === 0) return { ...answer, next };
      const data = withoutTexts(answer.data, known) as Fenced['data'];
      const text = answer.text === undefined ? undefined : (withoutTexts(answer.text, known) as string);
      return { ...answer, data, text, next };
    },
  };
}

/** The texts of a secret that are long enough to be told from ordinary words. */
export function hideable(secret: unknown): string[] {
  return [...textsIn(secret)].filter((text) => text.length >= HIDDEN_CHARS_MIN);
}

/** All texts in a value, except the keys of objects. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) for (const field of Object.values(value)) yield* textsIn(field);
}

/** A copy of `value` with each of the texts masked, also in their JSON-escaped form. */
export function withoutTexts(value: unknown, texts: Iterable<string>): unknown {
  const spellings = [...texts].flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]);
  // The longest first: if one text is a part of another, no half of the longer one remains.
  return replaced(
    value,
    [...new Set(spellings)].sort((a, b) => b.length - a.length),
  );
}

function replaced(value: unknown, hidden: readonly string[]): unknown {
  if (typeof value === 'string') return hidden.reduce((text, secret) => text.replaceAll(secret, MASK), value);
  if (Array.isArray(value)) return value.map((item) => replaced(item, hidden));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, replaced(field, hidden)]));
}

/** A result with every text masked that its schema marks as secret, unless the service has masked it already. */
export function masked(schema: unknown, result: unknown): unknown {
  return mapSecrets(schema, result, 'given', (value) => {
    return typeof value === 'string' && /\*{4}/.test(value) ? value : MASK;
  });
}
