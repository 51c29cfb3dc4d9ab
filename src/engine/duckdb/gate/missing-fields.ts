import { nearest } from '../../../contract/nearest.ts';
import { between } from '../../../contract/text.ts';
import { isMixed, mixedGroups } from '../sql/corrections/group-by-all.ts';
import { hiddenAliases } from '../sql/corrections/hidden-alias.ts';
import { type FieldsThere, fieldsAt, foldName, ITEM, type NamedTable, quoteText } from '../sql/names.ts';
import { nameOfToken, pathBefore } from '../sql/paths.ts';
import { sqlPath } from '../sql/references.ts';
import type { Statement } from '../sql/statement.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { type TokenList, tokenList } from '../sql/token-list.ts';

/** What an error about a field that is not there says of those that are. */

/** So many fields are listed whole, so many with their types, and so many of more than that. */
const LISTED_MAX = 30;
const TYPED_MAX = 8;
const NEAR_MAX = 6;
/** Of the fields of an object within an expression. */
const INNER_MAX = 12;

const MISSING_IN_TABLE = '" does not have a column named "';

export function missingColumn(message: string): string | undefined {
  const before = 'Referenced column "';
  return (
    between(message, before, '" not found') ??
    between(message, before, '" was not found') ??
    between(message, 'column ', ' must appear in the GROUP BY clause or be used')
  );
}

export function missingInTable(message: string): string | undefined {
  const [line = ''] = message.split('\n', 1);
  const table = between(line, 'Table "', MISSING_IN_TABLE) ?? between(line, 'Values list "', MISSING_IN_TABLE);
  if (table === undefined || !line.endsWith('"')) return undefined;
  return line.slice(line.indexOf(MISSING_IN_TABLE) + MISSING_IN_TABLE.length, -1);
}

/** A message with what it lacks; `at`: where the field is named, in UTF-16 units of the statement's body. */
export interface FieldsSaid {
  message: string;
  hint: string;
  at?: number | undefined;
}

/** The message about a field that is not there, and those that are; any other message as it is. */
export function sayFields(message: string, { body }: Statement, tables: readonly NamedTable[]): FieldsSaid {
  const name = missingColumn(message);
  const list = tokenList(body);
  if (isMixed(message)) return ofGroups(message, body, list, tables);
  const hidden = ofHidden(message, list, tables);
  if (hidden !== undefined) return hidden;
  if (name !== undefined) return ofTables(message, name, list, tables);
  const inTable = missingInTable(message);
  if (inTable !== undefined) return ofTables(message, inTable, list, calledSo(tables, message.split('"')[1], list));
  if (message.startsWith('Referenced table "')) return { message, hint: listOfAll(tables, '') };
  const key = between(message, 'Could not find key "', '" in struct');
  if (key !== undefined) return ofObject(message, key, list, tables);
  const expression = between(message.slice(message.indexOf(' from expression ') + 1), 'from expression "', '" because');
  const field = between(message, "Cannot extract field '", "'");
  if (expression !== undefined && field !== undefined) return ofList(message, field, expression, list, tables);
  if (message.includes(IS_NO_OBJECT)) return ofObjects(message, list, tables) ?? { message, hint: '' };
  return { message, hint: '' };
}

/** Where a column stands beside an aggregate although GROUP BY ALL should group by it. */
function ofGroups(message: string, body: string, list: TokenList, tables: readonly NamedTable[]): FieldsSaid {
  const names = tables.flatMap((table) => table.columns());
  const { at, column = 'x', groups = ['x'] } = mixedGroups(body, list, names) ?? {};
  const hint = `\nGROUP BY ALL groups only by items of SELECT that have no aggregate, and ${column} stands in one that has: write GROUP BY ${groups.join(', ')}, or any_value(${column}).`;
  return { message, hint, at: at === undefined ? undefined : list[at]?.start };
}

