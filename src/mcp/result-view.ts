import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ResourceKind } from './resources/resource-kinds.ts';

/**
 * The view that a host with MCP Apps (SEP-1865, 2026-01-26) shows a result in: `src/view`, built into one file. Hosts
 * find it by the tools that name it, so it is read and not listed: where a host has no views, no list has one more entry.
 */

const URI = 'ui://colloquy/result.html';
const MIME = 'text/html;profile=mcp-app';
const HOUR_MS = 3_600_000;

/** The extension that a server declares, whose hosts understand what stands in `_meta.ui`. */
export const VIEW_EXTENSION = 'io.modelcontextprotocol/ui';

/** What a tool says of the view of its answer; hosts of before the specification was final look for the second key. */
export const RESULT_VIEW_META = { ui: { resourceUri: URI }, 'ui/resourceUri': URI };

/** It reaches no network at all, and has no border of its own. */
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

/** The built file: beside the chunk that this code is in, or in `dist` when it runs from the sources. */
function builtView(): URL {
  const places = ['../view/result.html', './view/result.html', '../../dist/view/result.html'];
  const found = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));
  if (found === undefined) throw new Error('The view of a result is missing: run `npm run build` first.');
  return found;
}
