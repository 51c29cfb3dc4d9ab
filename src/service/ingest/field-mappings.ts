import type { FieldMapping } from '../../contract/collections.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../contract/json/json.ts';
import { withoutTrailing } from '../../contract/text.ts';
import type { Computed, Engine } from '../../engine/engine.ts';
import type { FieldMappingRecord } from '../catalog/records.ts';
import { problemOfId } from './document-id.ts';
import type { Draft } from './drafts.ts';
import { EVENT_TIME_RULE, eventTimeMicros } from './event-time.ts';
import { type FieldPath, fieldPath, valueAt, withoutValue, withValue } from './field-path.ts';

/** Most mappings of a collection, and most input fields of a mapping. */
const LIST_MAX = 100;
const PARAM_NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
/** Fields that every document has or may have, and that are not part of its content. */
export const OWN_FIELDS = new Set(['_id', '_event_time', '_meta']);

/** Makes the error for a setting that is refused, given the reason. */
export type Refuse = (why: string) => ApiError;

/**
 * The mappings of a new collection, checked and with defaults filled in: `if_missing` and `on_error` are SKIP, `param`
 * is the field's name. Throws what `refuse` makes, or `query_error` for an expression that cannot be computed.
 */
export async function readFieldMappings(
  engine: Pick<Engine, 'checkExpression'>,
  given: readonly FieldMapping[],
  refuse: Refuse,
): Promise<FieldMappingRecord[]> {
  if (given.length > LIST_MAX) throw refuse(`"field_mappings" has ${given.length} entries; at most ${LIST_MAX} may be`);
  const names = new Set<string>();
  const mappings = given.map((one, index) => {
    const mapping = readMapping(one, (why) => refuse(`field_mappings[${index}] ${why}`));
    if (names.has(mapping.name)) {
      throw refuse(`field_mappings[${index}].name "${mapping.name}" is taken by an earlier mapping; names are unique`);
    }
    names.add(mapping.name);
    return mapping;
  });
  for (const [index, mapping] of mappings.entries()) {
    if (mapping.output_field !== null)
      await checkValue(engine, mapping, sqlOf(mapping.output_field.value), index, refuse);
  }
  return mappings;
}

async function checkValue(
  engine: Pick<Engine, 'checkExpression'>,
  mapping: FieldMappingRecord,
  sql: string,
  index: number,
  refuse: Refuse,
): Promise<void> {
  try {
    await engine.checkExpression({ sql, parameters: parametersOf(mapping) });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
    const why = withoutTrailing(error.message, '.');
    const { message } = refuse(`field_mappings[${index}].output_field.value ${JSON.stringify(sql)} is refused: ${why}`);
    throw new ApiError('query_error', message, { ...error.details, cause: error });
  }
}

function readMapping(given: FieldMapping, refuse: Refuse): FieldMappingRecord {
  const name = given.name ?? '';
  if (name.trim() === '') throw refuse('has no "name"; each mapping needs one');
  const inputs = given.input_fields ?? [];
  if (given.is_drop_all_fields === true) {
    if (inputs.length > 0 || (given.output_field ?? null) !== null) {
      throw refuse(
        `("${name}") drops all fields, so that it has no "input_fields" and no "output_field"; put these into another mapping`,
      );
    }
    return { name, is_drop_all_fields: true, input_fields: [], output_field: null };
  }
  if (inputs.length > LIST_MAX)
    throw refuse(`("${name}") has ${inputs.length} input fields; at most ${LIST_MAX} may be`);
  const hasOutput = (given.output_field ?? null) !== null;
  if (inputs.length === 0 && !hasOutput) {
    throw refuse(`("${name}") does nothing; give it "input_fields", an "output_field" or "is_drop_all_fields": true`);
  }
  const mapping: FieldMappingRecord = {
    name,
    is_drop_all_fields: false,
    input_fields: inputs.map((one, index) =>
      readInput(one, hasOutput, (why) => refuse(`("${name}") input_fields[${index}] ${why}`)),
    ),
    output_field: hasOutput ? readOutput(given.output_field, (why) => refuse(`("${name}") output_field ${why}`)) : null,
  };
  requireDistinctParams(mapping, refuse);
  return mapping;
}

type GivenInput = NonNullable<FieldMapping['input_fields']>[number];

function readInput(given: GivenInput, hasOutput: boolean, refuse: Refuse): FieldMappingRecord['input_fields'][number] {
  const field = given.field_name ?? '';
  requirePath(field, refuse);
  const isDropped = given.is_drop ?? false;
  if (!hasOutput && !isDropped) {
    throw refuse(`("${field}") has no effect: the mapping has no "output_field", and "is_drop" is not true`);
  }
  const param = given.param ?? (PARAM_NAME.test(field) ? field : null);
  if (param === null && hasOutput) {
    throw refuse(`("${field}") needs a "param": its name cannot be written as ":${field}" in SQL`);
  }
  if (param !== null && !PARAM_NAME.test(param)) {
    throw refuse(`("${field}") has the param ${JSON.stringify(param)}; it is made of letters, digits and "_"`);
  }
  return { field_name: field, if_missing: given.if_missing ?? 'SKIP', is_drop: isDropped, param };
}

function readOutput(given: FieldMapping['output_field'], refuse: Refuse): FieldMappingRecord['output_field'] {
  const field = given?.field_name ?? '';
  requirePath(field, refuse);
  const value = sqlOf(given?.value);
  if (value.trim() === '')
    throw refuse(`("${field}") has no "value"; it takes a SQL expression such as "upper(:name)"`);
  const inForm = isObject(given?.value) ? { sql: value } : value;
  return { field_name: field, value: inForm, on_error: given?.on_error ?? 'SKIP' };
}

