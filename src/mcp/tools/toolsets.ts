import type { Noun } from '../../contract/contract.ts';
import { nearest } from '../../contract/nearest.ts';

/**
 * Groups of tools that an operator can choose at start. This module imports only types from the contract, because it is
 * loaded with the command line, before anything else.
 */

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

/** Of this service's own: `files`, to load them; `trash`, to see what was done, and to undo it. */
export type Toolset = (typeof TOOLSET_OF_NOUN)[Noun] | 'files' | 'trash';
export const TOOLSETS: readonly Toolset[] = [...Object.values(TOOLSET_OF_NOUN), 'files', 'trash'];

/** A whole toolset, or only those of its tools that read. */
export interface Choice {
  toolset: Toolset;
  readOnly: boolean;
}

const READ = ':read';

/** Named combinations of toolsets, by what a user wants to do. */
const PROFILES = {
  explore: ['query', 'collections:read', 'workspaces:read'],
  author: ['query', 'collections:read', 'workspaces:read', 'lambdas', 'aliases'],
  admin: TOOLSETS,
} as const satisfies Record<string, readonly (Toolset | `${Toolset}${typeof READ}`)[]>;
export type Profile = keyof typeof PROFILES;
export const PROFILE_NAMES = Object.keys(PROFILES) as Profile[];

/**
 * Parses a list of toolsets: names separated by commas, each optionally followed by `:read` for only its tools that
 * read. A wrong name is returned as `problem`, with similar names.
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

/** The toolsets of a profile and of a list together; undefined, which means all, if neither is given. */
export function chosenToolsets(
  profile: Profile | undefined,
  toolsets: readonly Choice[] | undefined,
): readonly Choice[] | undefined {
  if (profile === undefined) return toolsets;
  const named = readToolsets(PROFILES[profile].join(','));
  return 'choices' in named ? [...named.choices, ...(toolsets ?? [])] : toolsets;
}
