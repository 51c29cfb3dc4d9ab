import type { Collection } from '../../contract/collections.ts';
import type { WriteResult } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import type { QueryLambda, QueryLambdaVersion } from '../../contract/lambdas.ts';
import type { QueryResponse } from '../../contract/queries.ts';
import { holdsSecret } from '../../contract/secret.ts';
import { shownEscape } from '../../contract/visible.ts';
import type { CallOptions } from '../../http/client.ts';
import { nearestNames } from '../errors.ts';
import { blastRadius } from '../guard/blast.ts';
import { presentQuery } from '../query-answer.ts';
import { docsTool } from '../resources/docs-resources.ts';
import { BUDGET, presentList, presentRecord, presentWrites, ROWS_FETCHED } from '../results.ts';
import { masked } from '../secrets.ts';
import { warned } from '../write-warnings.ts';
import { readArguments, renamedIn } from './arguments.ts';
import { wasBefore } from './before.ts';
import { type RowTool, rowTool as rowToolFor, rowTools, toolsetOf, willIssue } from './catalog.ts';
import { compareTool } from './compare.ts';
import { copyTool } from './copy.ts';
import { deleteNamed, deleteWhereTool } from './delete-where.ts';
import { describeTool } from './describe.ts';
import { exportResultTool } from './export-tool.ts';
import { impactTool } from './impact.ts';
import { callIssuing } from './issued.ts';
import { listsLambdas, presentLambdas } from './lambda-overview.ts';
import { lambdasShown } from './lambda-shown.ts';
import { loadFileTool } from './load-file.ts';
import { nextStepFor } from './next-steps.ts';
import { presentCollections } from './overview.ts';
import { type Arguments, pathParameters } from './relations.ts';
import { fetchResultTool } from './result-tools.ts';
import { controlSourceTool } from './source-tools.ts';
import { withQuotes } from './table-names.ts';
import type { Tool, ToolContext } from './tool.ts';
import { listTrashTool, readAuditTool, restoreTool } from './trash-tools.ts';

type Operate = (input: Arguments, options: CallOptions) => Promise<unknown>;

function toolOf(rowTool: RowTool): Tool {
  const { row, listing } = rowTool;
  const canTell = holdsSecret(row.result);
  return {
    listing,
    effect: row.effect,
    role: row.role,
    toolset: toolsetOf(rowTool.operation),
    arguments: rowTool.arguments,
    secretArguments: rowTool.arguments.filter(({ schema }) => holdsSecret(schema)),
    read: (sent, secrets) => {
      const input = readArguments(listing.name, rowTool.arguments, sent, secrets);
      refuseShownNames(rowTool, input);
      return input;
    },
    renamed: (sent) => renamedIn(rowTool.arguments, sent),
    ...(row.effect === 'delete'
      ? {
          blast: (context: ToolContext, input: Arguments, shown?: string) =>
            blastRadius(context, rowTool, input, shown),
        }
      : {}),
    run: async (context, input, blast) => {
      const { client, signal } = context;
      if (willIssue(rowTool, input)) return callIssuing(rowTool, context, input);
      const deleted = blast && rowTool.kind === 'writes' ? await deleteNamed(context, input, blast) : undefined;
      if (deleted !== undefined) return deleted;
      const { ready, rowsMax, limit } = withRowLimit(rowTool, withWarnings(rowTool, input));
      const keepResult = rowTool.kind === 'rows' ? rowsMax : undefined;
      const tellTrash = row.trash;
      const was = await wasBefore(rowTool.operation, context, input);
      const answer = await (client[rowTool.operation] as Operate)(ready, { signal, keepResult, tellTrash });
      const told = await lambdasShown(rowTool.operation, context, input, answer);
      if (isOfCollections(rowTool.operation)) return presentCollections(context, told as Collection[]);
      if (listsLambdas(rowTool.operation)) return presentLambdas(told as (QueryLambda | QueryLambdaVersion)[]);
      if (rowTool.kind === 'list') {
        const mask = (item: unknown) => (canTell ? (masked(row.result, [item]) as unknown[])[0] : item);
        return presentList(Array.isArray(told) ? told : [], BUDGET, mask);
      }
      const result = canTell ? masked(row.result, told) : told;
      if (rowTool.kind === 'rows') return presentQuery(context, result as QueryResponse, rowsMax, limit);
      if (rowTool.kind === 'writes') {
        const written = result as WriteResult;
        const shown = warned(presentWrites(written, blast, sentIds(input)), written.warnings);
        return 'trash' in written ? { ...shown, data: { ...shown.data, trash: written['trash'] } } : shown;
      }
      const shown = rowTool.operation === 'validateQuery' ? { valid: true, ...(result as object) } : result;
      const record = was === undefined ? shown : { was, ...(shown as object) };
      return withQuotes(presentRecord(record, row.effect === 'read' ? undefined : input), rowTool.operation, input);
    },
    next: (error) => nextStepFor(row, error),
    nearest: ({ client, signal }, input, error) => nearestNames(client, row, input, error, signal),
  };
}

