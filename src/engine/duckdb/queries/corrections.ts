import { ApiError, IN_CORRECTED } from '../../../contract/errors.ts';
import { resume } from '../connections/sessions.ts';
import { type Opened, open } from '../gate/parse.ts';
import { together } from '../gate/text-casts.ts';
import * as calls from '../sql/corrections/calls.ts';
import * as casts from '../sql/corrections/casts.ts';
import * as clauses from '../sql/corrections/clauses.ts';
import { type Correct, edited, type Faulty, instead, textOf } from '../sql/corrections/faulty.ts';
import * as groups from '../sql/corrections/group-by-all.ts';
import * as hidden from '../sql/corrections/hidden-alias.ts';
import * as names from '../sql/corrections/names.ts';
import type { Reading } from '../sql/corrections/readings.ts';
import * as spelling from '../sql/corrections/spelling.ts';
import { noTimeIn } from '../sql/corrections/times.ts';
import { type Edit, wordOf } from '../sql/forms/edit.ts';
import { foldName, type Names } from '../sql/names.ts';
import { readStatement } from '../sql/statement.ts';
import { fieldName } from '../sql/syntax-hints.ts';
import { tokenList } from '../sql/token-list.ts';
import { isOfSql } from './again.ts';
import { type FieldReading, readingOf } from './looks/readings.ts';
import { dataOf } from './looks/samples.ts';
import { type Bound, boundOf, isBound, type Meaning } from './meaning.ts';
import { tokenAt } from './spellings.ts';

/*
 * SQL that fails, as it was probably meant. Only what the engine then accepts is said: it is taken through the gate and
 * bound as any statement, and never run.
 */

/** Longer SQL is not corrected, and no longer one is said. */
const SQL_CHARS_MAX = 1_500;
/** Texts that are tried for one error, and mistakes in one text. */
const TRIES_MAX = 12;
const MISTAKES_MAX = 8;

const ALL: readonly Correct[] = [spelling, calls, hidden, clauses, groups, names].flatMap(({ CORRECT }) => CORRECT);

/** The error with what was probably meant by the SQL, if that is clear and valid; else the error as it is. */
export async function corrected(error: unknown, sql: string, meaning: Meaning): Promise<unknown> {
  if (!isOfSql(error) || sql.length > SQL_CHARS_MAX || meaning.signal.aborted) return error;
  const found =
    (await byName(sql, meaning)) ?? (await recast(error, sql, meaning)) ?? (await likely(error, sql, meaning));
  if (found === undefined || meaning.signal.aborted) return error;
  const { message, details } = error;
  if (found.sql === undefined)
    return new ApiError(error.code, withoutCasts(message, found.said), { ...details, cause: error });
  const said = found.said === undefined ? message : `${message}\n${IN_CORRECTED}${found.said}.`;
  return new ApiError(error.code, said, { ...details, correctedSql: found.sql, cause: error });
}

/** SQL whose UNION puts columns of other names together, by their names; undefined: it has none, or that is not why it fails. */
async function byName(sql: string, meaning: Meaning): Promise<Reading | undefined> {
  const list = tokenList(sql);
  const unions = list.flatMap((token, at) => (wordOf(token) === 'union' && wordOf(list[at + 1]) !== 'by' ? [at] : []));
  if (unions.length === 0 || list.some((token) => wordOf(token) === 'recursive')) return undefined;
  const [first] = await openedOf(sql, meaning);
  const { misplaced: [name] = [], fitByName = false } = first?.passed.setOperations ?? {};
  if (!fitByName || name === undefined) return undefined;
  const edits = unions.map((at) => {
    const { end = 0 } = list[/^(?:all|distinct)$/.test(wordOf(list[at + 1])) ? at + 1 : at] ?? {};
    return { start: end, end, text: ' BY NAME' };
  });
  const text = edited(sql, edits);
  const bound = await boundOf(text, meaning);
  if (isBound(bound))
    return { sql: text, said: `columns are put together by name, since ${name} has another place in each SELECT` };
  return bound === null ? undefined : likely(bound, text, meaning);
}

/** SQL that passed the gate, whether or not it binds. */
async function openedOf(sql: string, { names, connection, signal }: Meaning): Promise<Opened[]> {
  try {
    await resume(connection);
    return [await open(connection, await readStatement(sql), names, signal)];
  } catch {
    return [];
  }
}

