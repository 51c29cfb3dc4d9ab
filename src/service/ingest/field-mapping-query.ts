import type { FieldMappingQuery } from '../../contract/collections.ts';
import { ApiError } from '../../contract/errors.ts';
import { isObject, type JsonObject, type JsonValue, setField } from '../../contract/json/json.ts';
import { withoutTrailing } from '../../contract/text.ts';
import { mapInTurns } from '../../contract/turns/turns.ts';
import type { ComputedAll, DeclaredType, Engine, InputStep, Transform } from '../../engine/engine.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import { problemOfId } from './document-id.ts';
import type { Draft } from './drafts.ts';
import { EVENT_TIME_RULE, eventTimeMicros } from './event-time.ts';
import type { Refuse } from './field-mappings.ts';

/** Why a document is not stored that the condition leaves out. */
export const DROPPED = 'the WHERE of field_mapping_query leaves it out';

/** How many of the documents that fail are computed again, to say which output it is. */
const BLAMED_MAX = 20;

type QueryRecord = NonNullable<CollectionRecord['fieldMappingQuery']>;
type Computes = Pick<Engine, 'evaluate' | 'evaluateAll' | 'readTransform'>;

/** The query of a new collection, checked. Throws what `refuse` makes, or `query_error` for SQL that is none. */
export async function readMappingQuery(
  engine: Pick<Engine, 'readTransform'>,
  { sql }: FieldMappingQuery,
  refuse: Refuse,
): Promise<QueryRecord | null> {
  if (sql === undefined || sql === null) return null;
  if (sql.trim() === '')
    throw refuse('"field_mapping_query.sql" is empty; write SELECT * FROM _input, or leave it out');
  const names = await outputNames(engine, sql, refuse);
  if (names.has('_meta')) throw refuse('field_mapping_query makes the field "_meta", which documents do not have');
  if (names.has('_op')) {
    const instead = 'a write adds or replaces, and deleteDocuments deletes';
    throw refuse(`field_mapping_query makes "_op", which says nothing here: ${instead}`);
  }
  return { sql };
}

async function outputNames(engine: Pick<Engine, 'readTransform'>, sql: string, refuse: Refuse): Promise<Set<string>> {
  try {
    const { outputs } = await engine.readTransform(sql);
    return new Set(outputs.map(({ name }) => name));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'query_error') throw error;
    const { message } = refuse(`field_mapping_query is refused: ${withoutTrailing(error.message, '.')}`);
    throw new ApiError('query_error', message, { ...error.details, cause: error });
  }
}

/** The queries of collections, taken apart. */
const transforms = new WeakMap<QueryRecord, Transform>();

async function transformOf(engine: Computes, query: QueryRecord): Promise<Transform> {
  const known = transforms.get(query);
  if (known !== undefined) return known;
  const transform = await engine.readTransform(query.sql);
  transforms.set(query, transform);
  return transform;
}

/** A document that the query is computed for. */
interface Work {
  draft: Draft;
  row: JsonValue[];
}

/**
 * Replaces each document by what the query makes of it, all documents in one or two calls of the engine: the condition
 * first, so that what it leaves out cannot fail. A document for which an expression fails gets a `problem`, one for which
 * the condition is not true `isDropped`.
 *
 * Outputs that are NULL are no fields. Only outputs are kept, so that a document has its `_id` and `_event_time` if they
 * are among them.
 */
export async function mapByQuery(
  engine: Computes,
  query: QueryRecord,
  drafts: readonly Draft[],
  signal: AbortSignal,
): Promise<void> {
  const transform = await transformOf(engine, query);
  const works = await mapInTurns(
    drafts.filter((draft) => draft.problem === null),
    (draft): Work => ({ draft, row: transform.inputs.map((path) => valueOn(draft.fields, path)) }),
  );
  const kept = await keptOf(engine, transform, works, signal);
  const sql = transform.outputs.flatMap((output) => ('sql' in output ? [output.sql] : []));
  const rows = kept.map(({ row }) => row);
  const computed =
    sql.length === 0
      ? rows.map((): ComputedAll => ({ values: [] }))
      : await engine.evaluateAll(sql, transform.parameters, rows, signal);
  await blame(engine, transform, rows, computed, signal);
  const left = new Set([...transform.outputs.map(({ name }) => name), ...(transform.star?.except ?? [])]);
  let next = 0;
  await mapInTurns(kept, (work) => {
    const answer = computed[next++] ?? { error: 'it gives no value' };
    if ('error' in answer) work.draft.problem = problemOf(transform, answer);
    else make(work, transform, left, answer.values);
  });
}

