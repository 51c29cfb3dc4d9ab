import * as z from 'zod';
import type { sourceControl } from '../../contract/source-control.ts';
import { presentObject } from '../results.ts';
import { handTool } from './hand-tool.ts';
import type { Tool } from './tool.ts';

/** What may be done to a source, and what of the contract does it. */
const ACTIONS = {
  show: 'getSource',
  pause: 'pauseSource',
  resume: 'resumeSource',
  restart: 'restartSource',
} as const satisfies Record<string, keyof typeof sourceControl>;
type Action = keyof typeof ACTIONS;

interface Input {
  workspace: string;
  collection: string;
  action: Action;
  source?: number;
}

/** To see why a source stands still, and to let it go on. */
export function controlSourceTool(): Tool {
  return handTool<Input>({
    name: 'control_source',
    effect: 'update',
    role: 'admin',
    toolset: 'integrations',
    title: 'Control a source',
    description: 'Show (with refused items), pause or resume a source of a collection, or restart its initial read.',
    shape: {
      workspace: z.string().min(1),
      collection: z.string().min(1),
      action: z.enum(['show', 'pause', 'resume', 'restart']),
      source: z.int().min(0).optional().describe('Place in sources, default 0'),
    },
    output: { source: { type: 'object' } },
    run: async ({ client, signal }, { action, source = 0, ...target }) => {
      const input = { ...target, source: String(source) };
      return presentObject(await client[ACTIONS[action]](input, { signal }));
    },
    next: ({ code }) => (code === 'not_found' ? 'get_collection shows its sources.' : undefined),
  });
}
