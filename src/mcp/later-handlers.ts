import type { Server } from '@modelcontextprotocol/server';
import type { Assistant } from './assistant.ts';
import { registerCompletion } from './completion.ts';
import type { LaterHandler } from './later-methods.ts';
import { registerPrompts } from './prompts.ts';
import { loadDocs } from './resources/docs-resources.ts';
import { registerResources } from './resources/resources.ts';
import { registerToolCalls } from './tools/tool-calls.ts';

/** The handlers of the methods that `server.ts` loads later, by method. */
export function laterHandlers(
  assistant: Assistant,
  connection: { server: Server; era: 'legacy' | 'modern' },
): ReadonlyMap<string, LaterHandler> {
  const handlers = new Map<string, LaterHandler>();
  const on: Pick<Server, 'setRequestHandler'> = {
    setRequestHandler: (method: string, handler: unknown) => void handlers.set(method, handler as LaterHandler),
  };
  registerToolCalls(on, assistant, connection);
  registerResources(on, assistant);
  registerPrompts(on, assistant);
  registerCompletion(on, assistant);
  return handlers;
}

/** Loads what these handlers would load at their first use. */
export async function loadFurther(): Promise<void> {
  await loadDocs();
}
