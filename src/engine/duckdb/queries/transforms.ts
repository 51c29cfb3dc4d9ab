import type { DuckDBConnection } from '@duckdb/node-api';
import { ApiError } from '../../../contract/errors.ts';
import { withoutTrailing } from '../../../contract/text.ts';
import type { InputStep, Transform, TransformOutput } from '../../engine.ts';
import { checkExpressions, parse } from '../gate/parse.ts';
import { createTextIndex, type TextIndex } from '../gate/text-index.ts';
import { isMark } from '../sql/forms/edit.ts';
import { ownForms, withoutBackticks } from '../sql/forms.ts';
import { foldName, quoteName } from '../sql/names.ts';
import { nameOfToken } from '../sql/paths.ts';
import { readStatement, type Statement } from '../sql/statement.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';
import { itemsIn, type Range } from '../sql/token-ranges.ts';
import { isNode, type Node, nodesOf, offsetOf, textOf, textsOf } from '../sql/tree.ts';
import { checkBinding, compile, inStruct } from './compiled.ts';
import { type FieldRead, fieldOf, fieldsIn, isTimeNow } from './transform-fields.ts';
import { INPUT, isWord, notTransform, refuseClusters, type TransformShape, transformShape } from './transform-shape.ts';

/*
 * A query over one document is computed as expressions are: each output, and the condition, is one whose parameters are
 * the values that its fields lead to. So a value has its own type in each document, and is NULL where it is missing.
 */

/** Longest query: each place that reads a field is looked up in its text. */
const BYTES_MAX = 64 * 1024;
const OUTPUTS_MAX = 250;
const READS_MAX = 2_000;

const SPELLED = 'a spelling that is not supported';

/** The query being taken apart. */
interface Reading {
  statement: Statement;
  shape: TransformShape;
  list: TokenList;
  index: TextIndex;
  originOf(offset: number): number;
  inputs: InputStep[][];
  /** Places in `inputs`, by path. */
  places: Map<string, number>;
  /** What stands in the text instead of each field, by its first token. */
  fields: Map<number, { last: number; place: number }>;
}

const parameterOf = (place: number) => `p${place}`;

/** Takes a query over one document apart, and through the gate. Throws `query_error`. */
export async function readTransform(
  connection: DuckDBConnection,
  sql: string,
  signal: AbortSignal,
): Promise<Transform> {
  if (Buffer.byteLength(sql) > BYTES_MAX)
    throw new ApiError('query_error', `The SQL is longer than ${BYTES_MAX} bytes. Make a field of what is repeated.`);
  // In the engine's spelling of names and spaces, which leaves everything where it was.
  const text = withoutBackticks((await readStatement(sql)).written);
  const statement = await readStatement(text);
  const list = tokenList(text);
  refuseClusters(statement, list);
  const tree = await parse(connection, statement, signal);
  const shape = transformShape(statement, tree);
  // Each expression goes through the gate again, as what runs; here, positions are those of the whole.
  await checkExpressions(connection, statement, signal);
  const { originOf } = await ownForms(text);
  const reading: Reading = {
    statement,
    shape,
    list,
    index: createTextIndex(text),
    originOf,
    inputs: [],
    places: new Map(),
    fields: new Map(),
  };
  findFields(reading);
  const transform = takenApart(reading);
  await checkAll(connection, transform, signal);
  return transform;
}

function fail({ statement }: Reading, at: Node | number | undefined, what: string, instead: string): never {
  throw notTransform(statement, at, what, instead);
}

/** Finds the text of all places that read fields. */
function findFields(reading: Reading): void {
  const { items, condition, names } = reading.shape;
  const reads = fieldsIn([items, condition], names);
  if (reads.length > READS_MAX) fail(reading, undefined, `more than ${READS_MAX} places that read fields`, 'use fewer');
  for (const read of reads) {
    const first = tokenAt(reading, read.offset);
    const last = endOfField(reading, first, read);
    if (isTimeNow(read, reading.list[first]?.text ?? '')) continue;
    const instead = `name a field of it, such as ${INPUT}.a, or write *`;
    if (read.names.length === 1 && names.has(foldName(read.names[0] ?? '')) && read.steps.length === 0)
      fail(reading, read.offset, 'the document as a whole', instead);
    if (read.path[0] === '_meta') fail(reading, read.offset, 'the field _meta', 'documents do not have it');
    reading.fields.set(first, { last, place: placeOf(reading, read.path) });
  }
}

