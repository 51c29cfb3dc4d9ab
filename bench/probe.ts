import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Another client, in a thread of its own, so that its figures do not include what this one does. */
export interface Probe {
  /** The milliseconds of each call since the last time, and of the one that still runs; those that failed are negative. */
  waits(): Promise<number[]>;
  stop(): Promise<unknown>;
}

/** It asks one `SELECT 1` after the other. */
const PROBE = `
const { parentPort, workerData: { port, key } } = require('node:worker_threads');
const { request, Agent } = require('node:http');
const agent = new Agent({ keepAlive: true });
const body = JSON.stringify({ sql: { query: 'SELECT 1' } });
const headers = { authorization: 'ApiKey ' + key, 'content-type': 'application/json', 'content-length': body.length };
let waits = [];
let startedAt = null;
const ask = () => new Promise((resolve) => {
  const sent = request({ port, host: '127.0.0.1', path: '/v1/orgs/self/queries', method: 'POST', headers, agent }, (answer) =>
    answer.resume().once('end', () => resolve(answer.statusCode)).once('error', () => resolve(0)));
  sent.once('error', () => resolve(0)).end(body);
});
(async () => {
  for (;;) {
    startedAt = performance.now();
    const status = await ask();
    waits.push(status === 200 ? performance.now() - startedAt : -(performance.now() - startedAt));
    startedAt = null;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
})();
parentPort.on('message', () => {
  parentPort.postMessage(startedAt === null ? waits : [...waits, performance.now() - startedAt]);
  waits = [];
});
`;

export function startProbe(port: number, key: string): Probe {
  const worker = new Worker(PROBE, { eval: true, workerData: { port, key } });
  return {
    async waits() {
      const answered = once(worker, 'message');
      worker.postMessage('tell');
      return ((await answered) as [number[]])[0];
    },
    stop: () => worker.terminate(),
  };
}
