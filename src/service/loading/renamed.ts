import { nearest } from '../../contract/nearest.ts';
import { cut, inQuotes, quotedPath } from '../../contract/text.ts';
import type { CollectionRecord } from '../catalog/records.ts';
import type { CallContext } from '../context.ts';
import type { LoadOutcome } from './loading.ts';

/*
 * One of several files has a column under another name: then the one field has a part of the values, the other the rest, and
 * a sum over either is silently too small.
 */

/** More fields than these are not compared. */
const NEW_MAX = 20;
const OLD_MAX = 200;
const SHOWN = 3;
const CHARS_MAX = 60;
/** As many of the documents have to have a value. */
const FILLED_MIN = 0.9;
/** Where a file shares fewer fields, or lacks several, names that are not alike are not told. */
const SHARED_MIN = 2;
/** How long all documents are counted, which the load waits for. */
const LOOK_MS = 2_000;
const NOT_LOOKED =
  'it has new fields, and whether these are fields of before under other names is not known: counting all documents took too long.';
const NUMBER = /^(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|DOUBLE|FLOAT|DECIMAL.*)$/;

type Context = Pick<CallContext, 'engine' | 'signal'> & { caller: Pick<CallContext['caller'], 'keyHash'> };
type Named = Pick<CollectionRecord, 'workspace' | 'name'>;
type Fields = Map<string, string>;

/** What is told of a load: of its documents, for as long as they are there, or of the look alone. */
export interface RenamedNotes {
  lasting: string[];
  notLooked: string[];
}

const NOTHING: RenamedNotes = { lasting: [], notLooked: [] };

/**
 * Notes the fields of a collection before a load; the function tells after it which of them no document of the load has, while
 * each has one that none had before, or that it could not look within `lookMs`.
 */
export async function renamedLook(ctx: Context, collection: Named, lookMs = LOOK_MS) {
  const before = await fieldsOf(ctx, collection).catch((): Fields => new Map());
  return async ({ added, replaced }: Pick<LoadOutcome, 'added' | 'replaced'>): Promise<RenamedNotes> => {
    if (before.size === 0 || added + replaced === 0) return NOTHING;
    const after = await fieldsOf(ctx, collection).catch((): Fields => new Map());
    const fresh = [...after.keys()].filter((name) => !before.has(name)).slice(0, NEW_MAX);
    if (fresh.length === 0) return NOTHING;
    const late = AbortSignal.timeout(lookMs);
    const inTime = { ...ctx, signal: AbortSignal.any([ctx.signal, late]) };
    try {
      const lasting = await renamedNotes(inTime, collection, { before, after, fresh }, added + replaced);
      return { lasting, notLooked: [] };
    } catch {
      // What was loaded is in.
      return { lasting: [], notLooked: late.aborted && !ctx.signal.aborted ? [NOT_LOOKED] : [] };
    }
  };
}

interface Compared {
  before: Fields;
  after: Fields;
  fresh: readonly string[];
}

async function renamedNotes(
  ctx: Context,
  collection: Named,
  { before, after, fresh }: Compared,
  loaded: number,
): Promise<string[]> {
  const known = [...before.keys()].slice(0, OLD_MAX);
  const [all = 0, ...filled] = await counts(ctx, collection, [
    'count(*)',
    ...[...fresh, ...known].map((name) => `count(${inQuotes(name, '"')})`),
  ]);
  const least = (documents: number) => Math.max(1, FILLED_MIN * documents);
  const lacked = known.filter((_, at) => {
    const count = filled[fresh.length + at] ?? 0;
    return count >= least(all - loaded) && count <= all - loaded;
  });
  const full = fresh.filter((_, at) => {
    const count = filled[at] ?? 0;
    return count >= least(loaded) && count <= loaded;
  });
  const pairs = lacked.flatMap((old) =>
    full.filter((name) => kindOf(after.get(name)) === kindOf(before.get(old))).map((name) => ({ old, name })),
  );
  if (pairs.length === 0) return [];
  const both = await counts(
    ctx,
    collection,
    pairs.map(
      ({ old, name }) => `count(*) FILTER (${inQuotes(old, '"')} IS NOT NULL AND ${inQuotes(name, '"')} IS NOT NULL)`,
    ),
  );
  // A file of other things has little in common with those before it.
  const mayBeUnlike = lacked.length === 1 && full.length === 1 && known.length >= SHARED_MIN + 1;
  return notesOf(
    pairs.filter((_, at) => both[at] === 0),
    mayBeUnlike,
  );
}

interface Pair {
  old: string;
  name: string;
}

/** A sentence for each field that is lacked, with the name most like it; `mayBeUnlike`: or the only other one. */
function notesOf(pairs: readonly Pair[], mayBeUnlike: boolean): string[] {
  const lacked = [...new Set(pairs.map(({ old }) => old))];
  const notes = lacked.flatMap((old) => {
    const names = pairs.filter((pair) => pair.old === old).map(({ name }) => name);
    const [name = mayBeUnlike ? names[0] : undefined] = nearest(old, names);
    return name === undefined ? [] : [noteOf(old, name)];
  });
  return notes.slice(0, SHOWN);
}

function noteOf(old: string, name: string): string {
  const [one, other] = [old, name].map((field) => inQuotes(cut(field, CHARS_MAX), '"'));
  const isWhole = Math.max(old.length, name.length) <= CHARS_MAX;
  const merged = isWhole ? `coalesce(${one}, ${other})` : 'coalesce() of both';
  return `no ${one} in this file, but ${other}, which nothing loaded before has: if it is the same, read ${merged}.`;
}

/** The names of the fields, with their types; `_id` and the like are none. */
async function fieldsOf(ctx: Context, collection: Named): Promise<Fields> {
  const { columns } = await run(ctx, `SELECT * FROM ${quotedPath(collection.workspace, collection.name)} LIMIT 0`);
  return new Map(columns.filter(({ name }) => !name.startsWith('_')).map(({ name, type }) => [name, type]));
}

async function counts(ctx: Context, collection: Named, sql: readonly string[]): Promise<number[]> {
  const { rows } = await run(ctx, `SELECT ${sql.join(', ')} FROM ${quotedPath(collection.workspace, collection.name)}`);
  return (rows[0] ?? []).map(Number);
}

const run = ({ engine, caller, signal }: Context, sql: string) => engine.query({ sql, caller: caller.keyHash, signal });

const kindOf = (type = '') => (NUMBER.test(type) ? 'number' : type);
