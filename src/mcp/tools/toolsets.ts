import type { Noun } from '../../contract/contract.ts';
import { nearest } from '../../contract/nearest.ts';

/**
 * Groups of tools that an operator can choose from at start. Of the contract this module takes types alone: it is read
 * together with the command line, before anything else.
 */

/** The toolset that the tools of each noun belong to. */
export const TOOLSET_OF_NOUN = {
  queries: 'query',
  documents: 'documents',
  collections: 'collections',
  workspaces: 'workspaces',
  aliases: 'aliases',
  lambdas: 'lambdas',
  users: 'users',
  apiKeys: 'api-keys',
  allowlist: 'allowlist',
  integrations: 'integrations',
  organization: 'organization',
  virtualInstances: 'virtual-instances',
} as const satisfies Record<Noun, string>;

export type Toolset = (typeof TOOLSET_OF_NOUN)[Noun];
export const TOOLSETS: readonly Toolset[] = Object.values(TOOLSET_OF_NOUN);

/** A toolset whole, or of it only the tools that read. */
export interface Choice {
  toolset: Toolset;
  readOnly: boolean;
}

const READ = ':read';

/** Names for combinations of toolsets, by what somebody comes to do. */
export const PROFILES = {
  explore: ['query', 'collections:read', 'workspaces:read'],
  author: ['query', 'collections:read', 'workspaces:read', 'lambdas', 'aliases'],
  admin: TOOLSETS,
} as const satisfies Record<string, readonly (Toolset | `${Toolset}${typeof READ}`)[]>;
export type Profile = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as Profile[];

/**
 * The toolsets that a text names: names separated by commas, each as it is or with `:read` behind it for the tools of it
 * that read. A wrong name comes back as `problem`, with what may have been meant.
 */
export function readToolsets(text: string): { choices: Choice[] } | { problem: string } {
  const choices: Choice[] = [];
  for (const name of text.split(/[,\s]+/).filter((part) => part !== '')) {
    const readOnly = name.endsWith(READ);
    const wanted = readOnly ? name.slice(0, -READ.length) : name;
    const toolset = TOOLSETS.find((known) => known === wanted);
    if (toolset === undefined) return { problem: unknownToolset(wanted) };
    choices.push({ toolset, readOnly });
  }
  return choices.length === 0 ? { problem: `expected toolsets: ${TOOLSETS.join(', ')}` } : { choices };
}

function unknownToolset(name: string): string {
  const shown = JSON.stringify(name.slice(0, 100));
  const [meant] = nearest(name, TOOLSETS, 1);
  if (meant !== undefined) return `there is no toolset ${shown} (did you mean "${meant}"?)`;
  const hint = name in PROFILES ? 'that is a profile' : `the toolsets are ${TOOLSETS.join(', ')}`;
  return `there is no toolset ${shown}; ${hint}`;
}

/** The toolsets of a profile together with others; undefined where neither is given, which means all. */
export function chosenToolsets(
  profile: Profile | undefined,
  toolsets: readonly Choice[] | undefined,
): readonly Choice[] | undefined {
  if (profile === undefined) return toolsets;
  const named = readToolsets(PROFILES[profile].join(','));
  return 'choices' in named ? [...named.choices, ...(toolsets ?? [])] : toolsets;
}
