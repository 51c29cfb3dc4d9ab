import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Agent, request } from 'undici';
import { parseJson } from '../../src/contract/json/json.ts';
import { type Service, type ServiceOptions, startService } from '../../src/service/start.ts';
import { lakeFor, ON_LAKE } from '../lake/lake-for.ts';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // Tests assert what was sent, whatever its shape.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what each test asserts.
  body: any;
}

export interface CallOptions {
  /** Sent as it is; if absent, `body` is sent as JSON. */
  rawBody?: string | Buffer;
  headers?: Record<string, string>;
  /** Used instead of the admin's key; null: no key. */
  key?: string | null;
  signal?: AbortSignal;
}

/** A real service on a socket, in a folder of its own. */
export interface TestService {
  folder: string;
  socket: string;
  key: string;
  service: Service;
  /** The lines logged so far. */
  lines: Record<string, unknown>[];
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  /** Closes the service and keeps its folder. */
  stop(): Promise<void>;
  /** Closes the service and removes its folder. */
  remove(): Promise<void>;
}

export async function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'colloquy-service-'));
}

export function filesOf(folder: string) {
  return {
    databaseFile: join(folder, 'data.duckdb'),
    adminKeyFile: join(folder, 'admin.key'),
    secretKeyFile: join(folder, 'secret.key'),
  };
}

export async function startTestService(options: Partial<ServiceOptions> = {}, folder?: string): Promise<TestService> {
  const home = folder ?? (await makeFolder());
  const socket = join(home, 'service.sock');
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const files = filesOf(home);
  const lake = ON_LAKE ? { lake: (await lakeFor(files.databaseFile)).lake } : {};
  const service = await startService({
    ...files,
    ...lake,
    listen: [{ path: socket }],
    version: '0.0.1',
    log,
    ...options,
  });
  const key = (await readFile(files.adminKeyFile, 'utf8')).trim();
  const agent = new Agent({ connect: { socketPath: socket } });

  async function call(method: string, path: string, body?: unknown, how: CallOptions = {}): Promise<Answer> {
    const headers: Record<string, string> = {};
    if (how.key !== null) headers['authorization'] = `ApiKey ${how.key ?? key}`;
    const payload = how.rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    if (payload !== undefined) headers['content-type'] = 'application/json';
    const answer = await request(`http://localhost${path}`, {
      method: method as 'GET',
      headers: { ...headers, ...how.headers },
      body: payload ?? null,
      signal: how.signal ?? null,
      dispatcher: agent,
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text,
      body: text === '' ? undefined : parseJson(text),
    };
  }

  async function stop(): Promise<void> {
    await agent.destroy();
    await service.close();
  }

  async function remove(): Promise<void> {
    await stop();
    await rm(home, { recursive: true, force: true });
  }

  return { folder: home, socket, key, service, lines, call, stop, remove };
}
