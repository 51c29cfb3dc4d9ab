import { chmod, chown, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { command, dataFolder, freePort } from './server.ts';

const BIN = '/usr/lib/postgresql/15/bin';

/** PostgreSQL 15 of Debian, with a database `shop` and a user `reader` who may only read. */
export interface Postgres {
  readonly port: number;
  /** Runs statements as the owner. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Ends and starts it; `immediate` is like a crash. */
  restart(how?: 'fast' | 'immediate'): Promise<void>;
  close(): Promise<void>;
}

export const OWNER = { username: 'owner', password: 'owner-secret' };
export const READER = { username: 'reader', password: 'read-secret' };

export async function startPostgres(): Promise<Postgres> {
  await install();
  const folder = await dataFolder('postgres');
  const data = join(folder, 'data');
  const port = await freePort();
  await chmod(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const { stdout } = await command('id', ['-u', 'postgres']);
    await chown(folder, Number(stdout), Number(stdout));
  }
  // It refuses to run as root.
  const run = (file: string, args: string[]) =>
    isRoot
      ? command('setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', join(BIN, file), ...args])
      : command(join(BIN, file), args);
  await run('initdb', [
    '-D',
    data,
    '-A',
    'scram-sha-256',
    '-U',
    OWNER.username,
    '--pwfile',
    await passwordFile(folder, isRoot),
  ]);
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${data} -c fsync=off`;
  const startIt = () => run('pg_ctl', ['-D', data, '-o', options, '-l', join(folder, 'log'), '-w', 'start']);
  const stopIt = (how: string) => run('pg_ctl', ['-D', data, '-m', how, '-w', 'stop']);
  await startIt();
  let client = await connect(port, 'postgres');
  await client.query('CREATE DATABASE shop');
  await client.query(`CREATE USER ${READER.username} PASSWORD '${READER.password}'`);
  await client.end();
  client = await connect(port, 'shop');
  await client.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO ${READER.username}`);
  return {
    port,
    sql: async (text, values) => (await client.query(text, values)).rows ?? [],
    async restart(how = 'fast') {
      await client.end().catch(() => undefined);
      await stopIt(how);
      await startIt();
      client = await connect(port, 'shop');
    },
    async close() {
      await client.end().catch(() => undefined);
      await stopIt('immediate');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function connect(port: number, database: string): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: OWNER.username, password: OWNER.password, database });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function passwordFile(folder: string, isRoot: boolean): Promise<string> {
  const { writeFile } = await import('node:fs/promises');
  const file = join(folder, 'password');
  await writeFile(file, `${OWNER.password}\n`);
  if (isRoot) await chmod(file, 0o644);
  return file;
}

async function install(): Promise<void> {
  if ((await stat(join(BIN, 'initdb')).catch(() => undefined)) !== undefined) return;
  await command('apt-get', ['update', '-qq']);
  await command('apt-get', ['install', '-y', '-qq', 'postgresql-15']);
}
