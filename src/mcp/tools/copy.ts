import * as z from 'zod';
import type { Alias } from '../../contract/aliases.ts';
import type { Collection } from '../../contract/collections.ts';
import { contract } from '../../contract/contract.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import type { LoadProgress, LoadResult } from '../../contract/load.ts';
import type { ResultExport, RunningExport } from '../../contract/results.ts';
import { cut, quotedPath } from '../../contract/text.ts';
import { nearestNames, toApiError } from '../errors.ts';
import { exportParts, withCollectionFile, withProgress } from '../export-parts.ts';
import { type Fenced, visibleValue } from '../fence.ts';
import type { Progress } from '../progress.ts';
import { warned } from '../write-warnings.ts';
import { handTool } from './hand-tool.ts';
import { CANCELLED, UNKNOWN_FATE } from './load-run.ts';
import { nextStepFor } from './next-steps.ts';
import { tableOf } from './table-names.ts';
import type { Tool, ToolContext } from './tool.ts';

/**
 * Copies a collection, which no endpoint does: a model would have to read all documents and write them out again. They go from
 * the service through this process and back, as a file of a collection that is loaded again.
 */

interface CopyInput {
  workspace: string;
  collection: string;
  to: string;
}

/** What changes documents on their way in, or brings others, or orders them: the documents have it behind them. */
const LEFT_BEHIND = ['sources', 'field_mappings', 'field_mapping_query', 'event_time_info', 'clustering_key'] as const;

/** Nothing is made before the file of the source is there, so that a failure until then leaves nothing. */
async function copy(context: ToolContext, { workspace, collection, to }: CopyInput): Promise<Fenced> {
  const { client, signal, progress } = context;
  const source = await client.getCollection({ workspace, collection }, { signal });
  const target = placeOf(to, workspace);
  await requireFree(context, target);
  const types = await typesOf(context, placeIn(source));
  const { format, isRespelled } = formatOf(types, source);
  const aliases = await client.listCollectionAliases({ workspace, collection }, { signal });
  const total = source.stats?.doc_count ?? 0;
  const isCancelled = () => signal?.aborted === true;
  // The documents go two ways, one after the other.
  const report: Progress = (done, all, message) => progress(done, 2 * Math.max(total, all ?? 0, done), message);
  const isMine = (one: RunningExport) => one.format === format && one.collection === `${workspace}.${collection}`;
  const fill = async (file: ResultExport): Promise<Filled> => {
    const rows = file.rows ?? 0;
    let isCreated = false;
    let inside = 0;
    const onProgress = ({ added, replaced }: LoadProgress) => {
      inside = added + replaced;
      progress(rows + inside, 2 * rows, `${inside.toLocaleString('en-US')} documents are copied`);
    };
    if (isCancelled()) throw new ApiError('aborted', 'The copy was cancelled.');
    try {
      // Without the signal: it takes no time, and then it is known whether the target exists.
      await client.createCollection(settingsOf(source, target));
      isCreated = true;
      const parts = exportParts(client, file, signal);
      const result = await client.load({ ...target, format }, parts, { signal, onProgress });
      return { ...result, inside: result.added + result.replaced, isUnsure: false };
    } catch (error) {
      const { code, message } = toApiError(error);
      const isUnsure = UNKNOWN_FATE.has(code);
      if (!isCreated && !isUnsure) throw error;
      return { stopped: isCancelled() ? CANCELLED : message, inside, refused: [], warnings: [], isUnsure };
    }
  };
  return withProgress(client, report, isMine, () =>
    withCollectionFile(client, { workspace, collection, format }, signal, async (file) => {
      const filled = await fill(file);
      // What is told of the copy does not depend on this.
      const copied = await typesOf(context, target).catch(() => types);
      return told({ source, target, aliases, isRespelled, file, retyped: differences(types, copied), ...filled });
    }),
  );
}

/** How the load ended; `isUnsure`: more of it may be in. */
interface Filled extends Pick<LoadResult, 'stopped' | 'refused' | 'warnings'> {
  inside: number;
  isUnsure: boolean;
}

function settingsOf(source: Collection, { workspace, collection: name }: Target) {
  const { description, retention_secs: retention, recognize_times: hasTimes } = source;
  return {
    workspace,
    name,
    ...(description ? { description } : {}),
    ...(retention ? { retention_secs: retention } : {}),
    recognize_times: hasTimes === true,
  };
}

/** A workspace that is not there is not made: its name may be a slip. */
async function requireFree({ client, signal }: ToolContext, target: Target): Promise<void> {
  const name = contract.createCollection.body.shape.name.safeParse(target.collection);
  if (!name.success) throw new ApiError('invalid_input', `Cannot copy to it: ${name.error.issues[0]?.message}.`);
  try {
    await client.getCollection(target, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.details.messageKey === 'COLLECTION_DOES_NOT_EXIST') return;
    throw error;
  }
  throw new ApiError('already_exists', `The collection ${tableOf(target)} exists already.`);
}

interface Copied extends Filled {
  source: Collection;
  target: Target;
  aliases: readonly Alias[];
  isRespelled: boolean;
  file: ResultExport;
  /** Columns of the copy that have other types. */
  retyped: readonly Difference[];
}

