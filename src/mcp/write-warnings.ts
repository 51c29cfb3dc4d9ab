import { someOf } from '../contract/in-words.ts';
import { visibleText } from '../contract/visible.ts';
import type { Fenced } from './fence.ts';
import { cutText } from './room.ts';

/** Warnings that a service gives in the answers of writes. They contain names, so they stay inside the fence. */

const WARNINGS_MAX = 12;
const WARNING_CHARS_MAX = 800;
/** Fields with strays that are named, of each collection. */
const FIELDS_MAX = 5;
/** Names of files that have the same warning. */
const NAMES_MAX = 3;

const READ = 'read warnings';
const OF_TYPES =
  'what SQL computes does not see values that do not fit as they are, and lambdas over a field of another type may answer otherwise';

/** A warning of values that do not fit their field, in its parts. */
interface Stray {
  collection: string;
  path: string;
  /** Its type, and a document. */
  about: string;
  /** What SQL that computes sees instead, and where they are. */
  instead: string;
}

/**
 * The warnings of one write or several, each of them once; those that differ only in a leading number are added up, and
 * those of values that do not fit are one for each collection.
 */
export class Warnings {
  readonly #warnings = new Map<string, { count: number; of: Set<string> }>();
  /** By collection, and by path. */
  readonly #strays = new Map<string, Map<string, Stray & { count: number }>>();

  /** `warnings`: as received; anything but text is left out. `of`: what they are said of, if that is one of several. */
  add(warnings: unknown, of?: string): void {
    for (const warning of Array.isArray(warnings) ? warnings : []) {
      if (typeof warning !== 'string') continue;
      const [, digits = '', text = warning] = /^(\d[\d,]*)( .*)$/s.exec(warning) ?? [];
      const count = Number(digits.replaceAll(',', ''));
      const stray = strayIn(text);
      if (stray === undefined) {
        addTo(this.#warnings, text, (before = { count: 0, of: new Set<string>() }) => {
          if (of !== undefined) before.of.add(of);
          return { count: before.count + count, of: before.of };
        });
      } else {
        const ofCollection = this.#strays.get(stray.collection) ?? new Map<string, Stray & { count: number }>();
        addTo(ofCollection, stray.path, (before) => ({ ...stray, ...before, count: (before?.count ?? 0) + count }));
        addTo(this.#strays, stray.collection, () => ofCollection);
      }
    }
  }

  /** For `next`. */
  get hints(): readonly string[] {
    if (this.#isEmpty) return [];
    const isOfTypes =
      this.#strays.size > 0 || [...this.#warnings.keys()].some((text) => / types? | was [A-Z]/.test(text));
    return [isOfTypes ? `${READ}: ${OF_TYPES}` : READ];
  }

  get #isEmpty(): boolean {
    return this.#warnings.size + this.#strays.size === 0;
  }

  /** For the data of an answer. */
  shown(): { warnings?: string[] } {
    if (this.#isEmpty) return {};
    const strays = [...this.#strays].map(([collection, fields]) => strayLine(collection, [...fields.values()]));
    const others = [...this.#warnings].map(
      ([text, { count, of }]) => `${namesBefore([...of])}${count > 0 ? count.toLocaleString('en-US') : ''}${text}`,
    );
    return { warnings: [...strays, ...others].map((text) => cutText(visibleText(text), WARNING_CHARS_MAX)) };
  }
}

function namesBefore(names: readonly string[]): string {
  if (names.length === 0) return '';
  return `${someOf(names, NAMES_MAX)}: `;
}

/** Keys beyond the limit are dropped: a service that always says something new must not fill the memory. */
function addTo<T>(map: Map<string, T>, key: string, value: (before: T | undefined) => T): void {
  const before = map.get(key);
  if (before !== undefined || map.size < WARNINGS_MAX) map.set(key, value(before));
}

const DO_NOT = / do(?:es)? not fit its type /;

/** The parts of `… values of "n" of ws.c do not fit its type BIGINT (document "a" has text): …`; undefined: it is another one. */
function strayIn(text: string): Stray | undefined {
  const [fit] = DO_NOT.exec(text) ?? [];
  if (fit === undefined || !/^ values? of /.test(text)) return undefined;
  const [of = '', ...more] = text.split(fit);
  const [about = '', told = ''] = more.join(fit).split('): SELECT of the field shows ');
  const sees = told.indexOf(' sees ');
  const end = told.lastIndexOf(' has ');
  const at = of.lastIndexOf(' of ');
  if (sees === -1 || end < sees) return undefined;
  return {
    collection: of.slice(at + ' of '.length),
    path: of.slice(of.indexOf(' of ') + ' of '.length, at),
    about: about.replace(/ \((document|line) /, ', $1 '),
    instead: told.slice(sees + ' sees '.length, end),
  };
}

/** One line, the fields with the most first. */
function strayLine(collection: string, fields: readonly (Stray & { count: number })[]): string {
  const shown = fields.toSorted((a, b) => b.count - a.count).slice(0, FIELDS_MAX);
  const said = shown.map(
    ({ path, about, instead, count }) =>
      `${count.toLocaleString('en-US')} of ${path} (${about}) as ${instead} has them`,
  );
  const more = fields.length - shown.length;
  if (more > 0) said.push(`and ${more} more ${more === 1 ? 'field' : 'fields'}`);
  return `${collection}: values that do not fit their field. SELECT of it shows them as given; what SQL computes sees ${said.join('; ')}.`;
}

/** The answer of a write, with the warnings that the service gave. */
export function warned(shown: Fenced, given: unknown): Fenced {
  const warnings = new Warnings();
  warnings.add(given);
  const [hint] = warnings.hints;
  if (hint === undefined) return shown;
  const next = shown.next === undefined ? `${hint}.` : `${hint}; ${shown.next}`;
  return { ...shown, data: { ...shown.data, ...warnings.shown() }, next };
}
