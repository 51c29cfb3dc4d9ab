import { visibleText } from '../contract/visible.ts';
import type { Fenced } from './fence.ts';
import { cutText } from './room.ts';

/** Warnings that a service gives in the answers of writes. They contain names, so they stay inside the fence. */

const WARNINGS_MAX = 12;
const WARNING_CHARS_MAX = 600;

/** For `next`, if there are warnings. */
export const WARNINGS_HINT =
  'read warnings: where a field became JSON, describe_collection shows it, so compare what lambdas and queries over it answer';

/** The warnings of one write or several, each of them once; those that differ only in a leading number are added up. */
export class Warnings {
  readonly #counts = new Map<string, number>();

  /** `warnings`: as received; anything but text is left out. */
  add(warnings: unknown): void {
    for (const warning of Array.isArray(warnings) ? warnings : []) {
      if (typeof warning !== 'string') continue;
      const [, digits = '', text = warning] = /^(\d[\d,]*)( .*)$/s.exec(warning) ?? [];
      // Warnings beyond the limit are dropped: a service that always says something new must not fill the memory.
      if (!this.#counts.has(text) && this.#counts.size >= WARNINGS_MAX) continue;
      this.#counts.set(text, (this.#counts.get(text) ?? 0) + Number(digits.replaceAll(',', '')));
    }
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  /** For the data of an answer. */
  shown(): { warnings?: string[] } {
    if (this.isEmpty) return {};
    return {
      warnings: [...this.#counts].map(([text, count]) =>
        cutText(visibleText(`${count > 0 ? count.toLocaleString('en-US') : ''}${text}`), WARNING_CHARS_MAX),
      ),
    };
  }
}

/** The answer of a write, with the warnings that the service gave. */
export function warned(shown: Fenced, given: unknown): Fenced {
  const warnings = new Warnings();
  warnings.add(given);
  if (warnings.isEmpty) return shown;
  const next = shown.next === undefined ? `${WARNINGS_HINT}.` : `${WARNINGS_HINT}; ${shown.next}`;
  return { ...shown, data: { ...shown.data, ...warnings.shown() }, next };
}
