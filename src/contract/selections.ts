import * as z from 'zod';
import { DOCUMENTS_MAX } from './documents.ts';
import { CollectionParam, resource, Timestamp, WorkspaceParam } from './fields.ts';
import type { Contract } from './row.ts';

/** Most documents that a condition may select, and its longest text: a human reads it whole. */
export const SELECTED_MAX = 1_000_000;
const CONDITION_CHARS_MAX = 2_000;
/** How long a selection waits to be deleted: a human's time to answer, and the asker's to come back. */
export const SELECTION_TTL_MS = 20 * 60 * 1_000;

/** The documents of a collection for which a condition holds, or that are named, as of one moment. */
export const Selection = resource({
  selection: z.string().describe('Id; null: there are no such documents, and nothing is kept'),
  documents: z.number(),
  collection_documents: z.number().describe('All that the collection has'),
  examples: z.array(z.string()).describe('The first of them, as JSON, cut'),
  selected_at: Timestamp,
  expires_at: Timestamp,
  warnings: z.array(z.string()).describe('As of a query'),
  ids: z.array(z.string()).describe('Of those that were named, which are there; null for a condition'),
});
export type Selection = z.infer<typeof Selection>;

export const DeletedSelection = resource({
  deleted: z.number(),
  left: z.number().describe('Selected, but changed or gone since: nothing was done to these'),
  stopped: z.string().describe('Why not all were looked at; null: all were'),
});
export type DeletedSelection = z.infer<typeof DeletedSelection>;

const path = '/v1/colloquy/ws/{workspace}/collections/{collection}/selections';
const params = z.object({ workspace: WorkspaceParam, collection: CollectionParam });

/**
 * To delete by a condition: what it means is settled first, so that a human can be told, and then exactly that is deleted.
 * Selections are kept in memory, for the API key that made them.
 */
export const selections = {
  selectDocuments: {
    method: 'POST',
    path,
    title: 'Select documents by a condition',
    summary:
      'Keep the _id of all documents for which a condition holds now, or of named ones, to delete these as they are.',
    effect: 'read',
    role: 'member',
    params,
    body: z.object({
      where: z
        .string()
        .trim()
        .min(1)
        .max(CONDITION_CHARS_MAX)
        .describe('SQL condition over the fields, as after WHERE')
        .optional(),
      ids: z.array(z.string()).min(1).max(DOCUMENTS_MAX).optional().describe('Instead of a condition: these documents'),
      shown: z
        .string()
        .min(1)
        .max(128)
        .nullish()
        .describe(
          'What a human was shown of this condition, to have it again: the id of a selection, or the binding of a question of this key that is open. If it is gone, a new one is made',
        ),
    }),
    result: Selection,
  },
  deleteSelected: {
    method: 'DELETE',
    path: `${path}/{selection}`,
    title: 'Delete selected documents',
    summary: 'Delete the documents of a selection that are as they were selected. A selection can be used once.',
    effect: 'delete',
    role: 'member',
    trash: true,
    params: params.extend({ selection: z.string().min(1) }),
    result: DeletedSelection,
  },
} as const satisfies Contract;
