import { isOneSlip, slipOf } from '../../../../contract/nearest.ts';
import { between } from '../../../../contract/text.ts';
import { type Edit, isMark, wordOf } from '../forms/edit.ts';
import { fieldsAt, foldName, ITEM, type NamedTable, type Names, OWN_COLUMNS, quoteText } from '../names.ts';
import { nameOfToken, pathBefore, pathStart } from '../paths.ts';
import { DEFAULT_WORKSPACE, sqlPath } from '../references.ts';
import { fieldName } from '../syntax-hints.ts';
import type { TokenList } from '../token-list.ts';
import type { Token } from '../tokens.ts';
import { type Correct, type Faulty, instead, textOf } from './faulty.ts';

/** Names of fields and collections that were probably meant. */

/** The collections that a text names, wherever it does. */
export function tablesNamed(list: TokenList, names: Names): NamedTable[] {
  const found = list.flatMap((token, at) => {
    const name = nameOfToken(token);
    if (name === undefined) return [];
    const next = list[at + 1]?.text === '.' ? nameOfToken(list[at + 2]) : undefined;
    if (next !== undefined) return names.find(name, next) ?? [];
    const isSource = /^(?:from|join|,)$/i.test(list[at - 1]?.text ?? '');
    return (isSource ? names.find(DEFAULT_WORKSPACE, name) : undefined) ?? [];
  });
  return [...new Set(found)];
}

/** Tokens that are read together as one name with spaces, dots or dashes. */
const JOINED_MAX = 7;

/** The edit that puts tokens in quotes which are one name, as they are written: `unit.price`, `e-mail`, `ship to`. */
function joined(faulty: Faulty, at: number, names: readonly string[]): Edit | undefined {
  for (let end = Math.min(faulty.list.length, at + JOINED_MAX); end > at + 1; end--) {
    const text = textOf(faulty, at, end);
    const name = names.find((one) => foldName(one) === foldName(text));
    if (name !== undefined) return instead(faulty, at, end, fieldName(name));
  }
  return undefined;
}

/** The only place of a name, at or behind that of the error; -1 if there are several, or none. */
function placeOf({ list, at }: Faulty, name: string): number {
  const isIt = (index: number) => foldName(nameOfToken(list[index]) ?? '') === foldName(name);
  for (let index = at; at !== -1 && index <= at + 4; index++) if (isIt(index)) return index;
  const all = list.flatMap((_, index) => (isIt(index) ? [index] : []));
  return all.length === 1 ? (all[0] ?? -1) : -1;
}

const columnsOf = (tables: readonly NamedTable[]) => [...new Set(tables.flatMap((table) => table.columns()))];

/** Whether the token at an index is compared with what stands before it, or is in the brackets of an IN. */
export function isCompared(list: readonly Token[], index: number): boolean {
  if (/^[=<>]$/.test(list[index - 1]?.text ?? '') || /^i?like$/.test(wordOf(list[index - 1]))) return true;
  let open = index - 1;
  while (open >= 0 && !isMark(list[open], '(') && !isMark(list[open], ')')) open -= 1;
  return isMark(list[open], '(') && wordOf(list[open - 1]) === 'in';
}

/** Texts in double quotes in single ones: with one, all of its list. */
function asTexts(faulty: Faulty, at: number): Edit[] {
  const { list } = faulty;
  const asText = (index: number) => instead(faulty, index, index + 1, quoteText(nameOfToken(list[index]) ?? ''));
  let open = at - 1;
  while (open >= 0 && (list[open]?.kind === 'quoted' || isMark(list[open], ','))) open -= 1;
  if (!isMark(list[open], '(')) return [asText(at)];
  const all = Array.from({ length: list.closeOf(open) - open - 1 }, (_, index) => open + 1 + index);
  return all.filter((index) => list[index]?.kind === 'quoted').map(asText);
}

/** A field of a collection. */
const columnName: Correct = (faulty) => {
  const { said, list, tables } = faulty;
  const name =
    between(said, 'Referenced column "', '"') ??
    between(said, 'column ', ' must appear in the GROUP BY clause or be used') ??
    (said.includes('" does not have a column named "') ? said.split('"').at(-2) : undefined);
  if (name === undefined) return [];
  const at = placeOf(faulty, name);
  if (at === -1) return [];
  const columns = columnsOf(tables);
  const whole = joined(faulty, at, columns);
  if (whole !== undefined) return [[whole]];
  const meant = slipOf(name, columns);
  const paths = tables.flatMap((table) => table.pathsTo?.(name) ?? []);
  const [path] = paths;
  const isQualified = list[at - 1]?.text === '.';
  if (list[at]?.kind === 'quoted' && meant === undefined && isCompared(list, at)) return [asTexts(faulty, at)];
  if (meant !== undefined) return [[instead(faulty, at, at + 1, fieldName(meant))]];
  const isPlain = paths.length === 1 && path?.every((step) => step !== ITEM && step !== '<key>');
  return isPlain && !isQualified ? [[instead(faulty, at, at + 1, path?.map(fieldName).join('.') ?? '')]] : [];
};

