import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ResourceKind } from './resources/resource-kinds.ts';

/**
 * The view in which hosts with MCP Apps (SEP-1865, 2026-01-26) show a result: `src/view`, built into one file. Hosts
 * find it through the tools that name it, so it can be read but is not listed: other hosts see no extra resource.
 */

const URI = 'ui://colloquy/result.html';
const MIME = 'text/html;profile=mcp-app';
const HOUR_MS = 3_600_000;

/** The extension to declare, for hosts that understand `_meta.ui`. */
export const VIEW_EXTENSION = 'io.modelcontextprotocol/ui';

/** Names the view of a tool's answer; hosts from before the final specification look for the second key. */
export const RESULT_VIEW_META = { ui: { resourceUri: URI }, 'ui/resourceUri': URI };

/** The view reaches no network at all; it has no border of its own, so the host should draw one. */
const UI_META = { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true };

export const RESULT_VIEW_RESOURCE: ResourceKind = {
  uriTemplate: URI,
  name: 'result_view',
  title: 'View of a result',
  description: 'Table and chart of a result, for hosts that show views',
  mimeType: MIME,
  cache: { ttlMs: HOUR_MS, cacheScope: 'public' },
  read: async () => ({ mimeType: MIME, text: await readFile(builtView(), 'utf8'), _meta: { ui: UI_META } }),
  complete: {},
};

/** The built file: next to the chunk that contains this code, or in `dist` when run from the sources. */
function builtView(): URL {
  const places = ['../view/result.html', './view/result.html', '../../dist/view/result.html'];
  const found = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));
  if (found === undefined) throw new Error('The view of a result is missing: run `npm run build` first.');
  return found;
}
