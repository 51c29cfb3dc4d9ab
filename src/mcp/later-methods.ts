import type { HandlerResultTypeMap, ServerContext } from '@modelcontextprotocol/server';

/** Requests that come after the initial lists, if at all: their code is loaded only then. */
export const LATER = [
  'tools/call',
  'resources/templates/list',
  'resources/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
] as const;
type Later = (typeof LATER)[number];
/** Answers a method; the request was already checked by the server that received it. */
export type LaterHandler = (request: object, ctx: ServerContext) => Promise<HandlerResultTypeMap[Later]>;
