import { type JsonValue, stringifyJson } from '../../../contract/json/json.ts';
import { createPace } from '../../../contract/turns/turns.ts';
import { quoteName, quoteText } from '../sql/names.ts';
import { batchesOfLines } from '../values/lines.ts';
import { isListShape, isMapShape, isObjectShape, type Shape, widen } from '../values/shape.ts';
import { structureOf, typeOf } from '../values/types.ts';

/** Rows of parameter values for an expression, of the same types, few enough for one statement. */
export interface Batch {
  parameters: readonly BatchParameter[];
  /** The indexes of these rows. */
  indexes: readonly number[];
  /** Each row as JSON text. */
  lines: readonly string[];
}

/** One use of a parameter in an expression. */
export interface ParameterUse {
  written: string;
  /** Whether it is cast to a decimal, and nothing else done with it before. */
  isDecimal: boolean;
}

interface BatchParameter {
  /** In lower case. */
  name: string;
  /** The SQL type; or the value itself if it alone determines the type: NULL, an empty list. */
  type: string;
  /** The type for `from_json`; null for a value that is itself the type. */
  structure: string | null;
}

/**
 * Groups rows by the types of their values. A value's type must not depend on the rows beside it, or a document would
 * come out differently in another batch: so rows of different types are separated.
 */
export async function* batchesOf(
  rows: readonly (readonly JsonValue[])[],
  places: ReadonlyMap<string, number>,
): AsyncGenerator<Batch, void, void> {
  const names = [...places.keys()];
  const groups = new Map<string, { parameters: BatchParameter[]; indexes: number[] }>();
  const pace = createPace();
  for (const [index, row] of rows.entries()) {
    const turn = pace();
    if (turn !== undefined) await turn;
    const parameters = names.map((name) => parameterOf(name, row[places.get(name) ?? -1] ?? null));
    const key = parameters.map(({ type }) => type).join('\n');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { parameters, indexes: [index] });
    else group.indexes.push(index);
  }
  for (const { parameters, indexes } of groups.values()) {
    let at = 0;
    for await (const lines of batchesOfLines(indexes, (index) =>
      lineOf(index, parameters, rows[index] ?? [], places),
    )) {
      yield { parameters, indexes: indexes.slice(at, at + lines.length), lines };
      at += lines.length;
    }
  }
}

function parameterOf(name: string, value: JsonValue): BatchParameter {
  // Untyped, they fit wherever a value of any type would.
  if (value === null) return { name, type: 'NULL', structure: null };
  if (Array.isArray(value) && value.length === 0) return { name, type: '[]', structure: null };
  const shape = withoutObjects(widen('null', value));
  return { name, type: typeOf(shape), structure: structureOf(shape) };
}

/** Replaces objects by JSON: otherwise a member that only some have would be NULL in the others, not an error. */
function withoutObjects(shape: Shape): Shape {
  if (isListShape(shape)) return { element: withoutObjects(shape.element) };
  return isObjectShape(shape) || isMapShape(shape) ? 'json' : shape;
}

function lineOf(
  index: number,
  parameters: readonly BatchParameter[],
  row: readonly JsonValue[],
  places: ReadonlyMap<string, number>,
): string {
  const members = parameters.flatMap(({ name, structure }, at) =>
    structure === null ? [] : [`"p${at}":${stringifyJson(row[places.get(name) ?? -1] ?? null)}`],
  );
  return [`{"i":${index}`, ...members].join(',').concat('}');
}

/** Name of a parameter's column: nothing in an expression can have that name. */
function columnOf(name: string): string {
  return quoteName(`:${name}`);
}

/**
 * The statement that computes an expression for the rows of a batch; `$1` are its lines. It returns index and value of
 * each row; with `isTried`, a struct `{v: value}`, which is NULL if the expression fails.
 */
export function evaluateStatement(
  { parameters }: Pick<Batch, 'parameters'>,
  text: (replacement: (name: string, use: ParameterUse) => string) => string,
  isTried: boolean,
): string {
  const structure = ['"i":"BIGINT"'];
  const columns = ['d.i AS "i"'];
  const inText = new Map<string, string>();
  for (const [at, parameter] of parameters.entries()) {
    inText.set(parameter.name, parameter.structure === null ? parameter.type : columnOf(parameter.name));
    if (parameter.structure === null) continue;
    structure.push(`"p${at}":${parameter.structure}`);
    columns.push(`d.p${at} AS ${columnOf(parameter.name)}`);
  }
  const doubles = new Set(parameters.filter(({ type }) => type === 'DOUBLE').map(({ name }) => name));
  const value = text((name, { isDecimal }) => {
    const column = inText.get(name) ?? 'NULL';
    // Its own digits, as the document has them: those of a double go on.
    return isDecimal && doubles.has(name) ? `CAST(${column} AS VARCHAR)` : column;
  });
  const parsed = `from_json(unnest(string_split($1, chr(10))), ${quoteText(`{${structure.join(',')}}`)})`;
  return `SELECT "i", ${isTried ? `TRY(struct_pack(v := ${value}))` : value}
    FROM (SELECT ${columns.join(', ')} FROM (SELECT ${parsed} AS d))`;
}
