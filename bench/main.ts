import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Client } from '../src/http/client.ts';
import { benchQueries } from './analytic.ts';
import { loadSql, openBaseline } from './baseline.ts';
import { benchCrowds } from './crowds.ts';
import { benchDeletes } from './deletes.ts';
import { benchDocument, benchDocuments } from './documents.ts';
import { benchExports } from './exports.ts';
import { benchGrowth } from './growth.ts';
import { benchHostile } from './hostile.ts';
import { benchAbort, benchCold, benchLongAnswer, benchShort } from './limits.ts';
import { benchLoad } from './load.ts';
import { benchLoads } from './loads.ts';
import { startService, stopService } from './local-service.ts';
import { interleaved, median, ms, printHeading, printRow } from './measure.ts';
import { benchPeers } from './peers.ts';
import { benchFreshness, benchIngest, load } from './service.ts';
import { benchShortcuts } from './shortcuts.ts';
import { benchSmallWrites } from './small-writes.ts';
import { benchSpawn } from './spawn.ts';
import { benchMemory, benchWrites } from './writes.ts';

const INGEST_DOCUMENTS = 50_000;
const QUERY_DOCUMENTS = Number(process.env['BENCH_DOCUMENTS'] ?? 200_000);
const IDLE_MS = 60_000;
/** Sections that start the services they need. */
const OWN_SERVICE: ReadonlySet<string> = new Set(['a', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's']);

async function writeLines(file: string, count: number): Promise<void> {
  const out = createWriteStream(file);
  for (const document of benchDocuments(count)) {
    if (!out.write(`${JSON.stringify(document)}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}

/** (d) One query through the whole MCP server, compared with the HTTP core alone. */
async function benchMcp(bin: string, folder: string, client: Client, url: URL): Promise<void> {
  const env = { ...(process.env as Record<string, string>), COLLOQUY_DATA_DIR: folder };
  const mcp = new McpClient({ name: 'bench', version: '1' });
  await mcp.connect(new StdioClientTransport({ command: process.execPath, args: [bin], env, stderr: 'ignore' }));
  const tool = { name: 'run_query', arguments: { query: 'SELECT 1' } };
  const answer = await mcp.callTool(tool);
  if (answer.isError === true) throw new Error(JSON.stringify(answer.content));
  const key = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
  const overHttp = async (mode: 'legacy' | { pin: string }) => {
    const connected = new McpClient({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await connected.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    return connected;
  };
  const later = await overHttp({ pin: '2026-07-28' });
  const earlier = await overHttp('legacy');
  const times = await interleaved(200, {
    core: () => client.runQuery({ sql: { query: 'SELECT 1' } }),
    stdio: () => mcp.callTool(tool),
    later: () => later.callTool(tool),
    earlier: () => earlier.callTool(tool),
  });
  await Promise.all([mcp.close(), later.close(), earlier.close()]);
  printHeading('(d) SELECT 1, median of 200', 'MCP run_query', 'HTTP core');
  const core = median(times.core);
  const row = (what: string, values: readonly number[]) =>
    printRow(what, ms(median(values)), ms(core), median(values) / core);
  row('stdio server + HTTP core', times.stdio);
  row('HTTP /mcp, 2026-07-28', times.later);
  row('HTTP /mcp, session of 2025-11-25', times.earlier);
}

async function main(root: string, outdir: string, sections: readonly string[]): Promise<void> {
  const wanted = (section: string) => sections.length === 0 || sections.includes(section);
  const bin = join(root, 'dist/colloquy.js');
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-bench-'));
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  console.log(`Node.js ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${memory}`);
  if (wanted('a')) {
    await benchSpawn(bin, join(outdir, 'hello-server.mjs'), {
      ...process.env,
      COLLOQUY_DATA_DIR: join(folder, 'spawn'),
    });
  }
  // Not by default, since it takes some minutes.
  if (sections.includes('k')) await benchGrowth(bin, folder);
  if (wanted('l')) await benchLoad(bin, folder, join(outdir, 'load-clients.mjs'));
  if (sections.includes('n')) await benchHostile(bin, folder, join(outdir, 'thread-held.mjs'));
  if (sections.includes('o')) await benchCrowds(bin, folder, join(outdir, 'thread-held.mjs'));
  if (sections.includes('p')) await benchShortcuts(join(folder, 'shortcuts'), QUERY_DOCUMENTS);
  if (sections.includes('r')) await benchLoads(bin, join(folder, 'loads'), sections.slice(1));
  if (sections.includes('q')) await benchSmallWrites(bin, join(folder, 'small'));
  if (sections.includes('s')) await benchExports(bin, join(folder, 'exports'), QUERY_DOCUMENTS);
  if (sections.includes('m')) await benchDeletes(bin, join(folder, 'deletes'), QUERY_DOCUMENTS);
  if (sections.length > 0 && (sections[0] === 'r' || sections.every((section) => OWN_SERVICE.has(section)))) {
    return await rm(folder, { recursive: true, force: true });
  }
  const data = join(folder, 'data');
  const socketPath = join(data, 'service.sock');
  const start = () => startService(bin, data);
  let { child, client, sender, url } = await start();
  const baseline = await openBaseline(join(folder, 'baseline.duckdb'));
  try {
    await client.createWorkspace({ name: 'bench' });
    if (wanted('b')) {
      const file = join(folder, 'ingest.jsonl');
      await writeLines(file, INGEST_DOCUMENTS);
      const documents = Array.from({ length: INGEST_DOCUMENTS }, (_, number) => benchDocument(number));
      await benchIngest({ client, sender }, baseline, file, documents);
    }
    if (['c', 'e', 'f', 'g', 'h', 'i', 'j'].some(wanted)) {
      await client.createCollection({ workspace: 'bench', name: 'big' });
      const spent = await load(client, 'big', benchDocuments(QUERY_DOCUMENTS), 5_000);
      console.log(`\nloaded ${QUERY_DOCUMENTS} documents in ${(spent / 1_000).toFixed(1)} s`);
    }
    if (wanted('g') && child.pid !== undefined) await benchMemory(child.pid, QUERY_DOCUMENTS, IDLE_MS);
    const file = join(folder, 'big.jsonl');
    if (['c', 'f', 'j'].some(wanted)) await writeLines(file, QUERY_DOCUMENTS);
    if (wanted('c') || wanted('f')) await baseline.run(loadSql('big', file));
    if (wanted('c')) await benchQueries(client, baseline, 'big');
    if (wanted('h')) {
      await benchAbort(folder, { client, pid: child.pid ?? 0 });
      await benchShort(client);
      await benchLongAnswer(client, socketPath, 'big');
    }
    // Not by default, since it loads the documents into other databases.
    if (sections.includes('j')) await benchPeers(client, 'big', folder, file);
    if (wanted('i')) {
      await stopService({ child, client, sender, url });
      await benchCold(async () => {
        const service = await start();
        return { ...service, stop: () => stopService(service) };
      }, 'big');
      ({ child, client, sender, url } = await start());
    }
    if (wanted('d')) await benchMcp(bin, join(folder, 'data'), client, url);
    if (wanted('e')) await benchFreshness(client, 'big', 300);
    if (wanted('f')) await benchWrites(client, baseline, 'big', QUERY_DOCUMENTS, join(folder, 'written.jsonl'));
  } finally {
    baseline.close();
    await stopService({ child, client, sender, url });
    await rm(folder, { recursive: true, force: true });
  }
}

const [root = '', outdir = '', ...sections] = process.argv.slice(2);
await main(root, outdir, sections);
