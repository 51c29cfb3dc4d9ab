import { visibleText } from '../contract/visible.ts';
import type { Fenced } from './fence.ts';
import { cutText } from './room.ts';

/** Warnings that a service gives in the answers of writes. They contain names, so they stay inside the fence. */

const WARNINGS_MAX = 12;
const WARNING_CHARS_MAX = 600;

/** For `next`, if there are warnings. */
export const WARNINGS_HINT =
  'read warnings: what SQL computes sees NULL for values that do not fit, and lambdas over a field of another type may answer otherwise';

/**
 * The warnings of one write or several, each of them once; those that differ only in a leading number, and the document
 * that is an example, are added up.
 */
export class Warnings {
  readonly #warnings = new Map<string, { text: string; count: number }>();

  /** `warnings`: as received; anything but text is left out. */
  add(warnings: unknown): void {
    for (const warning of Array.isArray(warnings) ? warnings : []) {
      if (typeof warning !== 'string') continue;
      const [, digits = '', text = warning] = /^(\d[\d,]*)( .*)$/s.exec(warning) ?? [];
      const key = keyOf(text);
      const before = this.#warnings.get(key);
      // Warnings beyond the limit are dropped: a service that always says something new must not fill the memory.
      if (before === undefined && this.#warnings.size >= WARNINGS_MAX) continue;
      const count = (before?.count ?? 0) + Number(digits.replaceAll(',', ''));
      this.#warnings.set(key, { text: before === undefined ? text : inPlural(before.text), count });
    }
  }

  get isEmpty(): boolean {
    return this.#warnings.size === 0;
  }

  /** For the data of an answer. */
  shown(): { warnings?: string[] } {
    if (this.isEmpty) return {};
    return {
      warnings: [...this.#warnings.values()].map(({ text, count }) =>
        cutText(visibleText(`${count > 0 ? count.toLocaleString('en-US') : ''}${text}`), WARNING_CHARS_MAX),
      ),
    };
  }
}

function keyOf(text: string): string {
  const end = text.search(/ do(?:es)? not fit its type /);
  return end >= 0 && /^ values? of /.test(text) ? text.slice(text.indexOf(' of '), end) : text;
}

function inPlural(text: string): string {
  if (!text.startsWith(' value ')) return text;
  return text
    .replace(' value ', ' values ')
    .replace(' does not fit ', ' do not fit ')
    .replace(' shows it as given', ' shows them as given')
    .replace(/ has it\.$/, ' has them.');
}

/** The answer of a write, with the warnings that the service gave. */
export function warned(shown: Fenced, given: unknown): Fenced {
  const warnings = new Warnings();
  warnings.add(given);
  if (warnings.isEmpty) return shown;
  const next = shown.next === undefined ? `${WARNINGS_HINT}.` : `${WARNINGS_HINT}; ${shown.next}`;
  return { ...shown, data: { ...shown.data, ...warnings.shown() }, next };
}
