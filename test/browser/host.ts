import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { build } from 'esbuild';
import type { Browser, FrameLocator, Page } from 'playwright-core';
import { BINARY, buildIfStale, dataFolder } from '../scenarios/binary.ts';
import { serverEnvironment } from '../scenarios/session.ts';

export const VIEW_URI = 'ui://colloquy/result.html';

type Arguments = Record<string, unknown>;

/** The built server with its service, as a host uses it. */
export interface Server {
  client: Client;
  /** The view, as the server returns it. */
  html: string;
  call(name: string, args: Arguments): Promise<object>;
  close(): Promise<void>;
}

/** Starts the built program on an empty data folder. */
export async function openServer(): Promise<Server> {
  buildIfStale();
  const folder = await dataFolder();
  const client = new Client(
    { name: 'test-host', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  // Kept results are lost with the service, so it must not exit while a slow browser draws.
  const env = { ...serverEnvironment(folder.path), COLLOQUY_IDLE_SECS: '60' };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BINARY], env, stderr: 'inherit' }));
  const { contents } = await client.readResource({ uri: VIEW_URI });
  return {
    client,
    html: String((contents[0] as { text?: unknown }).text),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: async () => {
      await client.close();
      await folder.remove();
    },
  };
}

/** Adds the earthquakes of the demo to `commons`, as `earthquakes`. */
export async function addEarthquakes({ call }: Server): Promise<void> {
  const file = resolve(import.meta.dirname, '../../dist/demo/earthquakes.json.gz');
  const documents = JSON.parse(gunzipSync(readFileSync(file)).toString()) as Arguments[];
  await call('create_collection', { workspace: 'commons', name: 'earthquakes' });
  const answer = await call('add_documents', { workspace: 'commons', collection: 'earthquakes', data: documents });
  if ('isError' in answer && answer.isError === true) throw new Error(JSON.stringify(answer));
}

let hostScript: Promise<string> | undefined;

/** The script of the host's page, bundled once. */
function bundledHost(): Promise<string> {
  const entryPoints = [resolve(import.meta.dirname, 'host-page.js')];
  hostScript ??= build({
    entryPoints,
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    logLevel: 'warning',
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? '');
  return hostScript;
}

export interface Opening {
  html: string;
  args?: Arguments;
  /** A tool's answer; absent: none has arrived yet. */
  result?: object;
  context?: Arguments;
  /** Answers the view's tool calls; absent: the host allows none. */
  call?: ((name: string, args: Arguments) => Promise<object>) | undefined;
  width?: number;
  height?: number;
}

export interface View {
  page: Page;
  /** The content of the view's frame. */
  frame: FrameLocator;
  /** The view's tool calls, in order. */
  calls: { name: string; arguments: Arguments }[];
  /** Network requests, errors on the console, and exceptions. */
  faults: string[];
  close(): Promise<void>;
}

/** Shows the view in the page of a minimal host. */
export async function openView(browser: Browser, opening: Opening): Promise<View> {
  const { html, args, result, context = { theme: 'light' }, call, width = 820, height = 900 } = opening;
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: 1 });
  const faults: string[] = [];
  const calls: View['calls'] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.route('**', (route) => {
    faults.push(`asked for ${route.request().url()}`);
    return route.abort();
  });
  await page.exposeFunction('callTool', async (params: { name: string; arguments?: Arguments }) => {
    calls.push({ name: params.name, arguments: params.arguments ?? {} });
    return call?.(params.name, params.arguments ?? {});
  });
  const back = context['theme'] === 'dark' ? '#1c1c1b' : '#ffffff';
  await page.setContent(
    `<!doctype html><style>body{margin:0;background:${back}}iframe{border:0;width:100%;display:block;color-scheme:normal}</style><body></body>`,
  );
  await page.addScriptTag({ content: await bundledHost() });
  const sent = { html, args, result, context, canCall: call !== undefined };
  await page.evaluate(`openView(${JSON.stringify(sent)})`);
  return { page, frame: page.frameLocator('iframe'), calls, faults, close: () => page.close() };
}
