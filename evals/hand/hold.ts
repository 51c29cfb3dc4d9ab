import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import type { Data } from '../data/files.ts';
import { type Game, openGame } from './game.ts';
import { placeOf } from './socket.ts';

/** Holds the server and answers commands until `stop`, one after the other. */
export async function hold(data: Data, choice: Parameters<typeof openGame>[1], name: string): Promise<void> {
  const { folder, socket } = placeOf(name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const game = await openGame(data, choice);
  let turn: Promise<unknown> = Promise.resolve();
  const server = createServer((connection) => {
    turn = turn.then(() => serve(connection, game)).then((isLast) => isLast && server.close());
  });
  rmSync(socket, { force: true });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => server.close());
  server.listen(socket);
  await once(server, 'close');
  await game.close();
}

async function serve(connection: Socket, game: Game): Promise<boolean> {
  connection.on('error', () => undefined);
  const words = await lineOf(connection);
  const answer = await game
    .command(words)
    .then((said) => ({ text: said, isError: false }))
    .catch((error: Error) => ({ text: error.message, isError: true }));
  connection.end(JSON.stringify(answer));
  return words[0] === 'stop';
}

/** The words of a command, one line of JSON; none if the other side left before. */
function lineOf(connection: Socket): Promise<string[]> {
  let text = '';
  return new Promise((resolve) => {
    connection.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (text.endsWith('\n')) resolve(JSON.parse(text));
    });
    connection.once('close', () => resolve([]));
  });
}