function told({ source, target, aliases, isRespelled, file, retyped, ...filled }: Copied) {
  const { stopped, inside, refused, warnings, isUnsure } = filled;
  const rows = file.rows ?? 0;
  const isWhole = stopped === null && inside === rows;
  const left = [
    ...LEFT_BEHIND.filter((key) => isThere(source[key])),
    ...aliases.map(({ workspace, name }) => `alias ${tableOf({ workspace: workspace ?? '', collection: name ?? '' })}`),
  ];
  const shown: Fenced = {
    data: {
      done: `Copied ${inside === rows ? '' : `${inside.toLocaleString('en-US')} of `}${counted(rows, 'documents')}: ${tableOf(placeIn(source))} to ${tableOf(target)}.`,
      documents: inside,
      complete: isWhole,
      ...(stopped === null ? {} : { stopped }),
      ...(refused.length === 0 ? {} : { refused }),
      ...(left.length === 0 ? {} : { not_copied: left }),
      ...(isThere(file.retyped) ? { retyped: file.retyped } : {}),
      ...(isWhole && retyped.length > 0 ? { other_types: visibleValue(retyped.slice(0, RETYPED_MAX)) } : {}),
    },
    ...(isWhole ? {} : { isError: true }),
    next: isWhole
      ? `${isRespelled ? 'Times are spelled anew, as 2026-01-31T08:00:00.000000Z, without Z if they have no zone; they are the same times. ' : ''}Aliases and query lambdas go on naming the old one.`
      : `The copy is not whole${isUnsure ? ', and whether more is in it is not known' : ''}: delete the new collection if it exists, and copy again once the cause is gone.`,
  };
  return warned(shown, warnings);
}

const isThere = (value: unknown) =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

interface Target {
  workspace: string;
  collection: string;
}

/** A name with its workspace, quoted as SQL has it or not; a workspace may have dots itself. Without one, as the workspace given. */
function placeOf(name: string, workspace: string): Target {
  const [, before, last = ''] = /^(?:("(?:[^"]|"")*"|[^"]+)\.)?("(?:[^"]|"")*"|[^".]*)$/.exec(name) ?? [
    name,
    undefined,
    name,
  ];
  return { workspace: before === undefined ? workspace : unquoted(before), collection: unquoted(last) };
}

const unquoted = (name: string) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);

/** Columns of other types that are told, and how much of a type. */
const RETYPED_MAX = 20;
const TYPE_CHARS_MAX = 100;

/** Types that documents do not get by themselves: someone has declared them. */
const DECLARED = /\b(?:DECIMAL|UUID|BLOB|TIME|INTERVAL|FLOAT|U?(?:TINY|SMALL)INT|UBIGINT|U?INTEGER)\b/;
const TIMES = /\b(?:DATE|TIMESTAMP)\b/;
/** Names of fields within a type. */
const NAMES = /"(?:[^"]|"")*"/g;

const placeIn = ({ workspace, name }: Collection): Target => ({ workspace: workspace ?? '', collection: name ?? '' });

/** The types of a collection's columns, by name. */
async function typesOf({ client, signal }: Pick<ToolContext, 'client' | 'signal'>, { workspace, collection }: Target) {
  const table = quotedPath(workspace, collection);
  const sql = { query: `SELECT * FROM ${table} LIMIT 0` };
  const { column_fields: columns } = await client.runQuery({ sql }, { signal });
  return new Map((columns ?? []).map(({ name, type }) => [name ?? '', type ?? '']));
}

interface Difference {
  column: string;
  type: string;
  was: string;
}

/** A type comes from all documents that are there, and the source may have got its own from some that are gone. */
function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Difference[] {
  const shown = (type = 'none') => cut(type, TYPE_CHARS_MAX);
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((column) => before.get(column) !== after.get(column))
    .map((column) => ({ column, type: shown(after.get(column)), was: shown(before.get(column)) }));
}

/** JSON lines have times as they were spelled, Parquet the types that JSON lacks; `isRespelled`: there are times in it. */
function formatOf(columns: ReadonlyMap<string, string>, source: Collection) {
  const types = [...columns].flatMap(([name, type]) =>
    name === '_event_time' ? [] : [type.replace(NAMES, '').replaceAll('WITH TIME ZONE', '')],
  );
  const isDeclared = (type: string) => DECLARED.test(type) || (source.recognize_times !== true && TIMES.test(type));
  if (!types.some(isDeclared)) return { format: 'jsonl' as const, isRespelled: false };
  return { format: 'parquet' as const, isRespelled: types.some((type) => /\bTIMESTAMP\b/.test(type)) };
}

/** The tool; built at its first use, since schemas take time. */
export function copyTool(): Tool {
  const { workspace, collection } = contract.getCollection.params.shape;
  return handTool<CopyInput>({
    name: 'copy_collection',
    effect: 'create',
    role: 'member',
    toolset: 'collections',
    title: 'Copy a collection',
    description: 'Copy a collection to a new one; to move or rename it, then delete the old one.',
    shape: { workspace, collection, to: z.string().min(1).describe('As workspace.collection') },
    output: { done: { type: 'string' }, complete: { type: 'boolean' } },
    run: copy,
    next: (error) => nextStepFor(contract.createCollection, error),
    nearest: ({ client, signal }, input, error) => nearestNames(client, contract.getCollection, input, error, signal),
  });
}