/** What stands before a dot, and is no collection: a name with a dot in it, another spelling of an object, or an alias. */
const qualifier: Correct = (faulty) => {
  const { said, message, list, at, tables } = faulty;
  const name = between(said, 'Referenced table "', '" not found');
  if (name === undefined || at === -1) return [];
  const columns = columnsOf(tables);
  const whole = joined(faulty, at, columns);
  if (whole !== undefined) return [[whole]];
  const meant = slipOf(name, columns);
  if (meant !== undefined) return [[instead(faulty, at, at + 1, fieldName(meant))]];
  const told = message.slice(message.indexOf('Candidate tables: ')).split('\n', 1)[0]?.split('"') ?? [];
  if (told.length !== 3) return [];
  const uses = list.flatMap((token, index) =>
    foldName(nameOfToken(token) ?? '') === foldName(name) && list[index + 1]?.text === '.' ? [index] : [],
  );
  return [uses.map((index) => instead(faulty, index, index + 1, fieldName(told[1] ?? '')))];
};

/** A field of an object. */
const innerName: Correct = (faulty) => {
  const { said, list, tables } = faulty;
  const name = between(said, 'There is no field "', '"') ?? between(said, 'Could not find key "', '"');
  if (name === undefined) return [];
  const at = placeOf(faulty, name);
  if (at < 2 || list[at - 1]?.text !== '.') return [];
  const path = pathBefore(list, at - 1);
  const fields = fieldsAt(tables, path)?.fields.map((one) => one.name) ?? alikeFields(faulty, name);
  const whole = joined(faulty, at, fields);
  if (whole !== undefined) return [[whole]];
  const meant = slipOf(name, fields);
  return meant === undefined ? [] : [[instead(faulty, at, at + 1, fieldName(meant))]];
};

/** The fields that the error says there are. */
function alikeFields({ message }: Faulty, name: string): string[] {
  const objects = message.includes('The object has ') ? message.slice(message.indexOf('The object has ') + 15) : '';
  return objects
    .slice(0, -1)
    .split(', ')
    .map((one) => one.replaceAll('"', ''))
    .filter((one) => one !== '' && one !== name);
}

/**
 * A collection. Another one answers without a word, so this is only for one slip within the workspace, or the same name in
 * the only other one that has it; never for what is in the trash.
 */
