import { type Ask, type Model, post, type Told } from './model.ts';

const ANSWER_TOKENS_MAX = 8_192;

interface Message {
  content: Block[];
  usage?: { input_tokens?: number; output_tokens?: number };
}

type Block =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };

/** A model behind Anthropic's messages (`base`: the URL up to `/v1`). */
export function anthropic(
  model: string,
  base = 'https://api.anthropic.com/v1',
  key = process.env['ANTHROPIC_API_KEY'],
): Model {
  const headers = { 'anthropic-version': '2023-06-01', ...(key === undefined ? {} : { 'x-api-key': key }) };
  return async ({ system, tools, told }: Ask) => {
    const body = {
      model,
      max_tokens: ANSWER_TOKENS_MAX,
      system,
      messages: messages(told),
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
    };
    const { content, usage } = (await post(`${base}/messages`, headers, body)) as Message;
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: content.flatMap((block) =>
        block.type === 'tool_use' ? [{ id: block.id, tool: block.name, args: block.input }] : [],
      ),
      usage: { input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0 },
    };
  };
}

/** Results of tools that were called together are one message. */
function messages(told: readonly Told[]) {
  const found: { role: 'user' | 'assistant'; content: object[] }[] = [];
  for (const one of told) {
    const role = one.role === 'assistant' ? 'assistant' : 'user';
    const last = found.at(-1);
    const content = blocks(one);
    if (last?.role === role) last.content.push(...content);
    else found.push({ role, content });
  }
  return found;
}

function blocks(one: Told): object[] {
  if (one.role === 'tool') {
    return [{ type: 'tool_result', tool_use_id: one.id, content: one.text, is_error: one.isError }];
  }
  const text = one.text === '' ? [] : [{ type: 'text', text: one.text }];
  if (one.role === 'user') return text;
  return [...text, ...one.calls.map(({ id, tool, args = {} }) => ({ type: 'tool_use', id, name: tool, input: args }))];
}
