import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import type { Means } from '../../src/mcp/means.ts';
import { type Offer, offeredTools } from '../../src/mcp/offer.ts';
import { rowTools } from '../../src/mcp/tools/catalog.ts';
import { tools } from '../../src/mcp/tools/tools.ts';
import { chosenToolsets, PROFILE_NAMES, TOOLSETS } from '../../src/mcp/tools/toolsets.ts';

/** The list of tools costs every conversation tokens. */
const TOKENS_MAX = { all: 11_000, explore: 2_200 };
/** Of names, descriptions and input schemas, which is what most clients hand to a model. */
const HANDED_MAX = { all: 6_000, explore: 1_200 };
const TOOL_TOKENS_MAX = 400;

const GOLDEN = join(import.meta.dirname, 'golden');
const isUpdating = process.env['UPDATE_GOLDEN'] === '1';

const listings = [...tools().values()].map(({ listing }) => listing);
/** The means of a process that offers everything that any tool needs. */
const means = Object.fromEntries(
  [...tools().values()].flatMap(({ needs }) => (needs === undefined ? [] : [[needs.means, () => undefined]])),
) as unknown as Means;
const offered = (offer: Offer) => offeredTools({ means, ...offer }).keys();
const tokensOf = (name: string) => countTokens(JSON.stringify(tools().get(name)?.listing));
const handedOf = (names: Iterable<string>) =>
  countTokens(
    JSON.stringify(
      [...names].map((one) => {
        const { name, description, inputSchema } = tools().get(one)?.listing ?? {};
        return { name, description, inputSchema };
      }),
    ),
  );
const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + tokensOf(name), 0);

describe('the tokens of the tool list', () => {
  it('stay within the budget for all, and for a profile to explore', () => {
    const groups: [string, Iterable<string>][] = [
      ['all tools', tools().keys()],
      ['endpoints', rowTools().keys()],
      ['read only', offered({ readOnly: true })],
      ...PROFILE_NAMES.map((name): [string, Iterable<string>] => [
        `profile ${name}`,
        offered({ toolsets: chosenToolsets(name, undefined) }),
      ]),
      ...TOOLSETS.map((toolset): [string, Iterable<string>] => [
        `toolset ${toolset}`,
        offered({ toolsets: [{ toolset, readOnly: false }] }),
      ]),
    ];
    const lines = groups.map(([name, members]) => {
      const all = [...members];
      return `${name.padEnd(26)} ${String(all.length).padStart(3)} tools ${String(sum(all)).padStart(6)} tokens`;
    });
    process.stdout.write(`\n${lines.join('\n')}\n\n`);
    expect(rowTools().size).toBe(62);
    expect(sum(tools().keys())).toBeLessThanOrEqual(TOKENS_MAX.all);
    const explore = [...offered({ toolsets: chosenToolsets('explore', undefined) })];
    expect(sum(explore)).toBeLessThanOrEqual(TOKENS_MAX.explore);
    expect(handedOf(tools().keys())).toBeLessThanOrEqual(HANDED_MAX.all);
    expect(handedOf(explore)).toBeLessThanOrEqual(HANDED_MAX.explore);
  });

  it.each(listings)('$name stays within the budget for one', ({ name }) => {
    expect(tokensOf(name)).toBeLessThanOrEqual(TOOL_TOKENS_MAX);
  });
});

describe.each(listings)('the listing of $name', (listing) => {
  const { name, title, description, annotations } = listing;

  it('has a name, a title, a description and all four annotations', () => {
    expect(title.length).toBeGreaterThan(3);
    expect(description.length).toBeGreaterThan(10);
    expect(Object.keys(annotations).sort()).toEqual([
      'destructiveHint',
      'idempotentHint',
      'openWorldHint',
      'readOnlyHint',
    ]);
    for (const value of Object.values(annotations)) expect(typeof value).toBe('boolean');
    expect(annotations.readOnlyHint && annotations.destructiveHint).toBe(false);
  });

  it('points to resources that exist', async () => {
    const { DOCS } = await import('../../src/mcp/docs/docs.ts');
    for (const [, topic] of JSON.stringify(listing).matchAll(/colloquy:\/\/docs\/([\w-]+)/g)) {
      expect(Object.keys(DOCS)).toContain(topic);
    }
  });

  it('is as its golden file has it (UPDATE_GOLDEN=1 rewrites them)', () => {
    const file = join(GOLDEN, `${name}.json`);
    if (isUpdating) writeFileSync(file, `${JSON.stringify(listing, null, 2)}\n`);
    expect(listing).toEqual(JSON.parse(readFileSync(file, 'utf8')));
  });
});

describe('the golden files', () => {
  it('are no more than there are tools', () => {
    const known = listings.map(({ name }) => `${name}.json`);
    const strays = readdirSync(GOLDEN).filter((file) => !known.includes(file));
    if (isUpdating) for (const file of strays) rmSync(join(GOLDEN, file));
    else expect(strays).toEqual([]);
  });
});

describe.each([...tools().values()])('$listing.name', (tool) => {
  const names = Object.keys(tool.listing.inputSchema.properties ?? {});

  it('refuses an argument that it does not know, with the ones that it does', () => {
    expect(() => tool.read({ utterly_unknown: 1 })).toThrow(/there is no argument "utterly_unknown"; it takes /);
  });

  it('asks of a misspelled argument whether another was meant', () => {
    for (const name of names) {
      const misspelled = `${name.slice(0, 1)}${name}`;
      expect(() => tool.read({ [misspelled]: 'x' })).toThrow(
        new RegExp(`there is no argument "${misspelled}"; did you mean (".*", )?"${name}"`),
      );
    }
  });
});