/** The ids of documents that a call names. */
function sentIds({ data }: Arguments): ReadonlySet<string> {
  const ids = Array.isArray(data) ? data.map((one: unknown) => (one as { _id?: unknown } | null)?._id) : [];
  return new Set(ids.filter((id) => typeof id === 'string'));
}

const isOfCollections = (operation: string) =>
  operation === 'listCollections' || operation === 'listWorkspaceCollections';

/**
 * Refuses names of things to change that contain an escape of the kind that shows invisible characters: taken
 * literally, such a name means something else than what was shown under it.
 */
function refuseShownNames({ row, kind, listing }: RowTool, input: Arguments): void {
  const items = kind === 'writes' && Array.isArray(input['data']) ? input['data'] : [];
  const ids = items.map((item: unknown) => (item as { _id?: unknown } | null)?._id);
  const names = row.effect === 'delete' ? pathParameters(row.path).map((parameter) => input[parameter]) : [];
  for (const name of [...names, ...ids]) {
    const shown = typeof name === 'string' ? shownEscape(name) : undefined;
    if (shown === undefined) continue;
    throw new ApiError(
      row.method === 'POST' ? 'invalid_input' : 'not_found',
      `Cannot call ${listing.name} with ${JSON.stringify(String(name).slice(0, SHOWN_CHARS_MAX))}: ${shown} is how an invisible character is shown, and no name. Give the character itself, which in JSON is its escape with one backslash.`,
    );
  }
}

const SHOWN_CHARS_MAX = 200;

/** Asks for warnings, for example of an unused parameter, if the operation can give them, unless the call declines. */
function withWarnings(rowTool: RowTool, input: Arguments): Arguments {
  const argument = rowTool.arguments.find(({ field }) => field === 'generate_warnings');
  if (argument === undefined) return input;
  const { field, into } = argument;
  if (into === undefined) return { [field]: true, ...input };
  return { ...input, [into]: { [field]: true, ...((input[into] ?? {}) as Arguments) } };
}

/**
 * If a tool that returns rows takes `default_row_limit`, sets it, so that no whole table is transferred only to be cut
 * here. A limit given by the model is the number of rows that it wants to see.
 */
function withRowLimit(rowTool: RowTool, input: Arguments): { ready: Arguments; rowsMax: number; limit?: number } {
  const argument = rowTool.arguments.find(({ field }) => field === 'default_row_limit');
  if (rowTool.kind !== 'rows' || argument === undefined) return { ready: input, rowsMax: BUDGET.rowsMax };
  const { field, into } = argument;
  const holder = (into === undefined ? input : (input[into] ?? {})) as Arguments;
  const wanted = holder[field];
  if (typeof wanted === 'number') return { ready: input, rowsMax: wanted, limit: wanted };
  const limited = { ...holder, [field]: ROWS_FETCHED };
  const ready = into === undefined ? limited : { ...input, [into]: limited };
  return { ready, rowsMax: BUDGET.rowsMax, limit: ROWS_FETCHED };
}

let all: ReadonlyMap<string, Tool> | undefined;

/** All tools by name, in the order in which they are listed; always the same. */
export function tools(): ReadonlyMap<string, Tool> {
  if (all === undefined) {
    const computed = [...rowTools().values()].map(toolOf);
    all = new Map(
      [
        describeTool(),
        fetchResultTool(),
        exportResultTool(),
        compareTool(),
        docsTool(),
        loadFileTool(),
        copyTool(),
        deleteWhereTool(),
        impactTool(),
        listTrashTool(),
        restoreTool(),
        readAuditTool(),
        toolOf(rowToolFor('updateIntegration')),
        controlSourceTool(),
        ...computed,
      ].map((tool) => [tool.listing.name, tool]),
    );
  }
  return all;
}
