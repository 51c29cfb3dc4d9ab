import * as z from 'zod';

/** The JSON Schema that every model provider accepts; see `cleanSchema`. A type, as the SDK's JSON objects require. */
export type Schema = {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  additionalProperties?: boolean;
};

/** A tool's input schema should fit into this many characters of JSON: about 240 tokens. */
const INPUT_CHARS_GOAL = 1_000;
/**
 * A nested object whose schema takes more than `nested` characters is listed as an object whose fields are described in
 * at most `text` characters. The first of these limits that makes the whole schema fit is used.
 */
const NESTED_LIMITS = [
  { nested: 420, text: 160 },
  { nested: 200, text: 160 },
  { nested: 60, text: 160 },
  { nested: 60, text: 55 },
] as const;
/**
 * Fields of a result that output schemas list: names, for the next call. Output schemas are read by programs; a model
 * sees the data itself.
 */
const OUTPUT_FIELDS = ['id', 'name', 'tag_name', 'email', 'version'];
const OUTPUT_FIELDS_MAX = 2;

/** A shorter description costs no more than to refer to another. */
const REPEATED_CHARS_MIN = 40;

interface Place {
  limits: { nested: number; text: number };
  depth?: number;
  isItem?: boolean;
}

type RawSchema = z.core.JSONSchema.BaseSchema;

/** A tool's input schema: a strict object with `shape`'s fields, in the subset of `cleanSchema`. */
export function inputSchema(shape: Readonly<Record<string, z.ZodType>>): Schema {
  const raw = z.toJSONSchema(z.object(shape), { unrepresentable: 'any', io: 'input' }) as RawSchema;
  let cleaned: Schema = {};
  for (const limits of NESTED_LIMITS) {
    cleaned = cleanSchema(raw, { limits });
    if (JSON.stringify(cleaned).length <= INPUT_CHARS_GOAL) break;
  }
  return { ...cleaned, properties: cleaned.properties ?? {}, additionalProperties: false };
}

/**
 * The output schema of an object result: the types of those fields that name the thing.
 *
 * No field is required, since clients check error results against it as well; see `answerSchema`.
 */
export function outputSchema(shape: Readonly<Record<string, z.ZodType>>): Schema {
  const properties: Record<string, Schema> = {};
  for (const name of OUTPUT_FIELDS) {
    const type = singleType(shape[name]);
    if (type !== undefined && Object.keys(properties).length < OUTPUT_FIELDS_MAX) properties[name] = { type };
  }
  return answerSchema(properties);
}

/** An answer with these fields. That it may have more has to be said: some clients show their users nothing else. */
export function answerSchema(properties: Record<string, Schema>): Schema & { type: 'object' } {
  return { type: 'object', properties, additionalProperties: true };
}

/**
 * Reduces JSON Schema to what every provider accepts: one `type` per node, no references, unions, tuples, patterns or
 * bounds beyond 2^53, and string enums without the empty string. A union becomes its first member that is not null.
 * "Any JSON value" becomes text or, as an array's item, an object. Large nested objects are cut.
 */
function cleanSchema(raw: RawSchema, place: Place): Schema {
  const variants = raw.anyOf ?? raw.oneOf ?? raw.allOf;
  if (variants !== undefined) {
    const first = variants.find((member) => typeof member === 'object' && member.type !== 'null');
    return described(typeof first === 'object' ? cleanSchema(first, place) : { type: 'string' }, raw.description);
  }
  const type = typeOf(raw);
  const depth = (place.depth ?? 0) + 1;
  if (type === undefined && place.isItem === true) return described({ type: 'object' }, raw.description);
  // Some clients load no tool at all if one property has no type, or several; the service takes any value there.
  if (type === undefined) return described({ type: 'string' }, raw.description);
  if (type === 'object') return described(cleanObject(raw, place), raw.description);
  if (type === 'array') {
    const item = raw.prefixItems?.[0] ?? (Array.isArray(raw.items) ? raw.items[0] : raw.items);
    const items = cleanSchema(typeof item === 'object' ? item : {}, { ...place, depth, isItem: true });
    return described({ type, items }, raw.description);
  }
  return described({ type, ...values(raw, depth), ...bounds(raw) }, raw.description);
}

