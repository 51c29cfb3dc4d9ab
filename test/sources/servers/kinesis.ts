import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { command, dataFolder, freePort, installed, type Server, start } from './server.ts';

/** kinesis-mock, with a clock that can be set forward. */
export interface KinesisServer {
  readonly port: number;
  /** Ends it and starts it anew, with its data as of a second ago. */
  restart(): Promise<void>;
  /** Sets its clock forward. */
  forward(ms: number): Promise<void>;
  stop(): Promise<void>;
}

const VERSION = '0.6.2';

/** Loaded before it: it listens on 127.0.0.1 only, and its clock is ahead by what a file says, which a signal has it read. */
const PRELOAD = `
const net = require('node:net');
const fs = require('node:fs');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  if (args[0] && typeof args[0] === 'object' && 'port' in args[0]) args[0] = { ...args[0], host: '127.0.0.1' };
  else if (/^\\d+$/.test(args[0])) args.splice(1, typeof args[1] === 'string' ? 1 : 0, '127.0.0.1');
  return listen.apply(this, args);
};
// Its time is that of this clock, and its pauses are not.
const { performance } = require('node:perf_hooks');
const origin = performance.timeOrigin;
const ahead = () => Number(fs.existsSync(process.env.CLOCK_FILE) ? fs.readFileSync(process.env.CLOCK_FILE, 'utf8') : 0);
let offset = ahead();
Object.defineProperty(performance, 'timeOrigin', { get: () => origin + offset });
process.on('SIGUSR2', () => {
  offset = ahead();
  fs.writeFileSync(process.env.CLOCK_FILE + '.set', '');
});
`;

/** Its npm package. */
export const installKinesis = () =>
  installed('kinesis', async (to) => {
    await writeFile(join(to, 'package.json'), '{"private":true}');
    await command('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', `kinesis-local@${VERSION}`], {
      cwd: to,
    });
  });

export async function startKinesis(): Promise<KinesisServer> {
  const folder = await installKinesis();
  const data = await dataFolder('kinesis');
  const preload = join(data, 'preload.cjs');
  const clock = join(data, 'clock');
  await mkdir(join(data, 'kept'));
  await writeFile(preload, PRELOAD);
  const [port, tlsPort] = [await freePort(), await freePort()];
  const main = join(folder, 'node_modules/kinesis-local');
  const begin = () =>
    start(process.execPath, ['-r', preload, join(main, 'main.js')], {
      port,
      folder: data,
      env: {
        CLOCK_FILE: clock,
        KINESIS_MOCK_CERT_PATH: join(main, 'server.json'),
        KINESIS_MOCK_TLS_PORT: String(tlsPort),
        KINESIS_MOCK_PLAIN_PORT: String(port),
        LOG_LEVEL: 'WARN',
        SHOULD_PERSIST_DATA: 'true',
        PERSIST_PATH: join(data, 'kept'),
        PERSIST_INTERVAL: '1s',
        CREATE_STREAM_DURATION: '20ms',
        DELETE_STREAM_DURATION: '20ms',
        SPLIT_SHARD_DURATION: '20ms',
        MERGE_SHARDS_DURATION: '20ms',
      },
    });
  let server: Server = await begin();
  let ahead = 0;
  return {
    port,
    async restart() {
      await server.stop('SIGKILL');
      server = await begin();
    },
    async forward(ms) {
      ahead += ms;
      await writeFile(clock, String(ahead));
      await rm(`${clock}.set`, { force: true });
      process.kill(server.pid, 'SIGUSR2');
      while ((await stat(`${clock}.set`).catch(() => undefined)) === undefined) await delay(20);
    },
    async stop() {
      await server.stop('SIGKILL');
      await rm(data, { recursive: true, force: true });
    },
  };
}
