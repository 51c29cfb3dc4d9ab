import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../src/http/client.ts';
import { over, QUERIES, QUERY_NAMES, type QueryName } from './analytic.ts';
import { interleaved, median, ms } from './measure.ts';

/** Another database with the same documents. */
interface Peer {
  name: string;
  /** Runs a query; resolves to its number of rows. */
  ask(query: QueryName): Promise<number>;
  close(): Promise<void>;
}

const ROUNDS = 5;
const DONE = '@@done';

const SQLITE: Record<QueryName, string> = {
  'group by': `SELECT doc->>'kind' k, count(*), sum(doc->>'amount') FROM big GROUP BY 1 ORDER BY 1`,
  'group by nested + distinct': `SELECT doc->>'$.user.address.city', count(DISTINCT doc->>'$.user.id') FROM big GROUP BY 1 ORDER BY 1`,
  'filter + hours': `SELECT substr(doc->>'created', 1, 13), count(*) FROM big WHERE doc->>'kind' = 'purchase' AND doc->>'amount' > 500 GROUP BY 1 ORDER BY 1`,
  'top 10': `SELECT id, doc->>'amount' a FROM big ORDER BY a DESC, id LIMIT 10`,
  'nested filter': `SELECT count(*), avg(doc->>'amount') FROM big WHERE doc->>'$.user.address.city' = 'Oslo' AND doc->>'$.device.screen.width' > 2000`,
  unnest: `SELECT i.value->>'sku', sum((i.value->>'quantity') * (i.value->>'price')) s FROM big, json_each(doc, '$.items') i GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
  join: `WITH t AS MATERIALIZED (SELECT doc->>'kind' k, doc->>'$.user.id' u, doc->>'amount' a FROM big) SELECT t.k, count(*) FROM t JOIN (SELECT u, max(a) m FROM t GROUP BY 1) b ON t.u = b.u AND t.a = b.m GROUP BY 1 ORDER BY 1`,
};

const POSTGRES: Record<QueryName, string> = {
  'group by': `SELECT doc->>'kind', count(*), sum((doc->>'amount')::float8) FROM big GROUP BY 1 ORDER BY 1`,
  'group by nested + distinct': `SELECT doc#>>'{user,address,city}', count(DISTINCT (doc#>>'{user,id}')::int) FROM big GROUP BY 1 ORDER BY 1`,
  'filter + hours': `SELECT substr(doc->>'created', 1, 13), count(*) FROM big WHERE doc->>'kind' = 'purchase' AND (doc->>'amount')::float8 > 500 GROUP BY 1 ORDER BY 1`,
  'top 10': `SELECT doc->>'_id', (doc->>'amount')::float8 FROM big ORDER BY 2 DESC, 1 LIMIT 10`,
  'nested filter': `SELECT count(*), avg((doc->>'amount')::float8) FROM big WHERE doc#>>'{user,address,city}' = 'Oslo' AND (doc#>>'{device,screen,width}')::int > 2000`,
  unnest: `SELECT i->>'sku', sum((i->>'quantity')::int * (i->>'price')::float8) FROM big, jsonb_array_elements(doc->'items') i GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
  join: `SELECT a.doc->>'kind', count(*) FROM big a JOIN (SELECT (doc#>>'{user,id}')::int u, max((doc->>'amount')::float8) m FROM big GROUP BY 1) b ON (a.doc#>>'{user,id}')::int = b.u AND (a.doc->>'amount')::float8 = b.m GROUP BY 1 ORDER BY 1`,
};

const CHDB: Record<QueryName, string> = {
  'group by': 'SELECT doc.kind::String k, count(), sum(doc.amount::Float64) FROM big GROUP BY k ORDER BY k',
  'group by nested + distinct':
    'SELECT doc.user.address.city::String c, count(DISTINCT doc.user.id::Int64) FROM big GROUP BY c ORDER BY c',
  'filter + hours': `SELECT substr(doc.created::String, 1, 13) h, count() FROM big WHERE doc.kind::String = 'purchase' AND doc.amount::Float64 > 500 GROUP BY h ORDER BY h`,
  'top 10': 'SELECT id, doc.amount::Float64 a FROM big ORDER BY a DESC, id LIMIT 10',
  'nested filter': `SELECT count(), avg(doc.amount::Float64) FROM big WHERE doc.user.address.city::String = 'Oslo' AND doc.device.screen.width::Int64 > 2000`,
  unnest:
    'SELECT i.sku::String s, sum(i.quantity::Int64 * i.price::Float64) p FROM (SELECT arrayJoin(doc.items[]) i FROM big) GROUP BY s ORDER BY p DESC, s LIMIT 10',
  join: 'SELECT a.k, count() FROM (SELECT doc.kind::String k, doc.user.id::Int64 u, doc.amount::Float64 m FROM big) a JOIN (SELECT doc.user.id::Int64 u, max(doc.amount::Float64) m FROM big GROUP BY u) b ON a.u = b.u AND a.m = b.m GROUP BY a.k ORDER BY a.k',
};

/** Talks to a shell that reads statements and prints rows. */
function shell(child: ChildProcess, mark: string) {
  let text = '';
  let onText: () => void = () => undefined;
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    onText();
  });
  return async (sql: string): Promise<number> => {
    text = '';
    child.stdin?.write(`${sql};\n${mark} ${DONE}\n`);
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error('the shell has ended')));
      onText = () => {
        if (text.includes(DONE)) resolve();
      };
      onText();
    });
    child.removeAllListeners('exit');
    return text.split('\n').filter((line) => line !== '' && !line.includes(DONE)).length;
  };
}

