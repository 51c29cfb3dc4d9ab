import { describe, expect, it } from 'vitest';
import { type Noun, nouns } from '../../src/contract/contract.ts';
import type { Contract } from '../../src/contract/row.ts';
import type { Means } from '../../src/mcp/means.ts';
import { hiddenTools, type Offer, offeredTools } from '../../src/mcp/offer.ts';
import { toolName } from '../../src/mcp/tools/catalog.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import {
  chosenToolsets,
  type PROFILE_NAMES,
  readToolsets,
  TOOLSET_OF_NOUN,
  TOOLSETS,
} from '../../src/mcp/tools/toolsets.ts';

/** The means of a process that offers everything that any tool needs. */
const means = Object.fromEntries(
  [...tools().values()].flatMap(({ needs }) => (needs === undefined ? [] : [[needs.means, () => undefined]])),
) as unknown as Means;
const names = (offer: Offer) => [...offeredTools({ means, ...offer }).keys()];

function toolsets(text: string): Offer {
  const read = readToolsets(text);
  if ('problem' in read) throw new Error(read.problem);
  return { toolsets: read.choices };
}

describe('toolsets', () => {
  it('hold each tool of the contract once, by its noun', () => {
    for (const [noun, rows] of Object.entries(nouns as Record<Noun, Contract>) as [Noun, Contract][]) {
      const mine = names(toolsets(TOOLSET_OF_NOUN[noun]));
      for (const operation of Object.keys(rows)) expect(mine).toContain(toolName(operation));
    }
    expect(TOOLSETS.flatMap((toolset) => names(toolsets(toolset))).sort()).toEqual([...tools().keys()].sort());
  });

  it('keep the order of the list, however they are named', () => {
    const all = [...tools().keys()];
    const some = names(toolsets('workspaces,documents,query'));
    expect(some).toEqual(all.filter((name) => some.includes(name)));
  });

  it('with :read give what reads, and no less where the whole is named too', () => {
    for (const name of names(toolsets('lambdas:read'))) expect(tools().get(name)?.effect).toBe('read');
    expect(names(toolsets('lambdas:read'))).toContain('execute_lambda_tag');
    expect(names(toolsets('lambdas:read,lambdas'))).toEqual(names(toolsets('lambdas')));
  });
});

describe('profiles', () => {
  const profile = (name: (typeof PROFILE_NAMES)[number]) => names({ toolsets: chosenToolsets(name, undefined) });

  it('explore reads only, and has what a query needs', () => {
    for (const name of profile('explore')) expect(tools().get(name)?.effect).toBe('read');
    expect(profile('explore')).toEqual(
      expect.arrayContaining(['run_query', 'describe_collection', 'list_workspaces', 'list_workspace_collections']),
    );
    expect(profile('explore')).not.toContain('list_users');
  });

  it('author has what explore has, and writes lambdas, tags and aliases alone', () => {
    expect(profile('author')).toEqual(expect.arrayContaining(profile('explore')));
    const changing = profile('author').filter((name) => tools().get(name)?.effect !== 'read');
    expect(changing).toEqual(expect.arrayContaining(['create_lambda', 'tag_lambda_version', 'update_alias']));
    for (const name of changing) expect(name).toMatch(/lambda|alias/);
  });

  it('admin has all', () => {
    expect(profile('admin')).toEqual([...tools().keys()]);
    expect(names({ toolsets: chosenToolsets(undefined, undefined) })).toEqual([...tools().keys()]);
  });

  it('are added to by toolsets', () => {
    const both = names({ toolsets: chosenToolsets('explore', toolsets('documents').toolsets) });
    expect(both).toEqual(expect.arrayContaining([...profile('explore'), 'add_documents']));
  });
});

describe('read-only', () => {
  it('leaves exactly the tools that read', () => {
    const reading = [...tools().values()].filter(({ effect }) => effect === 'read').map(({ listing }) => listing.name);
    expect(names({ readOnly: true })).toEqual(reading);
    for (const { annotations } of [...offeredTools({ readOnly: true }).values()].map(({ listing }) => listing)) {
      expect(annotations.readOnlyHint).toBe(true);
    }
  });
});

describe('roles', () => {
  it.each([
    [['read-only'], false, false],
    [['member'], true, false],
    [['read-only', 'member'], true, false],
    [['admin'], true, true],
    [['owner'], true, true],
    [[], true, true],
    [undefined, true, true],
  ])('%j: writes %s, administers %s', (roles, writes, administers) => {
    const offered = names({ roles });
    expect(offered.includes('add_documents')).toBe(writes);
    expect(offered.includes('create_user')).toBe(administers);
    expect(offered).toContain('run_query');
  });
});

describe('means', () => {
  it('that a tool needs but the process lacks hide the tool, with its own reason and remedy', () => {
    const needing = [...tools().values()].filter(({ needs }) => needs !== undefined);
    expect(needing.length).toBeGreaterThan(0);
    const hidden = hiddenTools({});
    for (const { listing, needs } of needing) {
      expect(hidden).toContainEqual({
        tool: listing.name,
        by: 'settings',
        why: needs?.absent,
        remedy: needs?.remedy,
      });
    }
    expect(hidden).toHaveLength(needing.length);
  });
});

describe('hiddenTools()', () => {
  it('names every tool that is not offered, with one reason', () => {
    const offer: Offer = { ...toolsets('query,collections,users'), readOnly: true, roles: ['read-only'] };
    const hidden = hiddenTools({ means, ...offer });
    expect([...hidden.map(({ tool }) => tool), ...names(offer)].sort()).toEqual([...tools().keys()].sort());
    const reasonOf = (name: string) => hidden.find(({ tool }) => tool === name);
    expect(reasonOf('create_collection')).toMatchObject({ by: 'settings', why: 'the server is set to read only' });
    expect(reasonOf('list_aliases')).toMatchObject({ by: 'settings', why: 'toolset "aliases" is not chosen' });
  });

  it('says of a role which is needed and which there is', () => {
    const hidden = hiddenTools({ means, roles: ['member'] });
    expect(hidden.find(({ tool }) => tool === 'create_user')).toEqual({
      tool: 'create_user',
      by: 'role',
      why: 'it needs the role admin, and the API key has member',
    });
  });

  it('has nothing to say where all is offered', () => {
    expect(hiddenTools({ means })).toEqual([]);
  });
});
