import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startService, stopService } from '../bench/local-service.ts';
import type { Client } from '../src/http/client.ts';
import { type Data, fileOf, type SetName, writeFiles } from './data/files.ts';
import { openSession, type Session } from './session.ts';
import { WORLD } from './tasks/state.ts';

export interface Choice {
  /** The command of another server; absent: ours. */
  server?: string | undefined;
  /** A command that gets the data into the other server. */
  prepare?: string | undefined;
  /** What our server offers (default: all). */
  profile?: string | undefined;
}

/** The data, and a server over them. */
export interface World {
  /** The folder of the data files. */
  files: string;
  /** What administers our own service; absent for another server. */
  client?: Client | undefined;
  /** A new process of the server. */
  open(): Promise<Session>;
  close(): Promise<void>;
}

const BIN = fileURLToPath(new URL('../dist/colloquy.js', import.meta.url));

/** Writes the data as files into a new folder, loads those of `sets`, and knows how the server is started. */
export async function openWorld(data: Data, sets: readonly SetName[], choice: Choice): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'colloquy-evals-'));
  const files = join(folder, 'files');
  const ending: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const end of ending.toReversed()) await end();
  };
  try {
    await writeFiles(data, files);
    if (choice.server !== undefined)
      return { ...(await foreign(choice.server, choice.prepare, { folder, files })), files, close };
    const home = join(folder, 'data');
    const service = await startService(BIN, home);
    ending.push(() => stopService(service));
    const env = { ...ownEnvironment(), COLLOQUY_DATA_DIR: home };
    const start = (...flags: string[]) => {
      const args = [BIN, '--allow-dirs', files, ...flags];
      return openSession({ command: process.execPath, args, env, cwd: folder });
    };
    const loader = await start();
    await load(loader, service.client, { files, sets }).finally(() => loader.close());
    const open = () => (choice.profile === undefined ? start() : start('--profile', choice.profile));
    return { files, client: service.client, open, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Variables of ours that are set here would change what is measured. */
function ownEnvironment(): Record<string, string> {
  const given = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !name.startsWith('COLLOQUY_'),
  );
  return Object.fromEntries(given) as Record<string, string>;
}

/** As an assistant would load them, so that the fields have the types that they get there. */
async function load({ call }: Session, client: Client, { files, sets }: { files: string; sets: readonly SetName[] }) {
  await client.createWorkspace({ name: WORLD });
  if (sets.length === 0) return;
  const path = JSON.stringify(sets.map((set) => join(files, fileOf(set))));
  const { text, isError } = await call('load_file', { path, workspace: WORLD, create_collection: true });
  if (isError || text.includes('"complete":false')) throw new Error(`the data were not loaded: ${text}`);
}

/** Another server: it finds the data in the folder that `EVALS_FILES` names, and may keep its own in `EVALS_FOLDER`. */
async function foreign(
  server: string,
  prepare: string | undefined,
  { folder, files }: { folder: string; files: string },
) {
  const env = { ...ownEnvironment(), EVALS_FILES: files, EVALS_FOLDER: folder };
  if (prepare !== undefined) {
    const child = spawn(prepare, { shell: true, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`--prepare ended with ${code}: ${prepare}`);
  }
  const [command, ...flags] = process.platform === 'win32' ? ['cmd', '/d', '/s', '/c'] : ['sh', '-c'];
  return { open: () => openSession({ command: String(command), args: [...flags, server], env, cwd: folder }) };
}