function placeOf(reading: Reading, path: readonly InputStep[]): number {
  const key = JSON.stringify(path);
  const known = reading.places.get(key);
  if (known !== undefined) return known;
  reading.places.set(key, reading.inputs.length);
  return reading.inputs.push([...path]) - 1;
}

/** The index of the token that begins at an offset of the engine's. */
function tokenAt(reading: Reading, offset: number | undefined): number {
  const found = offset === undefined ? undefined : reading.index.indexAt(reading.originOf(offset));
  return found ?? fail(reading, offset, SPELLED, 'write it more plainly');
}

/** The last token of a field that begins at a token: names behind dots, and constants in brackets. */
function endOfField(reading: Reading, first: number, { offset, names, steps }: FieldRead): number {
  const { list } = reading;
  let at = first;
  const spelled = (isRight: boolean) => {
    if (!isRight)
      fail(reading, offset, SPELLED, `write the field as ${writtenAs([...names, ...steps])}, without round brackets`);
  };
  spelled(nameOfToken(list[at]) === names[0]);
  for (const name of names.slice(1)) {
    spelled(isMark(list[at + 1], '.') && nameOfToken(list[at + 2]) === name);
    at += 2;
  }
  for (const step of steps) {
    if (isMark(list[at + 1], '.')) {
      spelled(nameOfToken(list[at + 2]) === step);
      at += 2;
    } else {
      const kind = typeof step === 'number' ? 'number' : 'string';
      spelled(isMark(list[at + 1], '[') && list[at + 2]?.kind === kind && isMark(list[at + 3], ']'));
      at += 3;
    }
  }
  return at;
}

