import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a scripted model does next: call a tool, or say something. */
export type Step = { tool: string; args: Record<string, unknown> } | { text: string };

interface Body {
  tools: unknown[];
  messages: unknown[];
}

/** A provider of models on a loopback port that speaks both APIs and does what `next` says; `bodies` are its requests. */
export async function provider(next: (turn: number) => Step) {
  const bodies: Body[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: Body = JSON.parse(Buffer.concat(chunks).toString());
    const step = next(bodies.push(body) - 1);
    const id = `call_${bodies.length}`;
    const answer = request.url === '/v1/messages' ? message(step, id) : completion(step, id);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, bodies, close: () => server.close() };
}

function message(step: Step, id: string) {
  const block =
    'text' in step ? { type: 'text', ...step } : { type: 'tool_use', id, name: step.tool, input: step.args };
  return { content: [block], usage: { input_tokens: 10, output_tokens: 2 } };
}

function completion(step: Step, id: string) {
  const calls =
    'text' in step
      ? []
      : [{ id, type: 'function', function: { name: step.tool, arguments: JSON.stringify(step.args) } }];
  const content = 'text' in step ? step.text : null;
  return {
    choices: [{ message: { role: 'assistant', content, tool_calls: calls } }],
    usage: { prompt_tokens: 10, completion_tokens: 2 },
  };
}
