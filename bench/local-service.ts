import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, createClient } from '../src/http/client.ts';
import { SERVICE_THREADS_ENV } from '../src/native-threads.ts';
import { openSender, type Sender } from './sender.ts';

/** A service in a process of its own, and a client for it. */
export interface LocalService {
  child: ChildProcess;
  client: Client;
  /** The same without the work of a client. */
  sender: Sender;
  /** The URL of its MCP endpoint. */
  url: URL;
}

/** Starts the service on a folder of its own and waits until it answers; `watcher` is a module that it loads first. */
export async function startService(bin: string, folder: string, watcher?: string): Promise<LocalService> {
  const env = { ...SERVICE_THREADS_ENV, ...process.env, COLLOQUY_DATA_DIR: folder };
  // The service itself, without the process that would start it again: its memory is what is measured.
  const args = [bin, 'serve', '--supervised', '0', '--port', '0'];
  const child =
    watcher === undefined
      ? spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
      : spawn(process.execPath, ['--import', watcher, ...args], { env, stdio: ['ignore', 'pipe', 'ignore', 'pipe'] });
  const url = new URL('/mcp', await addressOf(child));
  const target = { socketPath: join(folder, 'service.sock') };
  for (let attempt = 0; ; attempt += 1) {
    try {
      const apiKey = (await readFile(join(folder, 'admin.key'), 'utf8')).trim();
      const client = createClient({ target, apiKey });
      await client.getCurrentUser({});
      return { child, client, sender: openSender(target.socketPath, apiKey), url };
    } catch (error) {
      if (attempt > 1_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

export async function stopService({ child, client, sender }: LocalService): Promise<void> {
  await client.close();
  sender.close();
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('the service has no standard output');
  let text = '';
  for await (const chunk of stdout) {
    text += String(chunk);
    const address = /^ {2}(http:\S+)$/m.exec(text)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error('the service did not start');
}