function cleanObject(raw: RawSchema, place: Place): Schema {
  const depth = place.depth ?? 0;
  const names = Object.keys(raw.properties ?? {});
  if (names.length === 0) return { type: 'object' };
  const properties: Record<string, Schema> = {};
  for (const [name, field] of Object.entries(raw.properties ?? {})) {
    properties[name] = cleanSchema(typeof field === 'object' ? field : {}, {
      ...place,
      depth: depth + 1,
      isItem: false,
    });
  }
  shortenRepeated(properties);
  const cleaned: Schema = { type: 'object', properties };
  const required = (raw.required ?? []).filter((name) => names.includes(name));
  if (required.length > 0) cleaned.required = required;
  if (depth > 0 && JSON.stringify(cleaned).length > place.limits.nested) {
    return { type: 'object', description: shortSignature(cleaned, place.limits.text) };
  }
  return cleaned;
}

/** Of fields whose descriptions would be alike, the later ones refer to the first. */
function shortenRepeated(properties: Record<string, Schema>): void {
  const first = new Map<string, string>();
  for (const [name, { description }] of Object.entries(properties)) {
    if (description === undefined || description.length < REPEATED_CHARS_MIN) continue;
    const like = first.get(description);
    if (like === undefined) first.set(description, name);
    else properties[name] = { ...properties[name], description: `As ${like}` };
  }
}

function shortSignature(schema: Schema, charsMax: number): string {
  const full = signature(schema);
  if (full.length <= charsMax) return full;
  const names = Object.keys(schema.properties ?? {});
  let shown = names.length;
  while (shown > 1 && names.slice(0, shown).join(', ').length > charsMax) shown--;
  return `{${names.slice(0, shown).join(', ')}${shown < names.length ? ', …' : ''}}`;
}

/** The shape of an object in as few characters as possible: `{name, kind?: A|B, inner: {x, y}[]}`. */
function signature(schema: Schema): string {
  // If no field is required, `?` on every field would add nothing.
  const required = schema.required ?? Object.keys(schema.properties ?? {});
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const inner = field.type === 'array' ? field.items : field;
    const suffix = field.type === 'array' ? '[]' : '';
    const key = required.includes(name) ? name : `${name}?`;
    if (inner?.properties !== undefined) return `${key}: ${signature(inner)}${suffix}`;
    if (inner?.description?.startsWith('{')) return `${key}: ${inner.description}${suffix}`;
    if (inner?.enum !== undefined) return `${key}: ${inner.enum.join('|')}${suffix}`;
    return `${key}${suffix}`;
  });
  return `{${fields.join(', ')}}`;
}

function typeOf(raw: RawSchema): string | undefined {
  if (Array.isArray(raw.type)) return raw.type.find((type) => type !== 'null');
  if (raw.type !== undefined) return raw.type;
  if (raw.properties !== undefined) return 'object';
  const example = raw.const ?? raw.enum?.[0];
  return example === undefined || example === null ? undefined : typeof example;
}

/** The type of a field that holds one value of one kind, read from the schema itself, since converting it is slow. */
function singleType(schema: unknown): string | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return singleType(schema.unwrap());
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat || schema instanceof z.ZodEnum)
    return 'string';
  if (schema instanceof z.ZodNumber) return schema.isInt ? 'integer' : 'number';
  return schema instanceof z.ZodBoolean ? 'boolean' : undefined;
}

/** Deeper down, longer enums are left to the description: each is listed once per tool. */
const ENUM_NESTED_MAX = 8;
const ENUM_DEPTH = 3;

function values(raw: RawSchema, depth: number): Schema {
  const all = raw.enum ?? (raw.const === undefined ? [] : [raw.const]);
  // Some providers refuse an empty string in an enum; leaving out the argument means the same.
  const texts = all.filter((value): value is string => typeof value === 'string' && value !== '');
  const isLong = depth > ENUM_DEPTH && texts.length > ENUM_NESTED_MAX;
  return texts.length === 0 || isLong ? {} : { enum: texts };
}

function bounds(raw: RawSchema): Schema {
  const cleaned: Schema = {};
  // That a number counts from 0 or 1 needs no saying; the service refuses others.
  const least = raw.minimum ?? 0;
  if (least !== 0 && least !== 1 && Math.abs(least) < Number.MAX_SAFE_INTEGER) cleaned.minimum = least;
  if (raw.maximum !== undefined && Math.abs(raw.maximum) < Number.MAX_SAFE_INTEGER) cleaned.maximum = raw.maximum;
  return cleaned;
}

function described(schema: Schema, description: string | undefined): Schema {
  if (description === undefined) return schema;
  // An object that was cut has its own text about its fields.
  return {
    ...schema,
    description: schema.description === undefined ? description : `${description}: ${schema.description}`,
  };
}
