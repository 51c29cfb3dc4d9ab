import * as z from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { nearest } from '../../contract/nearest.ts';
import { handTool } from '../tools/hand-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { type ResourceKind, uriOf } from './resource-kinds.ts';

/** Documentation that a model may want to look up, too long for the descriptions of tools. */

const TOPICS = {
  sql: 'SQL: dialect, nested fields, arrays, parameters, time, ten worked examples',
  functions: 'SQL functions and forms that people bring along from other services',
  lambdas: 'Query Lambdas: versions, tags, parameters, states',
  sources: 'Getting data in: direct writes, file formats, field mappings',
  integrations: 'Reading data where it lives: S3, Kafka, MongoDB, tables and more; what each kind needs',
  limits: 'Limits: names, sizes, time, rows, and how answers are cut',
  security: 'Security: what asks a human, what can be undone, keys, roles, secrets',
} as const;

type Topic = keyof typeof TOPICS;

export const DOC_TOPICS = Object.keys(TOPICS) as Topic[];

const URI = 'colloquy://docs/{topic}';
const MIME = 'text/markdown';
const HOUR_MS = 3_600_000;
const TOOL = 'get_docs';

/** Loaded when a text is asked for, or some time after the start, so that starting does not take longer. */
export const loadDocs = () => import('../docs/docs.ts');

/** The text of a topic; rejects `not_found`. */
async function docsText(topic: string): Promise<string> {
  const { DOCS } = await loadDocs();
  const text = Object.hasOwn(DOCS, topic) ? DOCS[topic as Topic] : undefined;
  if (text !== undefined) return text;
  const close = nearest(topic, DOC_TOPICS);
  const hint = close.length > 0 ? `Did you mean ${close.join(', ')}?` : `Topics are ${DOC_TOPICS.join(', ')}.`;
  throw new ApiError('not_found', `There is no documentation on "${topic}". ${hint}`);
}

export const DOCS_RESOURCE: ResourceKind = {
  uriTemplate: URI,
  name: 'docs',
  title: 'Documentation',
  description: `How this service works, by topic: ${DOC_TOPICS.join(', ')} (as tool: ${TOOL})`,
  mimeType: MIME,
  // The same for every caller, and unchanged while this server runs.
  cache: { ttlMs: HOUR_MS, cacheScope: 'public' },
  list: async () =>
    DOC_TOPICS.map((topic) => ({
      uri: uriOf(URI, { topic }),
      name: `docs.${topic}`,
      title: `Documentation: ${topic}`,
      description: TOPICS[topic],
      mimeType: MIME,
    })),
  read: async (_, { topic = '' }) => ({ mimeType: MIME, text: await docsText(topic) }),
  complete: { topic: async () => DOC_TOPICS },
};

/** The documentation as a tool, for clients that do not let a model read resources. */
export function docsTool(): Tool {
  const topic = z.enum(DOC_TOPICS as [Topic, ...Topic[]]);
  return handTool<{ topic: Topic }>({
    name: TOOL,
    effect: 'read',
    role: 'read-only',
    toolset: 'query',
    title: 'Read the documentation',
    description: 'Read how this service works, with examples.',
    shape: { topic },
    output: { topic: { type: 'string' }, text: { type: 'string' } },
    async run(_, { topic: name }) {
      const text = await docsText(name);
      return { data: { topic: name, text }, text, isOwn: true };
    },
  });
}
