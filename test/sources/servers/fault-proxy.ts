import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Stands before a server and does to its connections what networks do. */
export interface FaultProxy {
  readonly port: number;
  /** Ends all connections now, in the middle of whatever they carry. */
  cut(): void;
  /** From now on: refuses connections, and ends those that there are. */
  setDown(isDown: boolean): void;
  /** From now on: waits so long, in milliseconds, before each piece that it passes on. */
  setDelay(ms: number): void;
  /**
   * From now on, for a server of HTTP: answers so many of the requests that begin a connection, or all (`Infinity`), with this
   * status and body instead of passing them on.
   */
  answer(count: number, status: number, body?: string): void;
  /** Once a connection has sent what matches: lets it through, and is down before anything of an answer comes back. */
  loseAnswer(sent: RegExp): void;
  close(): Promise<void>;
}

/** For the server to do what it was asked to. */
const DONE_MS = 500;

/** A proxy to a port of 127.0.0.1, on a port of its own, or on one that is free again. */
export async function startFaultProxy(target: () => number, own = 0): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let isDown = false;
  let delayMs = 0;
  let answers = { left: 0, text: '' };
  let lost: RegExp | undefined;
  let isMute = false;
  const server = createServer((from) => {
    sockets.add(from);
    from.on('error', () => undefined);
    from.on('close', () => sockets.delete(from));
    if (isDown) {
      from.destroy();
      return;
    }
    if (answers.left > 0) {
      answers.left -= 1;
      const { text } = answers;
      // The whole request first: a client that is answered while it sends takes that for a broken connection.
      from.once('data', () => void delay(50).then(() => from.end(text)));
      return;
    }
    const to = connect(target(), '127.0.0.1');
    sockets.add(to);
    to.on('error', () => from.destroy());
    to.on('close', () => {
      sockets.delete(to);
      // What it sent before it ended is still on its way.
      if (!to.readableEnded) from.destroy();
    });
    from.on('close', () => to.destroy());
    watch(from);
    pass(from, to);
    pass(to, from, () => isMute);
  });
  function watch(from: Socket): void {
    let sent = '';
    from.on('data', (piece) => {
      if (lost === undefined) return;
      sent += piece;
      if (!lost.test(sent)) return;
      lost = undefined;
      isMute = true;
      void delay(DONE_MS).then(() => {
        isDown = true;
        cut();
        isMute = false;
      });
    });
  }
  function pass(from: Socket, to: Socket, isDropped = () => false): void {
    let isWaiting = false;
    let isEnded = false;
    from.on('data', (piece) => {
      if (isDropped()) return;
      if (delayMs === 0) {
        if (!to.write(piece)) {
          from.pause();
          to.once('drain', () => from.resume());
        }
        return;
      }
      from.pause();
      isWaiting = true;
      void delay(delayMs).then(() => {
        isWaiting = false;
        to.write(piece);
        from.resume();
        if (isEnded) to.end();
      });
    });
    from.on('end', () => {
      isEnded = true;
      if (!isWaiting) to.end();
    });
  }
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    setDown(down) {
      isDown = down;
      if (down) cut();
    },
    setDelay(ms) {
      delayMs = ms;
    },
    answer(count, status, body = '') {
      const head = `HTTP/1.1 ${status} Fault\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
      answers = { left: count, text: head + body };
    },
    loseAnswer(sent) {
      lost = sent;
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