function valueOn(document: JsonObject, path: readonly InputStep[]): JsonValue {
  let value: JsonValue = document;
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? (value[step - 1] ?? null) : null;
    else value = isObject(value) && Object.hasOwn(value, step) ? (value[step] ?? null) : null;
  }
  return value;
}

/** Those for which the condition is true. */
async function keptOf(
  engine: Computes,
  { condition, parameters, inputs }: Transform,
  works: readonly Work[],
  signal: AbortSignal,
): Promise<readonly Work[]> {
  if (condition === null) return works;
  const rows = works.map(({ row }) => row);
  const answers = await engine.evaluate({ sql: condition, parameters }, rows, signal);
  return works.filter(({ draft }, index) => {
    const answer = answers[index] ?? { error: 'it gives no value' };
    if ('error' in answer)
      draft.problem = `the WHERE of field_mapping_query fails: ${inOwnNames(answer.error, inputs)}`;
    else draft.isDropped = answer.value !== true;
    return !('error' in answer) && answer.value === true;
  });
}

/** Names the output that fails, in the answers for the first documents that do. */
async function blame(
  engine: Computes,
  { outputs, parameters }: Transform,
  rows: readonly JsonValue[][],
  computed: ComputedAll[],
  signal: AbortSignal,
): Promise<void> {
  const list = outputs.flatMap((output) => ('sql' in output ? [output.sql] : []));
  let left = [...computed.keys()].filter((index) => isNameless(computed[index])).slice(0, BLAMED_MAX);
  for (const [at, sql] of list.entries()) {
    if (left.length === 0) return;
    const own = left.map((index) => rows[index] ?? []);
    const answers = await engine.evaluate({ sql, parameters }, own, signal);
    for (const [place, index] of left.entries()) {
      const answer = answers[place];
      if (answer !== undefined && 'error' in answer) computed[index] = { ...answer, at };
    }
    left = left.filter((index) => isNameless(computed[index]));
  }
}

function isNameless(answer: ComputedAll | undefined): boolean {
  return answer !== undefined && 'error' in answer && answer.at === undefined;
}

function problemOf({ outputs, inputs }: Transform, { error, at }: { error: string; at?: number }): string {
  const computed = outputs.filter((output) => 'sql' in output);
  const name = computed[at ?? -1]?.name;
  const cannot = name === undefined ? 'field_mapping_query fails' : `field_mapping_query cannot make "${name}"`;
  return `${cannot}: ${inOwnNames(error, inputs)}`;
}

/** A reason with fields as the query has them. */
function inOwnNames(error: string, inputs: Transform['inputs']): string {
  return error.replace(/:p(\d{1,4})\b/g, (text, place) => inputs[Number(place)]?.join('.') ?? text);
}

/** Gives a document its outputs; `left` are the fields that `*` does not stand for. */
function make(
  { draft, row }: Work,
  transform: Transform,
  left: ReadonlySet<string>,
  computed: readonly { value: JsonValue; declared?: DeclaredType }[],
): void {
  const fields: JsonObject = {};
  const declared = new Map<string, DeclaredType>();
  for (const [key, value] of transform.star === null ? [] : Object.entries(draft.fields))
    if (!left.has(key)) setField(fields, key, value ?? null);
  let next = 0;
  for (const output of transform.outputs) {
    const { name } = output;
    const { value, declared: type } =
      'input' in output
        ? { value: row[output.input] ?? null, declared: undefined }
        : (computed[next++] ?? { value: null });
    const why = value === null ? undefined : unfit(name, value);
    if (why !== undefined) {
      draft.problem = `field_mapping_query cannot make "${name}": ${why}`;
      return;
    }
    if (value !== null) setField(fields, name, value);
    if (type !== undefined) declared.set(name, type);
  }
  draft.fields = fields;
  if (declared.size > 0) draft.declared = declared;
}

function unfit(name: string, value: JsonValue): string | undefined {
  if (name === '_event_time') return eventTimeMicros(value) === undefined ? EVENT_TIME_RULE : undefined;
  const problem = name === '_id' ? problemOfId(value) : undefined;
  return problem && `${problem}; in SQL, CAST(… AS VARCHAR) makes a string of a number`;
}
