import { contract } from '../../contract/contract.ts';
import { DOCUMENTS_MAX } from '../../contract/documents.ts';
import { ApiError } from '../../contract/errors.ts';
import { counted } from '../../contract/in-words.ts';
import { type Selection, selections } from '../../contract/selections.ts';
import { nearestNames } from '../errors.ts';
import { type Fenced, lineText } from '../fence.ts';
import { aboutOnce, type Blast, keptUntil, MANY_DOCUMENTS, questionOf, undoLine } from '../guard/blast.ts';
import { isUnknownEndpoint } from '../guard/named-documents.ts';
import { whatOf } from '../guard/survey.ts';
import { fingerprint } from '../guard/target.ts';
import { presentWrites } from '../results.ts';
import { DONE_OUTPUT } from './catalog.ts';
import { handTool } from './hand-tool.ts';
import type { Arguments } from './relations.ts';
import type { Tool, ToolContext } from './tool.ts';

interface WhereInput {
  workspace: string;
  collection: string;
  where: string;
}

/** A million documents take a minute; the service goes on in steps, and says how far it came. */
const DELETE_TIMEOUT_MS = 30 * 60_000;
const WARNINGS_MAX = 5;
const WARNING_CHARS_MAX = 300;

/**
 * What goes, as the service has selected it: now, unless a human was `shown` a selection, whose answer is for that one.
 * The human sees the whole condition; once the selection has expired, the documents are other ones.
 */
async function blastOf({ client, signal, offered }: ToolContext, given: Arguments, shown?: string): Promise<Blast> {
  const input = given as unknown as WhereInput;
  const { workspace, collection, where } = input;
  const selected = await orUnknown(
    client.selectDocuments({ ...input, ...(shown === undefined ? {} : { shown }) }, { signal }),
  );
  const target = await client.getCollection({ workspace, collection }, { signal });
  const { documents = 0, selection = '' } = selected;
  if (documents === null || documents === 0) {
    throw new ApiError(
      'invalid_input',
      'Cannot delete documents: the condition is true for none. Look with run_query what the fields hold.',
    );
  }
  const undo = undoLine(await keptUntil(aboutOnce(client, signal)), offered);
  const what = whatOf('Delete documents by a condition', ['workspace', 'collection'], given);
  return {
    what,
    undo,
    message: questionOf(what, linesOf(selected, where), undo),
    typedName: documents >= MANY_DOCUMENTS || documents === selected.collection_documents ? collection : undefined,
    target: fingerprint(target),
    extent: { documents: { count: documents, which: selection ?? '' } },
    selection: selection ?? '',
    warnings: warningsOf(selected),
  };
}

const warningsOf = ({ warnings }: Selection): string[] =>
  (warnings ?? []).slice(0, WARNINGS_MAX).map((warning) => lineText(String(warning), WARNING_CHARS_MAX));

function linesOf(selected: Selection, where: string) {
  const { documents, collection_documents: all, examples, selected_at: at } = selected;
  const count = counted(documents ?? 0, 'documents');
  const of =
    documents === all ? `All ${count} that it has` : `${count} of the ${(all ?? 0).toLocaleString('en-US')} it has`;
  return [
    `The condition: ${JSON.stringify(where)}.`,
    `${of} will be gone, as counted at ${at}. What comes or changes later stays.`,
    // As JSON within JSON, so that no document can begin a line of the question.
    ...(examples ?? []).map((example, index) => `Example ${index + 1}: ${JSON.stringify(example)}`),
    ...warningsOf(selected).map((warning) => `Note: ${JSON.stringify(warning)}`),
  ];
}

async function deleteWhere({ client, signal }: ToolContext, input: WhereInput, blast?: Blast): Promise<Fenced> {
  const { workspace, collection } = input;
  const target = { workspace, collection, selection: blast?.selection ?? '' };
  const { deleted, left, stopped, ...more } = await client.deleteSelected(target, {
    signal,
    timeoutMs: DELETE_TIMEOUT_MS,
    tellTrash: true,
  });
  return {
    data: {
      deleted,
      ...leftOf(left),
      ...(stopped == null ? {} : { stopped }),
      // Nobody may have been asked, and whoever was does not tell the assistant.
      ...(blast?.warnings?.length ? { warnings: blast.warnings } : {}),
      ...('trash' in more ? { trash: more['trash'] } : {}),
    },
    next: stopped == null ? undefined : STOPPED,
  };
}

const STOPPED =
  'It stopped before its end, and what was deleted until then is in the trash. Tell the human before calling again.';

/** What of a selection stays, and why. */
function leftOf(left: number | null | undefined): { left?: number; left_because?: string } {
  return (left ?? 0) > 0 ? { left: left ?? 0, left_because: 'changed or gone since the human was asked' } : {};
}

/**
 * Deletes documents named one by one, as they were when the human was asked; undefined if they could not be selected. Each
 * of the `_id` counts once, however often it is named.
 */
export async function deleteNamed(
  { client, signal }: ToolContext,
  { workspace, collection, data }: Arguments,
  { selection, existing }: Blast,
): Promise<Fenced | undefined> {
  if (selection === undefined || existing === undefined || !Array.isArray(data)) return undefined;
  const target = { workspace: String(workspace), collection: String(collection), selection };
  const answer = await client.deleteSelected(target, { signal, timeoutMs: DELETE_TIMEOUT_MS, tellTrash: true });
  const { deleted, left, stopped, ...more } = answer;
  const named = new Set(data.map((one: unknown) => String((one as { _id?: unknown } | null)?._id)));
  const status = (_id: string) => ({ _id, status: 'DELETED' });
  const shown = presentWrites({ data: [...named].map(status) }, { existing });
  const counts = { ...(shown.data['counts'] as object), DELETED: deleted ?? 0 };
  const { ids, last_offset: _, ...rest } = shown.data;
  const isWhole = deleted === existing.size;
  return {
    ...shown,
    data: {
      ...rest,
      counts,
      // Which of them stay is not known.
      ...(isWhole ? { ids } : {}),
      ...leftOf(left),
      ...(stopped == null ? {} : { stopped }),
      ...('trash' in more ? { trash: more['trash'] } : {}),
    },
    next: stopped == null ? shown.next : STOPPED,
  };
}

/** A service of another maker has no such endpoint. */
async function orUnknown<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isUnknownEndpoint(error)) throw error;
    const most = DOCUMENTS_MAX.toLocaleString('en-US');
    throw new ApiError(
      'not_found',
      `This service cannot delete by a condition: find the _id with run_query, and use delete_documents with at most ${most} at a time.`,
      { isHinted: true, cause: error },
    );
  }
}

/** Deletes the documents for which a condition holds. */
export function deleteWhereTool(): Tool {
  const { params, body } = selections.selectDocuments;
  return handTool<WhereInput>({
    name: 'delete_documents_where',
    effect: 'delete',
    role: 'member',
    toolset: 'documents',
    title: 'Delete documents by a condition',
    description:
      'Delete all documents of a collection for which a condition holds, at most 1,000,000. A human is asked first.',
    shape: { ...params.shape, where: body.shape.where.unwrap() },
    output: DONE_OUTPUT,
    blast: blastOf,
    run: deleteWhere,
    nearest: ({ client, signal }, input, error) => nearestNames(client, contract.deleteDocuments, input, error, signal),
  });
}
