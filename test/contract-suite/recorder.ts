import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';

/** One request and its answer as sent over the wire. */
export interface Exchange {
  method: string;
  /** Percent-encoded path with its query string. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
  status: number;
  answerHeaders: IncomingHttpHeaders;
  answer: string;
}

/** A proxy in front of a service's socket that passes bytes on unchanged and keeps a copy. */
export interface Recorder {
  socket: string;
  /** What was exchanged since the last call. */
  take(): Exchange[];
  close(): Promise<void>;
}

export async function startRecorder(folder: string, service: string): Promise<Recorder> {
  let exchanges: Exchange[] = [];
  const server = createServer((incoming, outgoing) => {
    const sent: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => sent.push(chunk));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const body = Buffer.concat(sent);
      const onward = request({ socketPath: service, method, path: url, headers }, (answer) => {
        const received: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => received.push(chunk));
        answer.on('end', () => {
          const text = Buffer.concat(received);
          const status = answer.statusCode ?? 0;
          exchanges.push({
            method,
            url,
            headers,
            body: body.toString('utf8'),
            status,
            answerHeaders: answer.headers,
            answer: text.toString('utf8'),
          });
          outgoing.writeHead(status, answer.headers).end(text);
        });
      });
      onward.on('error', () => outgoing.destroy());
      onward.end(body);
    });
  });
  const socket = join(folder, 'recorder.sock');
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    socket,
    take() {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
