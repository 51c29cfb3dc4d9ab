import * as z from 'zod';
import { AnyObject, resource, Timestamp } from './fields.ts';
import { Integration } from './integrations.ts';
import type { Contract } from './row.ts';
import { secret } from './secret.ts';
import { Source } from './sources.ts';

/** An item of a source that is no document. */
const RefusedItem = resource({
  at: Timestamp,
  item: z.string(),
  reason: z.string(),
  text: z.string().describe('As much of it as is kept'),
});

export const SourceReport = resource({
  source: Source,
  refused: z.array(RefusedItem).describe('The last hundred, newest first'),
});
export type SourceReport = z.infer<typeof SourceReport>;

const params = z.object({
  workspace: z.string().min(1),
  collection: z.string().min(1),
  source: z.string().regex(/^\d{1,3}$/, 'a source is its place in "sources", from 0'),
});
const path = '/v1/colloquy/ws/{workspace}/collections/{collection}/sources/{source}';

/** What changes whether, and from where, a source is read. */
const CONTROL = {
  method: 'POST',
  effect: 'update',
  role: 'admin',
  params,
  body: z.object({}),
  result: SourceReport,
} as const;

/** The sources of collections, while they are read. */
export const sourceControl = {
  getSource: {
    method: 'GET',
    path,
    title: 'Get a source',
    summary: 'How far a source of a collection is, and the items that are no documents.',
    effect: 'read',
    role: 'read-only',
    params,
    result: SourceReport,
  },
  pauseSource: {
    ...CONTROL,
    path: `${path}/pause`,
    title: 'Pause a source',
    summary: 'Stop reading a source; what is read stays.',
  },
  resumeSource: {
    ...CONTROL,
    path: `${path}/resume`,
    title: 'Resume a source',
    summary: 'Go on reading a source where it was, also after an error that stopped it.',
  },
  restartSource: {
    ...CONTROL,
    path: `${path}/restart`,
    title: 'Read a source anew',
    summary:
      'Read a source from the beginning: documents are replaced by what is there now. Those that are gone there stay, unless deleted before.',
  },
  updateIntegration: {
    method: 'POST',
    path: '/v1/colloquy/integrations/{integration}/connection',
    title: 'Change the connection of an integration',
    summary: 'Store other connection details, such as a new key; its sources go on with them.',
    effect: 'update',
    role: 'admin',
    params: z.object({ integration: z.string().min(1) }),
    body: z.object({
      connection: secret(AnyObject.describe('All fields of its kind, as for a new one')),
    }),
    result: Integration,
  },
} as const satisfies Contract;
