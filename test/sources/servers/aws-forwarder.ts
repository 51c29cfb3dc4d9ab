import { createServer, request } from 'node:http';

type Body = Record<string, unknown>;

/** Stands before a server of one of AWS's JSON protocols and does what the server cannot be brought to do. */
export interface AwsForwarder {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Passes requests on to a port of 127.0.0.1: as they are, or with the body that `change` makes; or answers them with the error
 * that it names. `operation` is such as `GetRecords`.
 */
export async function startAwsForwarder(
  target: number,
  change: (operation: string, body: Body) => Body | { error: string },
): Promise<AwsForwarder> {
  const server = createServer((from, to) => {
    const pieces: Buffer[] = [];
    from.on('data', (piece: Buffer) => pieces.push(piece));
    from.on('end', () => {
      const operation = String(from.headers['x-amz-target']).split('.').at(-1) ?? '';
      const made = change(operation, JSON.parse(Buffer.concat(pieces).toString()));
      if ('error' in made) {
        to.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
        to.end(JSON.stringify({ __type: `com.amazonaws#${made['error']}`, message: 'as the test has it' }));
        return;
      }
      const body = Buffer.from(JSON.stringify(made));
      const headers = { ...from.headers, 'content-length': String(body.length) };
      const on = request({ port: target, host: '127.0.0.1', method: 'POST', path: from.url, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(to);
      });
      on.on('error', () => to.destroy());
      on.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
