import type { JsonValue } from '../../../contract/json/json.ts';

/** Documents nested deeper than this are refused. */
const LEVELS_MAX = 1_000;
/** Paths in messages are cut after this many steps. */
const STEPS_MAX = 20;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Why a value cannot be stored, and where in it. */
interface Fault {
  reason: string;
  /** Steps from the value to the place, last one first. */
  steps: (string | number)[];
}

/** Why a document cannot be stored, as a clause that names the place; null if it can. */
export function describeFault(fields: JsonValue): string | null {
  const fault = findFault(fields, 0);
  if (fault === null) return null;
  const path = fault.steps.reverse();
  return path.length === 0 ? fault.reason : `field ${JSON.stringify(pathText(path))} ${fault.reason}`;
}

// Descends no further than the level limit, so no input can overflow the stack.
function findFault(value: JsonValue | undefined, level: number): Fault | null {
  if (typeof value === 'string') {
    return LONE_SURROGATE.test(value) ? at('holds half of a surrogate pair, which is no text') : null;
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? null : at('is a number too large for a double; send it as a string');
  }
  if (typeof value !== 'object' || value === null) return null;
  if (level >= LEVELS_MAX) return at(`is nested deeper than ${LEVELS_MAX.toLocaleString('en')} levels`);
  return Array.isArray(value)
    ? findInArray(value, level)
    : findInObject(value as Readonly<Record<string, JsonValue>>, level);
}

function findInArray(items: readonly JsonValue[], level: number): Fault | null {
  for (let index = 0; index < items.length; index++) {
    const fault = findFault(items[index], level + 1);
    if (fault !== null) return under(index, fault);
  }
  return null;
}

function findInObject(object: Readonly<Record<string, JsonValue>>, level: number): Fault | null {
  for (const key of Object.keys(object)) {
    if (LONE_SURROGATE.test(key)) return under(key, at('has half of a surrogate pair in its key, which is no text'));
    const fault = findFault(object[key], level + 1);
    if (fault !== null) return under(key, fault);
  }
  return null;
}

function at(reason: string): Fault {
  return { reason, steps: [] };
}

function under(step: string | number, fault: Fault): Fault {
  fault.steps.push(step);
  return fault;
}

function pathText(path: readonly (string | number)[]): string {
  const text = path
    .slice(0, STEPS_MAX)
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
  return path.length > STEPS_MAX ? `${text}…` : text;
}
