import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { buildIfStale } from '../scenarios/binary.ts';
import { type Served, startServe } from '../scenarios/served.ts';

/** Where a lake of the tests is. */
export interface LakePlaces {
  /** PostgreSQL, as a superuser. */
  catalog: string;
  /** A bucket, or a folder in one. */
  data: string;
  extensions: string;
  store: { keyId: string; secret: string; endpoint: string };
}

/** The places that `servers.ts` started. */
export function sharedPlaces(): LakePlaces {
  const { LAKE_CATALOG = '', LAKE_DATA = '', LAKE_EXTENSIONS = '', LAKE_STORE = '' } = process.env;
  return { catalog: LAKE_CATALOG, data: LAKE_DATA, extensions: LAKE_EXTENSIONS, store: JSON.parse(LAKE_STORE) };
}

/** A lake of its own that is served: the database belongs to a user who may do nothing else. */
export interface ServedLake {
  flags: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Starts a node with a folder of its own, or with that of one that ended. */
  start(folder?: string, flags?: readonly string[]): Promise<Served & { folder: string }>;
  /** Runs a statement in the catalog, as a superuser. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Ends all nodes. */
  close(): Promise<void>;
}

/** Ends a node at once: its service, and what would start that again. */
export function kill({ child }: Served): void {
  const pids = [child.pid, ...serviceOf(child.pid ?? 0)];
  for (const pid of pids) if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

/** Ends the service of a node at once; it is started again. */
export function crash({ child }: Served): void {
  for (const pid of serviceOf(child.pid ?? 0)) process.kill(pid, 'SIGKILL');
}

function serviceOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

let made = 0;

export async function serveLake(places: LakePlaces): Promise<ServedLake> {
  buildIfStale();
  const name = `served_${process.pid}_${Date.now()}_${made++}`;
  const statement = async (url: string, text: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
  await statement(places.catalog, `CREATE ROLE ${name} LOGIN PASSWORD 'its own'`);
  await statement(places.catalog, `CREATE DATABASE ${name} OWNER ${name}`);
  const url = new URL(places.catalog);
  url.pathname = name;
  const asOwner = url.href;
  url.username = name;
  url.password = '';
  const folders = await mkdtemp(join(tmpdir(), 'colloquy-lake-'));
  const running: Served[] = [];
  let started = 0;
  // As the operator of a lake copies it to all nodes.
  const secretKey = randomBytes(32).toString('hex');
  const flags = ['--lake', url.href, '--lake-data', `${places.data}/${name}`, '--extension-dir', places.extensions];
  const env = {
    COLLOQUY_LAKE_PASSWORD: 'its own',
    COLLOQUY_LAKE_ENDPOINT: places.store.endpoint,
    AWS_ACCESS_KEY_ID: places.store.keyId,
    AWS_SECRET_ACCESS_KEY: places.store.secret,
  };
  return {
    flags,
    env,
    async start(folder = join(folders, `node${started++}`), more = []) {
      if (!existsSync(folder)) {
        await mkdir(folder, { mode: 0o700 });
        await writeFile(join(folder, 'secret.key'), `${secretKey}\n`, { mode: 0o600 });
      }
      const node = await startServe(folder, [...flags, ...more], env);
      running.push(node);
      return { ...node, folder };
    },
    sql: (text) => statement(asOwner, text),
    async close() {
      await Promise.all(running.map((node) => (node.child.exitCode === null ? node.stop() : null)));
      await rm(folders, { recursive: true, force: true });
    },
  };
}
