import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secretMeans } from '../../src/cli/means.ts';
import { type JsonObject, parseJson } from '../../src/contract/json/json.ts';
import { type Client, createClient } from '../../src/http/client.ts';
import { callTool } from '../../src/mcp/call.ts';
import { lambdaTools } from '../../src/mcp/tools/lambda-tools.ts';
import { startTestService, type TestService } from '../service/harness.ts';
import { expectGenerated } from '../structure/parts.ts';
import { blocksOf, ROOT, readPage, shellCommands } from './pages.ts';

/** Pages whose examples build on one another. */
const TOLD = ['docs/sql.md', 'docs/lambdas.md', 'docs/administration.md', 'docs/coming-from.md'];
/** Needs a file of the reader's own. */
const NOT_RUN = ['load_file'];

/** A result as a Markdown table. */
function tableOf({ columns, rows }: { columns: string[]; rows: unknown[][] }): string {
  const cell = (value: unknown) =>
    (value === null ? 'NULL' : typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('|', '\\|');
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => row.map(cell))];
  return lines.map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** The table directly below a position of a page; empty if there is none. */
function tableAt(text: string, place: number): string {
  return /^\n\n((?:\|.*\n)+)/.exec(text.slice(place))?.[1]?.trimEnd() ?? '';
}

describe('the examples in docs/', () => {
  let service: TestService;
  let client: Client;
  let dataDir = '';
  let told = '';

  beforeAll(async () => {
    service = await startTestService();
    client = createClient({ target: { socketPath: service.socket }, apiKey: service.key });
    dataDir = mkdtempSync(join(tmpdir(), 'colloquy-docs-'));
  });
  afterAll(async () => {
    await client.close();
    await service.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** `<version>` or `<id>` in an example stands for the last one that an answer contained. */
  const filledIn = (text: string) =>
    text.replace(
      /<(version|id)>/g,
      (whole, name) => [...told.matchAll(new RegExp(`"${name}":"([^"]+)"`, 'g'))].at(-1)?.[1] ?? whole,
    );

  async function runCall(tool: string, json: string | undefined, env: Record<string, string>): Promise<void> {
    const { secretOf, keepSecret } = secretMeans({ dataDir, secretDir: undefined });
    const answer = await callTool({
      client,
      name: tool,
      args: parseJson(filledIn(json ?? '{}')) as JsonObject,
      confirm: async () => true,
      means: {
        keepSecret,
        secretOf: (reference) => env[reference.replace(/^env:/, '')] ?? secretOf(reference),
      },
    });
    expect(answer.isError, `${tool} ${json}: ${answer.text}`).toBe(false);
    told += JSON.stringify(answer.structured);
  }

  it.each(TOLD)('of %s do what the page says', async (page) => {
    const text = readPage(page);
    let made = '';
    let from = 0;
    for (const block of blocksOf(text)) {
      if (block.language === 'sh') {
        for (const { args, env } of shellCommands(block.text)) {
          const [command, tool = '', json] = args;
          if (command === 'call' && !NOT_RUN.includes(tool)) await runCall(tool, json, env);
        }
      }
      if (block.language !== 'sql') continue;
      const {
        structured,
        isError,
        text: answer,
      } = await callTool({
        client,
        name: 'run_query',
        args: { query: block.text },
        confirm: async () => false,
      });
      expect(isError, answer).toBe(false);
      const shown = tableAt(text, block.end);
      made += `${text.slice(from, block.end)}\n\n${tableOf(structured as never)}`;
      from = block.end + (shown === '' ? 0 : shown.length + 2);
    }
    made += text.slice(from);
    expectGenerated(resolve(ROOT, page), made, 'test/docs');
  });

  it('show the lambda of docs/lambdas.md as the tool that it becomes, with a call that runs it', async () => {
    const { tools } = await lambdaTools(client, 'production', new AbortController().signal);
    const tool = tools.get('shop_sales_by_city');
    const { name, description, inputSchema } = tool?.listing ?? {};
    const shown = blocksOf(readPage('docs/lambdas.md')).find(({ language }) => language === 'json');
    expect(JSON.parse(shown?.text ?? '')).toEqual({ name, description, inputSchema });
    const example = /`shop_sales_by_city (\{[^`]+\})`/.exec(readPage('src/mcp/docs/lambdas.md'))?.[1] ?? '';
    const context = { client, signal: undefined, progress: () => undefined, means: {} };
    const answer = await tool?.run(context, tool.read(JSON.parse(example)));
    expect(answer?.data).toMatchObject({ columns: ['city', 'total'], returned: expect.any(Number), truncated: false });
  });
});
