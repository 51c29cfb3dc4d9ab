import { createHash } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a load balancer does, and no more: each request goes to the next node, or to another if that one is not there. */
export interface Balancer {
  base: string;
  /** URLs of the nodes; may change. */
  nodes: string[];
  /** Requests that each node was given. */
  given: Map<string, number>;
  /** The URL of the node that requests with this `Authorization` go to, where they stick. */
  nodeOf(authorization: string): string | undefined;
  close(): Promise<void>;
}

/** With `isSticky`, requests of one key go to one node. */
export async function startBalancer(urls: readonly string[], { isSticky = false } = {}): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const given = new Map<string, number>();
  const nodes = [...urls];
  let next = 0;

  const nodeOf = (authorization: string) =>
    nodes[createHash('sha256').update(authorization).digest().readUInt32LE() % nodes.length];

  function pass(incoming: IncomingMessage, answer: ServerResponse, body: Buffer, tries: number): void {
    const { authorization = '' } = incoming.headers;
    const node = isSticky && tries === nodes.length ? nodeOf(authorization) : nodes[next++ % nodes.length];
    if (node === undefined || tries === 0) {
      answer.writeHead(502).end('no node is there');
      return;
    }
    const { method, url, headers } = incoming;
    const sent = request(new URL(url ?? '/', node), { method, headers, agent }, (from) => {
      answer.writeHead(from.statusCode ?? 502, from.headers);
      from.pipe(answer);
      from.on('error', () => answer.destroy());
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // What a node may have begun is not sent to another.
      if (error.code === 'ECONNREFUSED') pass(incoming, answer, body, tries - 1);
      else answer.destroy();
    });
    given.set(node, (given.get(node) ?? 0) + 1);
    sent.end(body);
  }

  const server = createServer(async (incoming, answer) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    pass(incoming, answer, Buffer.concat(parts), nodes.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${port}`,
    nodes,
    given,
    nodeOf,
    async close() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
