import * as z from 'zod';
import { CollectionParam, Json, resource, WorkspaceParam } from './fields.ts';
import { isObject } from './json/json.ts';
import { ITEM_BYTES_MAX } from './json/json-scan.ts';
import type { Contract } from './row.ts';

/** Most documents in one write. */
export const DOCUMENTS_MAX = 20_000;
/** Largest body of a write, in bytes (10 MiB). */
export const WRITE_BYTES_MAX = ITEM_BYTES_MAX;

export const PATCH_OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test', 'increment'] as const;

/** One JSON Patch operation (RFC 6902, plus `increment`); the letter case of `op` does not matter. */
export const PatchOperation = z.object({
  op: z.string().describe('add, remove, replace, move, copy, test or increment'),
  path: z.string().describe('JSON pointer, e.g. /address/city'),
  from: z.string().optional().describe('Source pointer of move and copy'),
  value: Json.optional().describe('Value of add, replace, test and increment'),
});
export type PatchOperation = z.infer<typeof PatchOperation>;

/** The outcome for one document of a write. */
export const DocumentStatus = resource({
  _collection: z.string().describe('workspace.collection'),
  _id: z.string(),
  status: z.string().describe('ADDED, REPLACED, DELETED (or left out by field_mapping_query), PATCHED or ERROR'),
  error: z
    .union([resource({ message: z.string(), type: z.string() }), z.string()])
    .describe('Why, as `message`, when the status is ERROR'),
  patch_id: z.string().describe('Set by patches only'),
});
export type DocumentStatus = z.infer<typeof DocumentStatus>;

/** Why a document was refused. Services answer with an object, as clients expect it, or with the text alone. */
export function refusalOf(error: unknown): string {
  const message = isObject(error) ? error['message'] : error;
  return typeof message === 'string' ? message : JSON.stringify(error ?? 'no reason was given');
}

/** The answer of a write: `data` in request order, and an opaque offset that grows with each write. */
export const WriteResult = resource({
  data: z.array(DocumentStatus),
  last_offset: z.string(),
  warnings: z.array(z.string()).describe('What it means for the collection; absent where there is nothing to say'),
});
export type WriteResult = z.infer<typeof WriteResult>;

const path = '/v1/orgs/self/ws/{workspace}/collections/{collection}/docs';
const params = z.object({ workspace: WorkspaceParam, collection: CollectionParam });

// `{data: [...], last_offset}` is the result itself, not the usual envelope, so these rows are `bare`.
export const documents = {
  addDocuments: {
    number: 3,
    method: 'POST',
    path,
    title: 'Add documents',
    summary: 'Add JSON documents to a collection. One whose _id exists replaces that whole; without _id one is made.',
    effect: 'update',
    role: 'member',
    params,
    body: z.object({ data: z.array(Json).describe(`At most ${DOCUMENTS_MAX}`) }),
    result: WriteResult,
    isBare: true,
  },
  deleteDocuments: {
    number: 4,
    method: 'DELETE',
    path,
    title: 'Delete documents',
    summary: 'Delete documents of a collection by _id.',
    effect: 'delete',
    role: 'member',
    trash: true,
    params,
    body: z.object({
      data: z.array(z.object({ _id: z.string() })),
    }),
    result: WriteResult,
    isBare: true,
  },
  patchDocuments: {
    number: 5,
    method: 'PATCH',
    path,
    title: 'Patch documents',
    summary: 'Change parts of documents with JSON Patch (and op increment), each document whole or not at all.',
    effect: 'update',
    role: 'member',
    params,
    body: z.object({
      data: z.array(z.object({ _id: z.string(), patch: z.array(PatchOperation).describe('Operations, in order') })),
    }),
    result: WriteResult,
    isBare: true,
  },
} as const satisfies Contract;