/** GROUP BY the name of an item that a field has, too. */
function ofHidden(message: string, list: TokenList, tables: readonly NamedTable[]): FieldsSaid | undefined {
  const [line = ''] = message.split('\n', 1);
  const names = tables.flatMap((table) => table.columns());
  const [hidden] = hiddenAliases(line, list, names);
  if (hidden === undefined) return undefined;
  const { name, item } = hidden;
  const table = tables.find((one) => one.columns().some((column) => foldName(column) === foldName(name)));
  const of = table === undefined ? '' : ` of ${table.shownAs ?? sqlPath(table)}`;
  const hint = `\n${fieldName(name)} is also a field${of}, and GROUP BY takes that one: write GROUP BY ${item}, or give the item another name.`;
  return { message: line, hint };
}

/** The tables that the text gives a name to, or has it; all if that is not clear. */
function calledSo(tables: readonly NamedTable[], name = '', list: TokenList): readonly NamedTable[] {
  const names = list.flatMap((token, index) => {
    if (foldName(nameOfToken(token) ?? '') !== foldName(name)) return [];
    const before = /^as$/i.test(list[index - 1]?.text ?? '') ? index - 1 : index;
    return pathBefore(list, before).slice(-1).map(foldName);
  });
  const found = tables.filter(
    (table) => names.includes(foldName(table.name)) || foldName(table.name) === foldName(name),
  );
  return found.length > 0 ? found : tables;
}

function ofTables(message: string, name: string, list: TokenList, tables: readonly NamedTable[]): FieldsSaid {
  const [line = '', ...rest] = message.split('\n');
  const columns = new Set(tables.flatMap((table) => table.columns().map(foldName)));
  const told = quotedIn(rest.join('\n')).map((one) => foldName(one));
  // Names that a WITH or a subquery gives are known to the engine only.
  if (told.some((one) => !columns.has(one) && !columns.has(one.slice(one.lastIndexOf('.') + 1))))
    return { message, hint: '' };
  const within = tables.flatMap((table) => table.pathsTo?.(name) ?? []).slice(0, NEAR_MAX);
  if (within.length > 0) return { message: line, hint: `\n${within.map(readingOf).join('\n')}` };
  const own = namesGiven(list).map(fieldName);
  const given = own.length === 0 ? '' : `\nSELECT names ${own.join(', ')}.`;
  return { message: line, hint: `${given}${listOfAll(tables, name)}` };
}

/** How a field within a column is read. */
function readingOf(path: readonly string[]): string {
  const item = path.lastIndexOf(ITEM);
  const last = fieldName(path.at(-1) ?? '');
  if (item === -1) return `${last} is ${pathSql(path)}.`;
  const list = pathSql(path.slice(0, item));
  return `${last} is in the list ${list}: add UNNEST(${list}) AS u(x) to FROM, and write x.${pathSql(path.slice(item + 1))}.`;
}

/** The names that the text gives to columns, as far as it says AS, or has them behind a call. */
function namesGiven(list: TokenList): string[] {
  const names = list.flatMap((token, index) => {
    const before = list[index - 1];
    const isGiven = /^as$/i.test(before?.text ?? '') || before?.text === ')';
    const isEnd = /^(?:,|from)$/i.test(list[index + 1]?.text ?? '');
    const name = isGiven && isEnd ? nameOfToken(token) : undefined;
    return name === undefined ? [] : [name];
  });
  return [...new Set(names)].slice(0, LISTED_MAX);
}

/** The fields of each table. */
function listOfAll(tables: readonly NamedTable[], name: string): string {
  return tables
    .slice(0, 3)
    .map((table) => `\n${listOf(table, name)}`)
    .join('');
}

function listOf(table: NamedTable, name: string): string {
  const shown = table.shownAs ?? sqlPath(table);
  const columns = table.columns();
  if (columns.length <= LISTED_MAX) return `${shown} has ${columns.map((one) => briefName(table, one)).join(', ')}.`;
  const near = nearest(name, columns, NEAR_MAX);
  const some =
    near.length > 0
      ? `; near: ${near.map(fieldName).join(', ')}`
      : `, ${columns.slice(0, NEAR_MAX).map(fieldName).join(', ')} and more`;
  return `${shown} has ${columns.length} fields${some}.`;
}

/** A name with a sign of what is within. */
function briefName(table: NamedTable, column: string): string {
  const kind = table.fieldsIn?.([column])?.kind;
  return `${fieldName(column)}${kind === 'list' ? '[]' : kind === 'object' || kind === 'map' ? '{}' : ''}`;
}

