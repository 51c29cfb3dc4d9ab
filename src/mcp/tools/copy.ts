import * as z from 'zod';
import type { Collection } from '../../contract/collections.ts';
import { contract } from '../../contract/contract.ts';
import { counted } from '../../contract/in-words.ts';
import type { LoadResult } from '../../contract/load.ts';
import type { ExportFormat } from '../../contract/results.ts';
import { nearestNames } from '../errors.ts';
import { exportParts, withCollectionFile } from '../export-parts.ts';
import type { Fenced } from '../fence.ts';
import { handTool } from './hand-tool.ts';
import { identifier, quotedIdentifier } from './infer.ts';
import { makeCollection } from './load-run.ts';
import { nextStepFor } from './next-steps.ts';
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

/** What changes documents on their way in, or brings others: the documents have it behind them. */
const LEFT_BEHIND = ['sources', 'field_mappings', 'field_mapping_query', 'event_time_info'] as const;

async function copy(context: ToolContext, { workspace, collection, to }: CopyInput): Promise<Fenced> {
  const { client, signal, progress } = context;
  const source = await client.getCollection({ workspace, collection }, { signal });
  const target = placeOf(to, workspace);
  const { description, retention_secs: retention, recognize_times: hasTimes } = source;
  await makeCollection(
    client,
    {
      workspace: target.workspace,
      name: target.collection,
      ...(description ? { description } : {}),
      ...(retention ? { retention_secs: retention } : {}),
      recognize_times: hasTimes === true,
    },
    signal,
  );
  const format = await formatOf(context, source);
  const total = source.stats?.doc_count ?? 0;
  const onProgress = ({ added }: { added: number }) =>
    progress(added, Math.max(total, added), `${added.toLocaleString('en-US')} documents are copied`);
  const { rows, result } = await withCollectionFile(
    client,
    { workspace, collection, format },
    signal,
    async (file) => ({
      rows: file.rows ?? 0,
      result: await client.load({ ...target, format }, exportParts(client, file, signal), { signal, onProgress }),
    }),
  );
  return told(source, target, rows, result);
}

function told(source: Collection, target: Target, rows: number, result: LoadResult): Fenced {
  const inside = result.added + result.replaced;
  const isWhole = result.stopped === null && inside === rows;
  const nameOf = (...parts: (string | null | undefined)[]) => parts.map((part) => identifier(part ?? '')).join('.');
  const left = LEFT_BEHIND.filter((key) => isThere(source[key]));
  return {
    data: {
      done: `Copied ${inside === rows ? '' : `${inside.toLocaleString('en-US')} of `}${counted(rows, 'documents')}: ${nameOf(source.workspace, source.name)} to ${nameOf(target.workspace, target.collection)}.`,
      documents: inside,
      complete: isWhole,
      ...(result.stopped === null ? {} : { stopped: result.stopped }),
      ...(result.refused.length === 0 ? {} : { refused: result.refused }),
      ...(left.length === 0 ? {} : { not_copied: left }),
    },
    ...(isWhole
      ? {}
      : { isError: true, next: 'The copy is not whole: delete it, and copy again once the cause is gone.' }),
  };
}

const isThere = (value: unknown) =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

interface Target {
  workspace: string;
  collection: string;
}

/** A name with its workspace, which may have dots itself; without one, as the workspace given. */
function placeOf(name: string, workspace: string): Target {
  const dot = name.lastIndexOf('.');
  return { workspace: dot < 0 ? workspace : name.slice(0, dot), collection: name.slice(dot + 1) };
}

/** Types that documents do not get by themselves: someone has declared them. */
const DECLARED = /\b(?:DECIMAL|UUID|BLOB|TIME|INTERVAL|FLOAT|U?(?:TINY|SMALL)INT|UBIGINT|U?INTEGER)\b/;
const TIMES = /\b(?:DATE|TIMESTAMP)\b/;

/** JSON lines have times as they were spelled, Parquet the types that JSON lacks. */
async function formatOf({ client, signal }: ToolContext, source: Collection): Promise<ExportFormat> {
  const table = `${quotedIdentifier(source.workspace ?? '')}.${quotedIdentifier(source.name ?? '')}`;
  const sql = { query: `SELECT * FROM ${table} LIMIT 0` };
  const { column_fields: columns } = await client.runQuery({ sql }, { signal });
  const types = (columns ?? []).flatMap(({ name, type }) => (name === '_event_time' ? [] : [type ?? '']));
  const isDeclared = (type: string) =>
    DECLARED.test(type.replaceAll('WITH TIME ZONE', '')) || (source.recognize_times !== true && TIMES.test(type));
  return types.some(isDeclared) ? 'parquet' : 'jsonl';
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
