/*
 * A document that lacks a key and one in which the key is null are the same. But the engine stores an object as a
 * STRUCT, which has every key of every document, with NULL for those that a document lacks; as JSON it would have them
 * all. So the functions that see such a value as JSON are shadowed by macros that leave these members out, at every
 * depth. JSON text in SQL stays as it is.
 */

/** SQL for whether a value may have such members; the engine computes it when it plans the statement. */
const hasMembers = (value: string, types = 'STRUCT|MAP') =>
  `system.main.regexp_matches(system.main.typeof(${value}), '${types}')`;
/** For what lists keys: JSON may come from a cast, or from `->`, of such a value. */
const WITH_JSON = 'STRUCT|MAP|JSON';

const OPEN = 'system.main.chr(1)';
const CLOSE = 'system.main.chr(2)';
const replaced = (text: string, pattern: string, by: string) =>
  `system.main.regexp_replace(${text}, '${pattern}', ${by}, 'g')`;

/**
 * SQL that leaves out the members whose value is null, in time linear in the text's length. First every string gets
 * ends that occur in no JSON text, so that what is in a string cannot be taken for a member. Then members go: those
 * after a comma, and at last the first of an object, whose next one is not null any more.
 */
function stripped(text: string): string {
  const marked = replaced(text, String.raw`"((?:[^"\\]|\\.)*)"`, String.raw`${OPEN} || '\1' || ${CLOSE}`);
  const first = replaced(
    replaced(marked, String.raw`,\x01[^\x02]*\x02:null`, `''`),
    String.raw`\{\x01[^\x02]*\x02:null,?`,
    `'{'`,
  );
  return `CAST(system.main.translate(${first}, ${OPEN} || ${CLOSE}, '""') AS JSON)`;
}

/** SQL for a value as JSON without such members, where `hasMembers`. */
function withoutNulls(value: string): string {
  const text = `CAST(CAST(${value} AS JSON) AS VARCHAR)`;
  return `CASE WHEN system.main.contains(${text}, ':null') THEN ${stripped(text)} ELSE CAST(${value} AS JSON) END`;
}

/** SQL that does to a value what `call` does to JSON. */
export function seen(value: string, call: (json: string) => string, types?: string): string {
  return `CASE WHEN ${hasMembers(value, types)} THEN ${call(withoutNulls(value))} ELSE ${call(value)} END`;
}

/** How often a macro uses one of its arguments. */
export const USES_MAX = 5;

const MAKING = ['to_json', 'array_to_json', 'row_to_json', 'json_quote'];
/** Not json_extract: the engine calls it for `->`, in a way that no macro can stand for. */
const READING = ['json_extract_string', 'json_extract_path_text', 'json_exists'];
const READING_WHOLE = ['json_keys', 'json_type'];

/** array_to_json and row_to_json are the same, for the types that they take. */
const TO_JSON = `(j) AS CASE WHEN ${hasMembers('j')} THEN ${withoutNulls('j')} ELSE system.main.to_json(j) END`;

const callOf = (name: string) => (json: string) => `system.main.${name}(${json})`;
const whole = (name: string) => `(j) AS ${seen('j', callOf(name), WITH_JSON)}`;
const at = (name: string) => `(j, p) AS ${seen('j', (json) => `system.main.${name}(${json}, p)`)}`;
/** Its ids are numbers within one object, and nobody's parent is among its rows: they only make the `id` of a collection ambiguous. */
const asTable = (...rest: string[]) => {
  const given = [seen('j', (json) => `CAST(${json} AS JSON)`, WITH_JSON), ...rest].join(', ');
  return `(${['j', ...rest].join(', ')}) AS TABLE (SELECT * EXCLUDE (id, parent) FROM system.main.json_each(${given}))`;
};

/** By name in lower case: parameters with AS and the expression, one for each number of arguments. */
export const WITHOUT_NULLS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...MAKING.map((name) => [name, [TO_JSON]] as const),
  ...READING.map((name) => [name, [at(name)]] as const),
  // As in standard SQL the text of a scalar, without the quotes that the engine's own leaves around one.
  [
    'json_value',
    [`(j, p) AS ${seen('j', (json) => `system.main.json_extract_string(system.main.json_value(${json}, p), '$')`)}`],
  ],
  ...READING_WHOLE.map((name) => [name, [whole(name), at(name)]] as const),
  ['json', [`(j) AS ${seen('j', (json) => `system.main.json_extract(${json}, '$')`)}`]],
  ['struct_keys', [`(j) AS ${callOf('json_keys')(withoutNulls('j'))}`]],
  ['json_each', [asTable(), asTable('p')]],
]);
