import { opaqueText } from '../sql/opaque-text.ts';

/** The types that are texts to the engine; an object or a list is never compared with by the extension. */
const TEXTS: ReadonlySet<string> = new Set(['VARCHAR', 'JSON']);

/**
 * What a collection's view shows of a column. Costs: files are not left out by their smallest and largest texts. By numbers
 * and times they are.
 */
export function shownColumn(name: string, type: string): string {
  return TEXTS.has(type) ? opaqueText(name) : name;
}
