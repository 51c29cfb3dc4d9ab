import { rm } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/**
 * Replaces `src/mcp/tools/tool-cards.ts` by its result, as JSON. `folder`: for temporary files; `options`: those of
 * esbuild, as for the bundle itself.
 */
export function computedToolCards(folder, options) {
  return {
    name: 'computed-tool-cards',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]mcp[\\/]tools[\\/]tool-cards\.ts$/ }, async ({ path }) => {
        const outfile = `${folder}/tool-cards.mjs`;
        await build({ ...options, entryPoints: [path], bundle: true, format: 'esm', outfile });
        try {
          const { toolCards } = await import(pathToFileURL(outfile).href);
          const cards = Array.from(toolCards().values(), ({ listing, effect, role, toolset, needs }) => {
            return { listing, effect, role, toolset, needs };
          });
          return { contents: moduleOf(cards), loader: 'js' };
        } finally {
          await rm(outfile, { force: true });
        }
      });
    },
  };
}

// Parsing JSON from a string is faster than evaluating the same as an expression.
function moduleOf(cards) {
  return `
    let cards;
    export function toolCards() {
      cards ??= new Map(JSON.parse(${JSON.stringify(JSON.stringify(cards))}).map((card) => [card.listing.name, card]));
      return cards;
    }`;
}