function writtenAs([first = '', ...rest]: readonly InputStep[]): string {
  return rest.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${quoteName(step)}`),
    quoteName(String(first)),
  );
}

function takenApart(reading: Reading): Transform {
  const { list, shape } = reading;
  const table = tokenAt(reading, offsetOf(shape.from));
  if (!isWord(list[0], 'select') || !isWord(list[table - 1], 'from'))
    fail(reading, undefined, SPELLED, `begin with SELECT, and then FROM ${INPUT}`);
  const ranges = itemsIn(list, 1, table - 1);
  if (ranges.length !== shape.items.length) fail(reading, undefined, SPELLED, 'separate the outputs by commas');
  const outputs: TransformOutput[] = [];
  let star: { except: string[] } | null = null;
  for (const [index, item] of shape.items.entries()) {
    const range = ranges[index] ?? [0, 0];
    if (item['class'] !== 'STAR') {
      outputs.push(outputOf(reading, item, range, index));
      continue;
    }
    if (star !== null) fail(reading, item, '"*" twice', 'once is enough');
    star = { except: textsOf(item['exclude_list']) };
    outputs.push(...replacements(reading, item, range));
  }
  requireDistinct(reading, outputs);
  return {
    inputs: reading.inputs,
    parameters: reading.inputs.map((_, place) => parameterOf(place)),
    star,
    outputs,
    condition: shape.condition === undefined ? null : conditionIn(reading, table),
  };
}

function outputOf(reading: Reading, item: Node, range: Range, index: number): TransformOutput {
  const alias = textOf(item['alias']);
  const field = fieldOf(item, reading.shape.names);
  const first = field === undefined ? undefined : tokenAt(reading, field.offset);
  const found = first === undefined ? undefined : reading.fields.get(first);
  if (found !== undefined && field !== undefined) {
    // `a.b` and `a[1].b` are named b.
    const isNamed = item['class'] === 'COLUMN_REF' || item['type'] === 'STRUCT_EXTRACT';
    const own = isNamed ? String(field.path.at(-1)) : givenName(reading, item, index, alias);
    return { name: alias === '' ? own : alias, input: found.place };
  }
  const name = givenName(reading, item, index, alias);
  return { name, sql: textIn(reading, withoutName(reading, item, range, name)) };
}

/** The name that an output is given; refuses one without. */
function givenName(reading: Reading, item: Node, index: number, alias: string): string {
  if (alias !== '') return alias;
  return fail(reading, item, `no name for output ${index + 1}`, 'write ... AS name');
}

/** The tokens of an output before its name. */
function withoutName(reading: Reading, item: Node, [from, to]: Range, name: string): Range {
  if (nameOfToken(reading.list[to - 1]) !== name)
    fail(reading, item, `${SPELLED} for the name ${quoteName(name)}`, 'write it behind the expression: ... AS name');
  return [from, isWord(reading.list[to - 2], 'as') ? to - 2 : to - 1];
}

/** The outputs of `* REPLACE (b AS a)`. */
function replacements(reading: Reading, star: Node, [from, to]: Range): TransformOutput[] {
  const entries = nodesOf(star['replace_list']);
  if (entries.length === 0) return [];
  const { list } = reading;
  let at = from;
  while (at < to && !isWord(list[at], 'replace')) at = Math.max(at, list.closeOf(at)) + 1;
  const ranges = isMark(list[at + 1], '(') ? itemsIn(list, at + 2, list.closeOf(at + 1)) : [];
  if (ranges.length !== entries.length) fail(reading, star, SPELLED, 'write * REPLACE (b AS a)');
  return ranges.map((range) => {
    const name = nameOfToken(list[range[1] - 1]) ?? '';
    const entry = entries.find(({ key }) => foldName(textOf(key)) === foldName(name));
    const value = isNode(entry?.['value']) ? entry['value'] : undefined;
    if (value === undefined) return fail(reading, star, SPELLED, 'write * REPLACE (b AS a)');
    const expression = withoutName(reading, value, range, name);
    const field = fieldOf(value, reading.shape.names);
    const found = field === undefined ? undefined : reading.fields.get(expression[0]);
    return found === undefined ? { name, sql: textIn(reading, expression) } : { name, input: found.place };
  });
}

function requireDistinct(reading: Reading, outputs: readonly TransformOutput[]): void {
  if (outputs.length > OUTPUTS_MAX) fail(reading, undefined, `more than ${OUTPUTS_MAX} outputs`, 'use fewer');
  const seen = new Set<string>();
  for (const { name } of outputs) {
    if (seen.has(name)) fail(reading, undefined, `the output "${name}" twice`, 'give each a name of its own');
    seen.add(name);
  }
}

function conditionIn(reading: Reading, table: number): string {
  const { list } = reading;
  const where = list.findIndex((token, at) => at > table && isWord(token, 'where'));
  let end = list.length;
  while (isMark(list[end - 1], ';')) end -= 1;
  if (where < 0 || where + 1 >= end) fail(reading, undefined, SPELLED, 'write the condition behind WHERE');
  return `CAST((${textIn(reading, [where + 1, end])}\n) AS BOOLEAN)`;
}

/** The text of some tokens, with a parameter for each field. */
function textIn({ statement, list, fields }: Reading, [from, to]: Range): string {
  const text = statement.written;
  const parts: string[] = [];
  let start = list[from]?.start ?? 0;
  for (let at = from; at < to; at++) {
    const field = fields.get(at);
    if (field === undefined) continue;
    parts.push(text.slice(start, list[at]?.start), ` $${parameterOf(field.place)} `);
    at = field.last;
    start = list[at]?.end ?? text.length;
  }
  parts.push(text.slice(start, list[to - 1]?.end));
  return parts.join('');
}

/** Checks each expression by itself, so that an error says whose it is, and then all of them as they are computed. */
async function checkAll(connection: DuckDBConnection, transform: Transform, signal: AbortSignal): Promise<void> {
  const { parameters, outputs, condition } = transform;
  const check = async (sql: string, whose: string) => {
    try {
      await checkBinding(connection, await compile(connection, { sql, parameters }, signal));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'query_error' || signal.aborted) throw error;
      throw new ApiError('query_error', `${whose}: ${withoutTrailing(error.message, '.')}.`, { cause: error });
    }
  };
  const computed = outputs.flatMap((output) => ('sql' in output ? [output] : []));
  for (const { name, sql } of computed) await check(sql, `The output ${quoteName(name)}`);
  if (condition !== null) await check(condition, 'The condition');
  if (computed.length > 1) await check(inStruct(computed.map(({ sql }) => sql)), 'The outputs together');
}
