import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * How one model API says what there is, and is answered. Of a request: `tools(body)` gives our tools by their own name, as
 * the call that runs one; `told(body)` is what the client added last. `reply` writes a call or a text.
 */
const APIS = [
  {
    path: /^\/v1\/messages(\?|$)/,
    tools: ({ tools = [] }) => named(tools.map(({ name }) => ({ name }))),
    told: ({ messages }) => messages.at(-1),
    reply(response, { model }, id, call) {
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage };
      const block = call ? { type: 'tool_use', id, name: call.name, input: {} } : { type: 'text', text: '' };
      const delta = call
        ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
        : { type: 'text_delta', text: 'Done.' };
      const end = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null };
      stream(response, [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: end, usage },
        { type: 'message_stop' },
      ]);
    },
  },
  {
    path: /^\/v1\/responses/,
    tools: ({ tools = [] }) =>
      named(
        tools.flatMap(({ name, type, tools: inner = [] }) =>
          type === 'namespace' ? inner.map((tool) => ({ name: tool.name, namespace: name })) : [{ name }],
        ),
      ),
    told: ({ input }) => input.at(-1),
    reply(response, _body, id, call) {
      const { input, ...target } = call ?? {};
      const item = call
        ? { type: 'function_call', id, call_id: id, ...target, arguments: JSON.stringify(input) }
        : { type: 'message', id, role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      stream(response, [
        { type: 'response.created', response: { id } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { id, output: [item], usage } },
      ]);
    },
  },
  {
    path: /^\/v1\/chat\/completions/,
    tools: ({ tools = [] }) => named(tools.map((tool) => ({ name: tool.function.name }))),
    told: ({ messages }) => messages.at(-1),
    reply(response, { model }, id, call) {
      const chunk = (delta, finish_reason = null) => {
        return {
          id,
          object: 'chat.completion.chunk',
          created: 1,
          model,
          choices: [{ index: 0, delta, finish_reason }],
        };
      };
      const said = call && { name: call.name, arguments: JSON.stringify(call.input) };
      const tool_calls = [{ index: 0, id, type: 'function', function: said }];
      stream(response, [
        chunk(call ? { role: 'assistant', tool_calls } : { role: 'assistant', content: 'Done.' }),
        chunk({}, call ? 'tool_calls' : 'stop'),
      ]);
    },
  },
  {
    path: /GenerateContent/,
    tools: ({ tools = [] }) =>
      named(tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => ({ name })))),
    told: ({ contents }) => contents.at(-1),
    reply(response, _body, _id, call) {
      const part = call ? { functionCall: { name: call.name, args: call.input } } : { text: 'Done.' };
      stream(response, [
        { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }] },
      ]);
    },
  },
];

/** Our tools of those that were offered. Clients put the server's name before each tool's, or above all of them. */
function named(calls) {
  const ours = calls.filter(({ name, namespace }) => /colloquy/.test(`${namespace} ${name}`));
  return new Map(ours.map((call) => [call.name.replace(/^(?:mcp_+)?colloquy_+/, ''), call]));
}

function stream(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    response.write(`${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/**
 * A model on a loopback port that calls the tools of `steps` one after the other, over whichever API it is asked. `step`:
 * `{tool, input}`. `seen` collects what the client says after each call; `tools` are the names offered to it at first.
 */
export async function scriptedModel(steps) {
  const model = { url: '', tools: [], seen: [], close: () => server.close() };
  let next = 0;
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const api = APIS.find(({ path }) => path.test(request.url));
    if (api === undefined || request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"models":[],"totalTokens":1}');
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks));
    const tools = api.tools(body);
    // Clients ask for titles and the like as well, without our tools.
    const isTurn = tools.has('run_query');
    if (isTurn && next === 0) model.tools = [...tools.keys()];
    if (isTurn && next > 0) model.seen.push(JSON.stringify(api.told(body)));
    const step = isTurn ? steps[next++] : undefined;
    const target = step && (tools.get(step.tool) ?? { name: step.tool });
    api.reply(response, body, `id_${next}_${process.pid}`, step && { ...target, input: step.input });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  model.url = `http://127.0.0.1:${server.address().port}`;
  return model;
}
