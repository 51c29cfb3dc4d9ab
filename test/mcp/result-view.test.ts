import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolCards } from '../../src/mcp/tools/tool-cards.ts';
import { buildIfStale } from '../scenarios/binary.ts';
import { ERAS, openStage, type Stage } from './era-clients.ts';

const URI = 'ui://colloquy/result.html';
const VIEW_BYTES_MAX = 300_000;

let stage: Stage;

beforeAll(async () => {
  buildIfStale();
  stage = await openStage();
});
afterAll(() => stage.remove());

describe('the tools whose answers have a view', () => {
  it('are those that answer with rows of a result', () => {
    const withView = [...toolCards().values()].filter(({ listing }) => listing._meta !== undefined);
    expect(withView.map(({ listing }) => listing.name).sort()).toEqual([
      'execute_lambda_tag',
      'execute_lambda_version',
      'fetch_result',
      'run_query',
    ]);
    for (const { listing } of withView) {
      expect(listing._meta).toEqual({ ui: { resourceUri: URI }, 'ui/resourceUri': URI });
    }
  });
});

describe.each(ERAS)('the view of a result ($name)', ({ open }) => {
  it('is read as one file that reaches nothing, and is in no list', async () => {
    const client = await open(stage.assistant());
    const { contents } = await client.readResource({ uri: URI });
    expect(contents).toEqual([
      {
        uri: URI,
        mimeType: 'text/html;profile=mcp-app',
        text: expect.stringMatching(/^<!doctype html>/),
        _meta: { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } },
      },
    ]);
    const html = String(contents[0]?.text);
    expect(Buffer.byteLength(html)).toBeLessThan(VIEW_BYTES_MAX);
    expect(html).toContain("default-src 'none'; script-src 'sha256-");
    expect(html.match(/https?:\/\/[^"'`\s]+/g)).toEqual(['http://www.w3.org/2000/svg']);
    expect(html).not.toMatch(/<(script|link|img|iframe)[^>]+(src|href)=/i);
    const listed = [...(await client.listResources()).resources.map(({ uri }) => uri)];
    const templates = (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate);
    expect([...listed, ...templates].filter((uri) => uri.startsWith('ui:'))).toEqual([]);
    await client.close();
  });

  it('is an extension that the server declares', async () => {
    const client = await open(stage.assistant());
    const { getServerCapabilities } = client as unknown as { getServerCapabilities(): { extensions?: unknown } };
    expect(getServerCapabilities.call(client).extensions).toEqual({ 'io.modelcontextprotocol/ui': {} });
    await client.close();
  });
});