const collectionName: Correct = ({ said, list, at, names }) => {
  if (!/^(?:Collection|Workspace with name) "/.test(said) || at === -1) return [];
  const isQualified = list[at + 1]?.text === '.';
  const workspace = isQualified ? (nameOfToken(list[at]) ?? '') : DEFAULT_WORKSPACE;
  const name = nameOfToken(list[isQualified ? at + 2 : at]) ?? '';
  if (names.isTrashed(workspace, name)) return [];
  const isHere = (table: NamedTable) => foldName(table.workspace) === foldName(workspace);
  const isSame = (table: NamedTable) => foldName(table.name) === foldName(name);
  const meant = names.tables().filter((table) => isSame(table) || (isHere(table) && isOneSlip(name, table.name)));
  const [only] = meant;
  if (only === undefined || meant.length > 1) return [];
  return [[instead({ list }, at, isQualified ? at + 3 : at + 1, sqlPath(only))]];
};

/** Longer keys are quoted by who writes them. */
const KEY_CHARS_MAX = 64;

/** A key with a dot, or one that begins with a digit: `counts.k.1`. */
const mapKey: Correct = (faulty) => {
  const { said, sql, list, at } = faulty;
  if (!said.startsWith('syntax error') || at < 1) return [];
  const number = list[at]?.kind === 'number' ? at : -1;
  if (number === -1 || nameOfToken(list[number - 1]) === undefined) return [];
  const start = pathStart(list, number);
  // What follows without a space is part of the key; `m.2024-01` may also be a difference, `m.2024-01-04` is a day.
  const [rest = ''] = /^[\w.:-]*/.exec(sql.slice(list[number]?.end, (list[number]?.end ?? 0) + KEY_CHARS_MAX)) ?? [];
  const path = sql.slice(list[start]?.start, list[number]?.end);
  if (rest.includes('-') && !/\b\d{4}$/.test(path)) return [];
  if (rest.includes('-') && !/^-\d\d-\d\d(?:T[\d:]+Z?)?$/.test(rest)) return [];
  const edit = { start: list[start]?.start ?? 0, end: (list[number]?.end ?? 0) + rest.length };
  const dots = [...path].flatMap((character, index) => (character === '.' ? [index] : []));
  // The key may begin behind each dot: the engine says of which there is one.
  return dots.map((dot) => [{ ...edit, text: `${path.slice(0, dot)}[${quoteText(path.slice(dot + 1) + rest)}]` }]);
};

/** Fields whose names have spaces, at which the parser stops. */
const spacedName: Correct = (faulty) => {
  const { said, at, tables } = faulty;
  if (!said.startsWith('syntax error')) return [];
  const columns = columnsOf(tables);
  const edits = [at - 2, at - 1, at].flatMap((from) => (from < 0 ? [] : (joined(faulty, from, columns) ?? [])));
  return edits.slice(0, 1).map((edit) => [edit]);
};

/** A column that both sides of a join on it have, or a collection and json_each. */
const ambiguous: Correct = (faulty) => {
  const { said, sql, at, list } = faulty;
  const names = said.startsWith('Ambiguous reference to column name') ? said.split('"') : [];
  const [one = '', other = ''] = [names[3], names[5]];
  if (names.length !== 7 || at === -1) return [];
  const flat = foldName(sql).replace(/\s/g, '');
  const [a, b] = [foldName(one), foldName(other)];
  const isOfJson = (name: string) =>
    list.some((token, call) => {
      if (!/^json_(?:each|tree)$/.test(wordOf(token)) || !isMark(list[call + 1], '(')) return false;
      const next = list.closeOf(call + 1) + 1;
      const alias = nameOfToken(list[wordOf(list[next]) === 'as' ? next + 1 : next]);
      return alias !== undefined && name.startsWith(`${foldName(alias)}.`);
    });
  if (isOfJson(a) !== isOfJson(b)) return [[instead(faulty, at, at + 1, isOfJson(a) ? other : one)]];
  if (!flat.includes(`${a}=${b}`) && !flat.includes(`${b}=${a}`)) return [];
  return [[instead(faulty, at, at + 1, one)]];
};

/** `l[:i]`, which the engine reads as a slice up to the column i. */
const parameterInBrackets: Correct = (faulty) => {
  const { said, list } = faulty;
  const name = /^Referenced column "(\w+)" (?:was )?not found/.exec(said)?.[1];
  const edits = list.flatMap((token, at): Edit[] => {
    const isOne = isMark(list[at - 1], '[') && isMark(token, ':') && isMark(list[at + 2], ']');
    return isOne && list[at + 1]?.text === name ? [instead(faulty, at, at + 2, `(:${name})`)] : [];
  });
  return edits.length === 0 ? [] : [edits];
};

/** `UNPIVOT t ON *`, which takes what each document has of its own along. */
const unpivoted: Correct = (faulty) => {
  const { said, list } = faulty;
  const star = said.startsWith('Cannot unpivot columns of types ')
    ? list.findIndex(
        (token, at) => isMark(token, '*') && /^(?:on|columns)$/.test(wordOf(list[at - 1]) || wordOf(list[at - 2])),
      )
    : -1;
  if (star === -1) return [];
  const own = OWN_COLUMNS.join(', ');
  const isExcluding = wordOf(list[star + 1]) === 'exclude' && isMark(list[star + 2], '(');
  if (!isExcluding) return [[instead(faulty, star, star + 1, `* EXCLUDE (${own})`)]];
  const excluded = list.slice(star + 3, list.closeOf(star + 2)).map((token) => foldName(nameOfToken(token) ?? ''));
  const missing = OWN_COLUMNS.filter((name) => !excluded.includes(name));
  return missing.length === 0 ? [] : [[instead(faulty, star + 2, star + 3, `(${missing.join(', ')}, `)]];
};

export const CORRECT: readonly Correct[] = [
  columnName,
  qualifier,
  innerName,
  collectionName,
  mapKey,
  spacedName,
  ambiguous,
  parameterInBrackets,
  unpivoted,
];
