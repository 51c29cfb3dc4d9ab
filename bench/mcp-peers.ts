// Compares our start, memory and list of tools with those of other MCP servers: `npm run bench:peers -- <folder>`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { bytesOf, packagesFor } from '../scripts/production.mjs';
import { INITIALIZE, INITIALIZED, LIST } from './handshake.ts';
import { median } from './measure.ts';

const ROUNDS = 9;
const START_TIMEOUT_MS = 60_000;
const MB = 1e6;

interface Contender {
  name: string;
  /** The folder of the installation, which contains `node_modules`. */
  root: string;
  args: string[];
  /** How it was started, if that is not obvious. */
  how: string;
}

interface Start {
  ms: number;
  residentBytes: number | undefined;
  tools: { name: string }[];
}

/** The packages that can be compared, and how to start each without anything to connect to. */
const PEERS: Record<string, { how: string; args(scratch: string): Promise<string[]> }> = {
  'mongodb-mcp-server': { how: 'without a connection, telemetry off', args: async () => ['--telemetry', 'disabled'] },
  '@bytebase/dbhub': {
    how: 'one PostgreSQL source that is connected to at its first use',
    args: async (scratch) => {
      const config = join(scratch, 'dbhub.toml');
      const lines = ['[[sources]]', 'id = "none"', 'dsn = "postgres://a:b@127.0.0.1:1/none"', 'lazy = true', ''];
      await writeFile(config, lines.join('\n'));
      return ['--transport', 'stdio', '--config', config];
    },
  },
  '@modelcontextprotocol/server-everything': { how: 'stdio', args: async () => ['stdio'] },
};

/** Time from spawn to the answer of tools/list, in the protocol of 2025-11-25, and the process's memory by then. */
function start(args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<Start> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const child = spawn(process.execPath, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    let text = '';
    let complaints = '';
    const timer = setTimeout(() => fail('no answer'), START_TIMEOUT_MS);
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${why}: ${complaints.trim().split('\n').slice(-3).join(' | ').slice(0, 300)}`));
    };
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(`it ended with ${code}`));
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        if (!line.startsWith('{')) continue;
        const message = JSON.parse(line);
        if (message.id === 1) child.stdin.write(`${JSON.stringify(INITIALIZED)}\n${JSON.stringify(LIST)}\n`);
        if (message.id !== 2) continue;
        const elapsed = performance.now() - from;
        clearTimeout(timer);
        child.removeAllListeners('exit');
        residentBytesOf(child.pid).then((residentBytes) => {
          child.kill('SIGKILL');
          if (!Array.isArray(message.result?.tools)) reject(new Error(`no tools: ${JSON.stringify(message)}`));
          else resolve({ ms: elapsed, residentBytes, tools: message.result.tools });
        }, reject);
      }
    });
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  });
}

/** Undefined if the system has no `/proc`. */
async function residentBytesOf(pid: number | undefined): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

async function find(folder: string, scratch: string): Promise<Contender[]> {
  const found: Contender[] = [];
  for (const [name, { how, args }] of Object.entries(PEERS)) {
    const home = join(folder, 'node_modules', name);
    if (!existsSync(join(home, 'package.json'))) {
      console.log(`without ${name}: it is not installed in ${folder}`);
      continue;
    }
    const { bin, version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
    const file = typeof bin === 'string' ? bin : String(Object.values(bin)[0]);
    found.push({ name: `${name} ${version}`, root: folder, args: [join(home, file), ...(await args(scratch))], how });
  }
  return found;
}

/** Bytes and packages of an installation that contains nothing else. */
async function installedOf(
  { name, root }: Contender,
  own: string | undefined,
): Promise<[bytes: number, count: number]> {
  if (own !== undefined) {
    const { dependencies } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'));
    const packages = await packagesFor(own, { dependencies });
    return [(await bytesOf([...packages.values(), join(own, 'dist')])) as number, packages.size + 1];
  }
  const packages = await packagesFor(root, { dependencies: { [name.split(' ')[0] ?? name]: '*' } });
  return [await bytesOf(packages.values()), packages.size];
}

async function main(own: string, folder: string | undefined): Promise<void> {
  if (folder === undefined) {
    console.error(
      `Usage: npm run bench:peers -- <folder>   (or BENCH_PEERS=<folder>)\n\nThe folder is one in which other servers were installed, for example by\n  npm install --prefix <folder> ${Object.keys(PEERS).join(' ')}\nNothing is installed by this.`,
    );
    process.exit(2);
  }
  const scratch = await mkdtemp(join(tmpdir(), 'colloquy-peers-'));
  const { version } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'));
  const ours = {
    name: `colloquy ${version}`,
    root: own,
    args: [join(own, 'dist/colloquy.js')],
    how: 'local, all tools',
  };
  const env = { ...process.env, COLLOQUY_DATA_DIR: join(scratch, 'data'), DO_NOT_TRACK: '1' };
  console.log(
    `${new Date().toISOString().slice(0, 10)}, Node.js ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB\n`,
  );
  const starts = new Map<Contender, Start[]>();
  for (const contender of [ours, ...(await find(folder, scratch))]) {
    // The first start warms up the disk, and shows whether the server starts at all.
    await start(contender.args, env, scratch).then(
      () => starts.set(contender, []),
      (error: Error) =>
        console.log(`without ${contender.name}: it does not start (${contender.how}): ${error.message}`),
    );
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [contender, measured] of starts) measured.push(await start(contender.args, env, scratch));
  }
  console.log(
    '| server | spawn to tools/list | resident | tools | tokens | per tool | installed | packages | started |',
  );
  console.log('|---|---:|---:|---:|---:|---:|---:|---:|---|');
  for (const [contender, measured] of starts) {
    const tools = measured[0]?.tools ?? [];
    const tokens = tools.reduce((sum, tool) => sum + countTokens(JSON.stringify(tool)), 0);
    const resident = measured.flatMap(({ residentBytes }) => residentBytes ?? []);
    const [bytes, packages] = await installedOf(contender, contender === ours ? own : undefined);
    const cells = [
      contender.name,
      `${median(measured.map(({ ms }) => ms)).toFixed(0)} ms`,
      resident.length === 0 ? 'unknown' : `${(median(resident) / MB).toFixed(0)} MB`,
      tools.length,
      tokens,
      Math.round(tokens / Math.max(1, tools.length)),
      `${(bytes / MB).toFixed(0)} MB`,
      packages,
      contender.how,
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  console.log(`\nmedians of ${ROUNDS} starts in turn`);
  await rm(scratch, { recursive: true, force: true });
}

const [own = '', folder = process.env['BENCH_PEERS']] = process.argv.slice(2);
await main(own, folder);
