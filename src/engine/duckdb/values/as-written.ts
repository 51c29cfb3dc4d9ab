import { isObject, type JsonObject, type JsonValue, setField } from '../../../contract/json/json.ts';
import { partsOf } from './paths.ts';
import { isListShape, isMapShape, isObjectShape, kindOf, type Shape } from './shape.ts';
import { isTimeShape, spelledAs } from './time-text.ts';

/**
 * What a document has at a place of this shape, but for its strays, given what the engine has there: without the members
 * that a struct has and the document did not, and with times spelled as they were. Lists and objects are changed in place.
 * JSON inside is as it was written, unless a struct around it has become JSON since: then its null members are gone
 * (`tables/alter.ts`).
 */
export function asWritten(value: JsonValue, shape: Shape): JsonValue {
  if (isTimeShape(shape)) return typeof value === 'string' ? spelledAs(value, shape) : value;
  if (typeof value !== 'object' || value === null || typeof shape === 'string') return value;
  if (isListShape(shape) && Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = asWritten(item, shape.element);
  } else if (isObject(value) && (isObjectShape(shape) || isMapShape(shape))) {
    const parts = isMapShape(shape) ? Object.keys(value).map((key) => [key, shape.values] as const) : shape.fields;
    for (const [key, part] of parts) {
      const member = value[key];
      if (member === undefined) continue;
      const written = asWritten(member, part);
      if (member === null) {
        if (isObjectShape(shape)) delete (value as JsonObject)[key];
      } else if (written !== member) setField(value, key, written);
    }
  }
  return value;
}

/** Whether a shape has text that its column holds as another type, which may be spelled otherwise than documents have it. */
export function holdsTyped(shape: Shape): boolean {
  return kindOf(shape) === 'typed' || partsOf(shape).some(([, part]) => holdsTyped(part));
}
