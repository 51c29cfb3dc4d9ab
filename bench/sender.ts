import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** Sends requests whose bodies are made already: what is measured is the service, and not a client that makes them. */
export interface Sender {
  /** Resolves to the text of the answer; rejects if that is an error. */
  send(method: 'POST' | 'PATCH', path: string, body: Buffer): Promise<string>;
  close(): void;
}

export function openSender(socketPath: string, apiKey: string): Sender {
  const agent = new Agent({ keepAlive: true });
  return {
    send: (method, path, body) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `ApiKey ${apiKey}`,
          'content-type': 'application/json',
          'content-length': body.length,
        };
        const sent = request({ agent, socketPath, method, path, headers }, (answer) => {
          text(answer).then((said) => {
            if (answer.statusCode === 200 && !said.includes('"ERROR"')) resolve(said);
            else reject(new Error(`${answer.statusCode}: ${said.slice(0, 300)}`));
          }, reject);
        });
        sent.on('error', reject).end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** The path of a collection's documents. */
export function documentsOf(collection: string): string {
  return `/v1/orgs/self/ws/bench/collections/${collection}/docs`;
}

/** The body of a write of documents, or of patches. */
export function bodyOf(data: readonly unknown[]): Buffer {
  return Buffer.from(JSON.stringify({ data }));
}