/** A path as SQL, with `[]` and `<key>` as in `describe`. */
function pathSql(path: readonly string[]): string {
  return path
    .map((step, at) => (step === ITEM ? '[]' : `${at > 0 ? '.' : ''}${step === '<key>' ? step : fieldName(step)}`))
    .join('');
}

function quotedIn(text: string): string[] {
  return text.split('"').filter((_, index) => index % 2 === 1);
}

function ofObject(message: string, key: string, list: TokenList, tables: readonly NamedTable[]): FieldsSaid {
  const found = placesOf(list, key).flatMap(({ at, path }) => {
    const there = fieldsAt(tables, path);
    const has = there?.fields.some(({ name }) => foldName(name) === foldName(key));
    return there === undefined || has || there.fields.length === 0 ? [] : [{ at, path: pathSql(path), there }];
  });
  const [first, ...others] = found;
  if (first !== undefined && others.every(({ path }) => path === first.path)) {
    const { path, there, at } = first;
    return { message: `There is no field "${key}" in ${path}.`, hint: `\n${path} has ${fieldList(there, key)}.`, at };
  }
  const parameter = parameterWith(list, key);
  if (parameter !== undefined) {
    const { name, at } = parameter;
    const has = message.slice(message.indexOf('Candidate Entries: ') + 'Candidate Entries: '.length).trim();
    return { message: `Parameter ":${name}" has no key "${key}".`, hint: `\nIt has ${has}.`, at };
  }
  const [line = ''] = message.split('\n', 1);
  const beside = fieldsBeside(message, key, tables);
  return { message: beside === '' ? message.replace('\n\n', '\n') : line, hint: beside };
}

/** The parameter of which a key is asked, and where. */
function parameterWith(list: TokenList, key: string): { name: string; at: number } | undefined {
  const at = list.findIndex((token, index) => {
    const isKey = foldName(nameOfToken(token) ?? '') === foldName(key) && list[index - 1]?.text === '.';
    return isKey && list[index - 2]?.kind === 'parameter';
  });
  const found = list[at];
  return found && { name: (list[at - 2]?.text ?? '').slice(1), at: found.start };
}

/** The places where a key is named behind a dot or in brackets, and the path before it. */
function placesOf(list: TokenList, key: string): { at: number; path: string[] }[] {
  return list.flatMap((token, index) => {
    const before = list[index - 1]?.text;
    const name = before === '[' && token.kind === 'string' ? token.text.slice(1, -1) : nameOfToken(token);
    if (name === undefined || foldName(name) !== foldName(key) || (before !== '.' && before !== '[')) return [];
    const path = pathBefore(list, index - 1);
    return path.length === 0 ? [] : [{ at: token.start, path }];
  });
}

function fieldList({ fields }: FieldsThere, key: string): string {
  if (fields.length <= TYPED_MAX) return fields.map(({ name, type }) => `${fieldName(name)} ${type}`).join(', ');
  const names = fields.map(({ name }) => name);
  if (fields.length <= LISTED_MAX) return names.map(fieldName).join(', ');
  const near = nearest(key, names, NEAR_MAX);
  return `${fields.length} fields${near.length > 0 ? `; near: ${near.map(fieldName).join(', ')}` : ''}`;
}

/** The fields of the object in which a field was not found, if it is clear which object that is. */
function fieldsBeside(message: string, key: string, tables: readonly NamedTable[]): string {
  const [, ...told] = quotedIn(message);
  const objects = tables.flatMap((table) => table.objects?.() ?? []);
  const alike = objects.filter((fields) => !fields.includes(key) && told.every((one) => fields.includes(one)));
  const lists = new Set(alike.map((fields) => fields.slice(0, LISTED_MAX).map(fieldName).join(', ')));
  const [fields = ''] = lists;
  const more = (alike[0]?.length ?? 0) > LISTED_MAX ? ' and more' : '';
  return lists.size === 1 ? `\nThe object has ${fields}${more}.` : '';
}