/** The lines of a message that advise a cast. */
const ADVISES = /\bis text: |TRY_CAST|strptime\(|^It has a comma/;

/** A message that says in the place of casts which texts there are. */
function withoutCasts(message: string, said = ''): string {
  const [first = '', ...more] = message.split('\n');
  return [first, ...more.filter((line) => !ADVISES.test(line)), said].join('\n');
}

/** SQL whose cast has failed at a value, with one that reads the values of that field; undefined: that is not clear. */
async function recast(error: ApiError, sql: string, meaning: Meaning): Promise<Reading | undefined> {
  const list = tokenList(sql);
  const at = tokenAt(sql, list, error);
  const [said = ''] = error.message.split('\n', 1);
  const noTime = noTimeIn(said);
  const failing = noTime ?? (said.startsWith('Could not convert string ') ? said.split("'")[1] : undefined);
  // `2024-01-02 05:30:00 -0500`, of which the error has the last part only.
  const isOfZone = said.startsWith('Unknown TimeZone ');
  if (failing === undefined && !isOfZone) return undefined;
  const written = { sql, list };
  const all = casts.castsIn(written);
  const isOnly = new Set(all.map(keyOf)).size === 1;
  const cast = at === -1 ? isOnly && all[0] : castNear(written, at, isOfZone || noTime !== undefined);
  if (!cast) return undefined;
  const reading = await readingIn(cast, await boundOf(sql, meaning), meaning, failing);
  if (reading === undefined || reading === 'right') return undefined;
  const { sql: read } = reading;
  if (read === undefined) return reading;
  const same = all.filter((one) => keyOf(one) === keyOf(cast));
  const edits = (same.length > 0 ? same : [cast]).map(({ range }) => instead(written, ...range, read));
  const text = edited(sql, edits);
  return isBound(await boundOf(text, meaning)) ? { ...reading, sql: text } : undefined;
}

/** How a cast has to be in SQL that binds. */
async function readingIn(cast: casts.Cast, bound: Bound, { names, connection }: Meaning, failing?: string) {
  const path = casts.pathOf(cast.operand);
  if (path === undefined || !isBound(bound) || !(casts.isNumber(cast.type) || casts.isTime(cast.type)))
    return undefined;
  const named = path.map(fieldName).join('.');
  const known = bound.passed.valueUses.casts.filter(({ written }) => foldName(written) === foldName(named));
  if (known.length === 0) return undefined;
  await resume(connection);
  return readingOf(cast, known.map(({ sources }) => sources).reduce(together), dataOf(names, connection), failing);
}

/** The cast at a token; a field there that is compared with a time counts as one without a cast. */
function castNear(written: Pick<Faulty, 'sql' | 'list'>, at: number, isTime: boolean): casts.WrittenCast | undefined {
  const cast = casts.castAt(written, at) ?? casts.castAt(written, at + 1);
  if (cast !== undefined || !isTime) return cast;
  let end = at + 1;
  while (written.list[end]?.text === '.') end += 2;
  return { operand: textOf(written, at, end), type: 'TIMESTAMPTZ', range: [at, end] };
}

const keyOf = ({ operand, type }: casts.Cast) => `${operand} ${type}`;

/** What was probably meant, once the values of the fields that it casts have been looked at. */
async function likely(error: ApiError, sql: string, meaning: Meaning): Promise<Reading | undefined> {
  const text = await meant(error, sql, meaning, { left: TRIES_MAX }, MISTAKES_MAX);
  if (text === undefined) return undefined;
  const own = new Set(casts.castsIn({ sql, list: tokenList(sql) }).map(keyOf));
  const written = { sql: text, list: tokenList(text) };
  const added = casts.castsIn(written).filter((cast) => !own.has(keyOf(cast)));
  const bound = added.length === 0 ? null : await boundOf(text, meaning);
  const readings = new Map<string, FieldReading | 'right' | undefined>();
  const edits: Edit[] = [];
  for (const cast of added) {
    const key = keyOf(cast);
    if (!readings.has(key)) readings.set(key, await readingIn(cast, bound, meaning));
    const reading = readings.get(key);
    if (reading === undefined || reading === 'right') continue;
    if (reading.sql === undefined) return reading;
    edits.push(instead(written, ...cast.range, reading.sql));
  }
  const ofExtreme = clauses.extremeSaid(sql, text);
  if (edits.length === 0) return { sql: text, ...(ofExtreme !== undefined && { said: ofExtreme }) };
  const read = edited(text, edits);
  if (!isBound(await boundOf(read, meaning))) return undefined;
  const said = [...readings.values()].flatMap((one) => (one === undefined || one === 'right' ? [] : (one.said ?? [])));
  return { sql: read, ...(said.length > 0 && { said: said.join('; ') }) };
}

async function meant(
  error: ApiError,
  sql: string,
  meaning: Meaning,
  tries: { left: number },
  mistakes: number,
): Promise<string | undefined> {
  for (const text of textsFor(error, sql, meaning.names)) {
    if (tries.left === 0 || text.length > SQL_CHARS_MAX) return undefined;
    tries.left -= 1;
    const next = await boundOf(text, meaning);
    if (isBound(next)) return text;
    if (next === null || mistakes === 1) continue;
    const further = await meant(next, text, meaning, tries, mistakes - 1);
    if (further !== undefined) return further;
  }
  return undefined;
}

function textsFor(error: ApiError, sql: string, known: Names): string[] {
  const list = tokenList(sql);
  const [said = ''] = error.message.split('\n', 1);
  const at = tokenAt(sql, list, error);
  const faulty = { sql, list, at, said, message: error.message, tables: names.tablesNamed(list, known), names: known };
  const texts = ALL.flatMap((correct) => correct(faulty)).map((edits) => edited(sql, edits));
  return [...new Set(texts)].filter((text) => text !== sql);
}
