import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { limitArrival, longBody } from '../../../src/service/app/arrival.ts';

const LATE_MS = 300;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Answers with the number of bytes of a body, or why there are none. */
async function serve(read: (request: IncomingMessage) => AsyncIterable<Buffer>, late: string[] = []) {
  const server = createServer(async (request, response) => {
    limitArrival(request, () => late.push(request.url ?? ''), LATE_MS);
    try {
      let bytes = 0;
      for await (const chunk of read(request)) bytes += chunk.length;
      response.end(String(bytes));
    } catch (error) {
      response.end(String(error));
    }
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return async (pauses: readonly number[]): Promise<string> => {
    const asked = request({ port, method: 'POST' });
    const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
    for (const pause of pauses) {
      asked.write('12345');
      await sleep(pause);
    }
    asked.end();
    const [answer] = await answered;
    return text(answer);
  };
}

const whole = (request: IncomingMessage): AsyncIterable<Buffer> => request;

describe('limitArrival()', () => {
  test('tells of a body that does not arrive in time, once, and not of one that does', async () => {
    const late: string[] = [];
    const send = await serve(whole, late);
    await send([10]);
    await sleep(LATE_MS * 1.5);
    expect(late).toEqual([]);
    await send([LATE_MS * 2]);
    expect(late).toEqual(['/']);
  });

  test('leaves a long body alone', async () => {
    const late: string[] = [];
    const send = await serve((request) => longBody(request, LATE_MS), late);
    expect(await send([100, 100, 100, 100, 100, 100])).toBe('30');
    expect(late).toEqual([]);
  });
});

describe('longBody()', () => {
  test('ends where nothing comes for too long', async () => {
    const send = await serve((request) => longBody(request, LATE_MS));
    expect(await send([10, LATE_MS * 2])).toBe('Error: nothing has arrived for 0.3 seconds');
  });

  test('counts no time in which nobody wants more, and can be left before its end', async () => {
    const send = await serve(async function* (request) {
      for await (const chunk of longBody(request, LATE_MS)) {
        await sleep(LATE_MS * 2);
        yield chunk;
      }
    });
    expect(await send([10])).toBe('5');
    const some = await serve(async function* (request) {
      for await (const chunk of longBody(request, LATE_MS)) return yield chunk;
    });
    expect(await some([10, 10])).toBe('5');
  });
});