/** A field of a text, which may hold JSON. */
function ofText(name: string, path: readonly string[], field: string, tables: readonly NamedTable[]): string {
  if (!tables.some((table) => table.typeAt?.(path) === 'VARCHAR')) return '';
  const step = `${name}->>${quoteText(field)}`;
  return `\n${name} is text. If it holds JSON, (${step}) is the field as text, and CAST(${step} AS DOUBLE) as a number.`;
}

const IS_NO_OBJECT = " can't be cast to the destination type STRUCT(";

/** A text that is looked for in a list of objects: `list_contains(l, 'a')`, `'a' = ANY(l)`, `'a' IN l`. */
function ofObjects(message: string, list: TokenList, tables: readonly NamedTable[]): FieldsSaid | undefined {
  const value = between(message, "Type VARCHAR with value '", `'${IS_NO_OBJECT}`);
  const index = list.findIndex((token) => token.kind === 'string' && token.text === quoteText(value ?? ''));
  const before = list[index - 1]?.text === ',' ? index - 1 : -1;
  // The list is the argument before it, or the name behind it.
  const first = list.findIndex(
    ({ kind }, at) => at > index && (kind === 'quoted' || (kind === 'word' && !WORDS.test(list[at]?.text ?? ''))),
  );
  let end = before === -1 ? first + 1 : before;
  while (before === -1 && list[end]?.text === '.') end += 2;
  const path = index === -1 || end <= 0 ? [] : pathBefore(list, end);
  const there = path.length === 0 ? undefined : fieldsAt(tables, path);
  const field = there?.fields.find(({ type }) => type === 'VARCHAR') ?? there?.fields[0];
  if (there?.kind !== 'list' || field === undefined || value === undefined) return undefined;
  const name = pathSql(path);
  const items = there.fields.slice(0, INNER_MAX).map((one) => fieldName(one.name));
  const read = `[x.${fieldName(field.name)} for x in ${name}]`;
  return {
    message: `${name} is a list of {${items.join(', ')}${there.fields.length > INNER_MAX ? ', …' : ''}}: compare one of its fields, list_contains(${read}, ${quoteText(value)}).`,
    hint: '',
  };
}

/** What stands between a text and the list that it is looked for in. */
const WORDS = /^(?:any|in|not|some|all)$/i;

/** The path that the engine says an expression is: `struct_extract(a, 'b')` for `a.b`. */
function pathIn(expression: string): string[] {
  const list = tokenList(expression);
  let [first, end] = [0, list.length];
  const keys: string[] = [];
  while (list[first]?.text === 'struct_extract' && list[first + 1]?.text === '(') {
    const key = list[end - 2];
    if (key?.kind !== 'string') break;
    keys.unshift(key.text.slice(1, -1).replaceAll("''", "'"));
    [first, end] = [first + 2, end - 3];
  }
  const path = pathBefore(list, end);
  return path.length === 0 ? [] : [...path, ...keys];
}

/** The names behind dots that follow the one at a place. */
function namesBehind(list: TokenList, start: number): string[] {
  const names: string[] = [];
  for (let at = list.findIndex((token) => token.start === start) + 1; list[at]?.text === '.'; at += 2)
    names.push(nameOfToken(list[at + 1]) ?? '');
  return names.filter((name) => name !== '');
}

function ofList(
  message: string,
  field: string,
  expression: string,
  body: TokenList,
  tables: readonly NamedTable[],
): FieldsSaid {
  const path = pathIn(expression);
  const there = fieldsAt(tables, path);
  const name = pathSql(path);
  const place = placesOf(body, field).find((one) => one.path.at(-1) === path.at(-1));
  if (there?.kind !== 'list') return { message, hint: ofText(name, path, field, tables), at: place?.at };
  const fields = there.fields.slice(0, INNER_MAX).map((one) => fieldName(one.name));
  const items =
    fields.length === 0 ? 'values' : `{${fields.join(', ')}${there.fields.length > INNER_MAX ? ', …' : ''}}`;
  const within = place === undefined ? [] : namesBehind(body, place.at);
  const read = fields.length === 0 ? 'x' : ['x', field, ...within].map(fieldName).join('.');
  return {
    message: `${name} is a list of ${items}.`,
    hint: `\nAdd UNNEST(${name}) AS u(x) to FROM, and write ${read}; or list_transform(${name}, lambda x: ${read}).`,
    at: place?.at,
  };
}
