import type { JsonValue } from './value.ts';

/** Values nested deeper than this are refused, so that no recursion over them runs out of stack. */
export const DEPTH_MAX = 200;

export interface Measure {
  /** Size of the value as JSON text in bytes, not counting escapes. */
  bytes: number;
  /** Why the value cannot be stored as it is, worded to follow its name; undefined if it can. */
  problem: string | undefined;
}

/** Why a value cannot be stored exactly as it is (`is …`, `holds …`); undefined if it can. */
export function problemOf(value: JsonValue): string | undefined {
  return measure(value).problem;
}

/** Whether all texts in a value, including keys, can be stored as UTF-8 without loss. */
export function holdsWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, field]) => key.isWellFormed() && holdsWellFormed(field));
}

/** The size of a value, and what prevents storing it. */
export function measure(value: JsonValue, depthMax = DEPTH_MAX): Measure {
  const found: Measure = { bytes: 0, problem: undefined };
  visit(value, [], found, depthMax);
  return found;
}

function visit(value: JsonValue, path: string[], found: Measure, depthMax: number): void {
  if (found.problem !== undefined) return;
  if (typeof value === 'string') {
    found.bytes += Buffer.byteLength(value) + 2;
    if (!value.isWellFormed()) found.problem = `holds half of a surrogate pair${at(path)}, which is not a character`;
  } else if (typeof value === 'number' || typeof value === 'bigint') {
    found.bytes += String(value).length;
    if (typeof value === 'number' && !Number.isFinite(value)) {
      found.problem = `holds a number that is too large${at(path)}: at most about 1.8e308; send it as a string`;
    }
  } else if (value === null || typeof value === 'boolean') {
    found.bytes += value === false ? 5 : 4;
  } else {
    visitNested(value, path, found, depthMax);
  }
}

function visitNested(value: JsonValue & object, path: string[], found: Measure, depthMax: number): void {
  found.bytes += 2;
  if (path.length >= depthMax) {
    found.problem = `is nested more than ${depthMax} levels deep`;
    return;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      path.push(String(index));
      visit(value[index] as JsonValue, path, found, depthMax);
      path.pop();
    }
    // There is one comma less than there are items.
    found.bytes += Math.max(0, value.length - 1);
    return;
  }
  const fields = Object.entries(value);
  found.bytes -= fields.length === 0 ? 0 : 1;
  for (const [key, field] of fields) {
    found.bytes += Buffer.byteLength(key) + 4;
    if (!key.isWellFormed())
      found.problem ??= `has a key${at(path)} with half of a surrogate pair, which is not a character`;
    path.push(key);
    visit(field, path, found, depthMax);
    path.pop();
  }
}

/** The place as a JSON pointer (RFC 6901). */
function at(path: readonly string[]): string {
  const tokens = path.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  return tokens.length === 0 ? '' : ` at "${tokens.join('')}"`;
}