function lacks(command: string): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status !== 0;
}

async function openSqlite(folder: string, file: string): Promise<Peer | string> {
  if (lacks('sqlite3')) return 'sqlite3 is not installed (apt-get install sqlite3)';
  const child = spawn('sqlite3', ['-batch', join(folder, 'peer.sqlite')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const run = shell(child, '.print');
  await run('CREATE TABLE raw (doc TEXT); CREATE TABLE big (id TEXT PRIMARY KEY, doc TEXT) WITHOUT ROWID');
  child.stdin?.write(`.mode ascii\n.separator "\\001" "\\n"\n.import ${file} raw\n.mode list\n`);
  await run(`INSERT INTO big SELECT doc->>'_id', doc FROM raw; DROP TABLE raw`);
  return {
    name: `SQLite ${spawnSync('sqlite3', ['--version']).stdout.toString().split(' ')[0]}`,
    ask: (query) => run(SQLITE[query]),
    close: async () => {
      child.stdin?.end();
      await once(child, 'exit');
    },
  };
}

async function openPostgres(folder: string, file: string): Promise<Peer | string> {
  if (lacks('postgres') || lacks('initdb') || lacks('psql')) {
    return 'postgres, initdb and psql are not on the PATH (apt-get install postgresql)';
  }
  // PostgreSQL refuses to run as root.
  const as = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--'] : [];
  const home = join(folder, 'postgres');
  await mkdir(home, { mode: 0o777 });
  await chmod(folder, 0o755);
  await chmod(home, 0o777);
  const [command = '', ...args] = [...as, 'initdb', '-D', join(home, 'data'), '-A', 'trust', '-U', 'postgres'];
  const made = spawnSync(command, args, { cwd: home });
  if (made.status !== 0) return `initdb fails: ${made.stderr.toString().trim().split('\n').at(-1)}`;
  const settings = ['listen_addresses=', 'shared_buffers=2GB', 'work_mem=256MB', 'max_wal_size=8GB', 'jit=off'];
  const options = settings.flatMap((setting) => ['-c', setting]);
  const [run = '', ...how] = [...as, 'postgres', '-D', join(home, 'data'), '-k', home, ...options];
  const server = spawn(run, how, { cwd: home, stdio: 'ignore' });
  const psql = ['-h', home, '-U', 'postgres', '-X', '-q', '-A', '-t'];
  for (let tries = 0; spawnSync('psql', [...psql, '-c', 'SELECT 1']).status !== 0; tries += 1) {
    if (tries === 100) return 'it does not start';
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const child = spawn('psql', psql, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ask = shell(child, '\\echo');
  await ask('CREATE TABLE big (doc jsonb)');
  child.stdin?.write(`\\copy big from '${file}' with (format csv, quote e'\\x01', delimiter e'\\x02')\n`);
  await ask('VACUUM ANALYZE big');
  return {
    name: `PostgreSQL ${spawnSync('psql', ['--version']).stdout.toString().split(' ')[2]?.trim()}`,
    ask: (query) => ask(POSTGRES[query]),
    close: async () => {
      child.stdin?.end();
      await once(child, 'exit');
      spawnSync('psql', [...psql, '-c', 'CHECKPOINT']);
      const stop = [...as, 'pg_ctl', '-D', join(home, 'data'), '-m', 'fast', 'stop'];
      const stopped = spawnSync(stop[0] ?? '', stop.slice(1));
      if (stopped.status !== 0) server.kill('SIGINT');
      if (server.exitCode === null) await once(server, 'exit');
    },
  };
}

interface ChdbModule {
  Session: new (path: string) => { query(sql: string, format?: string): string; cleanup(): void };
  default?: ChdbModule;
}

async function openChdb(folder: string, file: string): Promise<Peer | string> {
  // Not a dependency: to include it, name its folder in BENCH_CHDB.
  const path = process.env['BENCH_CHDB'] ?? 'chdb';
  const loaded: ChdbModule | undefined = await import(path).catch(() => undefined);
  const Session = loaded?.Session ?? loaded?.default?.Session;
  if (Session === undefined) return 'BENCH_CHDB does not name the main file of an installed chdb (npm install chdb)';
  const session = new Session(join(folder, 'chdb'));
  session.query('CREATE DATABASE b');
  session.query('CREATE TABLE b.big (id String, doc JSON) ENGINE = MergeTree ORDER BY id');
  session.query(
    `INSERT INTO b.big SELECT JSONExtractString(line, '_id'), line::JSON FROM file('${file}', LineAsString)`,
  );
  return {
    name: `chdb ${JSON.parse(session.query('SELECT version()', 'CSV'))}`,
    ask: async (query) =>
      session
        .query(CHDB[query].replaceAll('FROM big', 'FROM b.big'), 'TSV')
        .split('\n')
        .filter((line) => line !== '').length,
    close: async () => session.cleanup(),
  };
}

/** (j) The same queries on other document databases, with the documents from a file of JSON lines. */
export async function benchPeers(client: Client, collection: string, folder: string, file: string): Promise<void> {
  const peers: Peer[] = [];
  console.log(`\n(j) side by side, medians of ${ROUNDS}`);
  for (const [name, open] of Object.entries({ SQLite: openSqlite, PostgreSQL: openPostgres, chdb: openChdb })) {
    const peer = await open(folder, file);
    if (typeof peer === 'string') console.log(`  without ${name}: ${peer}`);
    else peers.push(peer);
  }
  const sums = [0, ...peers.map(() => 0)];
  console.log(
    `  ${''.padEnd(28)}${['colloquy', ...peers.map(({ name }) => name)].map((n) => n.padStart(26)).join('')}`,
  );
  const line = (what: string, times: number[]) => {
    const [ours = 1] = times;
    const cells = times.map((time, index) => (index === 0 ? ms(time) : `${ms(time)} (${(time / ours).toFixed(1)} x)`));
    console.log(`  ${what.padEnd(28)}${cells.map((cell) => cell.padStart(26)).join('')}`);
  };
  try {
    for (const query of QUERY_NAMES) {
      const ask = { sql: { query: over(`bench."${collection}"`, QUERIES[query]) } };
      const rows = (await client.runQuery(ask)).results?.length;
      for (const peer of peers) {
        const found = await peer.ask(query);
        if (found !== rows) throw new Error(`${query}: ${peer.name} answers ${found} rows, and we ${rows}`);
      }
      const runs: Record<string, () => Promise<unknown>> = { ours: () => client.runQuery(ask) };
      for (const peer of peers) runs[peer.name] = () => peer.ask(query);
      const times = Object.values(await interleaved(ROUNDS, runs)).map(median);
      times.forEach((time, index) => {
        sums[index] = (sums[index] ?? 0) + time;
      });
      line(query, times);
    }
    line('all of them', sums);
  } finally {
    for (const peer of peers) await peer.close();
  }
}