type Value = NonNullable<FieldMapping['output_field']>['value'];

/** The expression, which may be in an object. */
function sqlOf(value: Value): string {
  return (typeof value === 'string' ? value : value?.sql) ?? '';
}

function requirePath(field: string, refuse: Refuse): void {
  if (field === '') throw refuse('has no "field_name"');
  const path = fieldPath(field);
  const [first = ''] = path ?? [];
  if (path === undefined) throw refuse(`has the field_name "${field}"; between its dots, there must be names`);
  if (first === '_meta' || (OWN_FIELDS.has(first) && path.length > 1)) {
    throw refuse(`has the field_name "${field}", which documents do not have`);
  }
}

/** The engine ignores letter case in the names of parameters. */
function requireDistinctParams(mapping: FieldMappingRecord, refuse: Refuse): void {
  const seen = new Set<string>();
  for (const param of parametersOf(mapping)) {
    if (seen.has(param.toLowerCase())) throw refuse(`("${mapping.name}") has the param "${param}" twice`);
    seen.add(param.toLowerCase());
  }
}

/** In the order of the input fields. */
function parametersOf(mapping: FieldMappingRecord): string[] {
  return mapping.input_fields.map((input) => input.param ?? '').filter((param) => param !== '');
}

/**
 * Applies mappings to documents, one mapping after the other, each to all documents in one call of the engine. Later
 * mappings see the results of earlier ones.
 *
 * `is_drop_all_fields`, in whichever mapping, leaves only `_id`, `_event_time` and the output of other mappings. If a
 * mapping with `on_error: FAIL` fails for a document, the document gets a `problem`.
 */
export async function mapFields(
  engine: Pick<Engine, 'evaluate'>,
  mappings: readonly FieldMappingRecord[],
  drafts: readonly Draft[],
  signal: AbortSignal,
): Promise<void> {
  const works = drafts.filter((draft) => draft.problem === null).map((draft) => ({ draft, output: ownFields(draft) }));
  for (const mapping of mappings) {
    await applyMapping(
      engine,
      mapping,
      works.filter(({ draft }) => draft.problem === null),
      signal,
    );
  }
  if (!mappings.some((mapping) => mapping.is_drop_all_fields)) return;
  for (const { draft, output } of works) draft.fields = output;
}

/** A document that is being mapped. */
interface Work {
  draft: Draft;
  /** What remains of it if all fields are dropped. */
  output: JsonObject;
}

function ownFields({ fields }: Draft): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => OWN_FIELDS.has(key)));
}

async function applyMapping(
  engine: Pick<Engine, 'evaluate'>,
  mapping: FieldMappingRecord,
  works: readonly Work[],
  signal: AbortSignal,
): Promise<void> {
  const inputs = mapping.input_fields.map((input) => ({ ...input, path: fieldPath(input.field_name) ?? [] }));
  const dropped = inputs.filter((input) => input.is_drop).map((input) => input.path);
  const output = mapping.output_field;
  if (output === null) {
    for (const work of works) drop(work, dropped);
    return;
  }
  const rows: JsonValue[][] = [];
  const mapped: Work[] = [];
  for (const work of works) {
    const values = inputs.map((input) => valueAt(work.draft.fields, input.path));
    if (inputs.some((input, index) => input.if_missing === 'SKIP' && values[index] === null)) {
      // Fields to drop are dropped even if another input field is missing.
      drop(work, dropped);
      continue;
    }
    rows.push(values);
    mapped.push(work);
  }
  const computed = await engine.evaluate({ sql: sqlOf(output.value), parameters: parametersOf(mapping) }, rows, signal);
  const path = fieldPath(output.field_name) ?? [];
  for (const [index, work] of mapped.entries()) {
    // Before the output is set, which may go into an input field.
    drop(work, dropped);
    const problem = put(work, path, computed[index] ?? { error: 'it gives no value' });
    if (problem === null || output.on_error === 'SKIP') continue;
    work.draft.problem = `field mapping "${mapping.name}" cannot make "${output.field_name}": ${problem}`;
  }
}

/** Puts a value into its field; returns why it cannot, or null. */
function put(work: Work, path: FieldPath, computed: Computed): string | null {
  if ('error' in computed) return computed.error;
  const { value } = computed;
  if (path[0] === '_id') {
    const problem = problemOfId(value);
    if (problem !== undefined) return `${problem}; in SQL, CAST(… AS VARCHAR) makes a string of a number`;
  }
  if (path[0] === '_event_time' && value !== null && eventTimeMicros(value) === undefined) return EVENT_TIME_RULE;
  const fields = withValue(work.draft.fields, path, value);
  if (fields === undefined) return `"${path[0]}" is in the document already, and holds no object on the way`;
  work.draft.fields = fields;
  if (computed.declared !== undefined && path.length === 1)
    work.draft.declared = new Map([...(work.draft.declared ?? []), [String(path[0]), computed.declared]]);
  work.output = withValue(work.output, path, value) ?? work.output;
  return null;
}

function drop(work: Work, paths: readonly FieldPath[]): void {
  for (const path of paths) {
    work.draft.fields = withoutValue(work.draft.fields, path);
    work.output = withoutValue(work.output, path);
  }
}
