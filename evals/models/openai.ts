import { type Ask, type Model, post, type Told, type Wanted } from './model.ts';

interface Completion {
  choices: { message: { content?: string | null; tool_calls?: ToolCall[] } }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number };
}

interface ToolCall {
  id: string;
  function: { name: string; arguments: string };
}

/** A model behind chat completions, of OpenAI or of whoever speaks the same (`base`: the URL up to `/v1`). */
export function openai(model: string, base = 'https://api.openai.com/v1', key = process.env['OPENAI_API_KEY']): Model {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return async ({ system, tools, told }: Ask) => {
    const body = {
      model,
      messages: [{ role: 'system', content: system }, ...told.map(message)],
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema },
      })),
    };
    const { choices, usage } = (await post(`${base}/chat/completions`, headers, body)) as Completion;
    const { content, tool_calls = [] } = choices[0]?.message ?? {};
    return {
      text: content ?? '',
      calls: tool_calls.map(wanted),
      usage: { input: usage?.prompt_tokens ?? 0, output: usage?.completion_tokens ?? 0 },
    };
  };
}

function wanted({ id, function: { name, arguments: json } }: ToolCall): Wanted {
  try {
    return { id, tool: name, args: JSON.parse(json === '' ? '{}' : json) };
  } catch {
    return { id, tool: name, args: undefined };
  }
}

function message(one: Told) {
  if (one.role === 'user') return { role: 'user', content: one.text };
  if (one.role === 'tool') return { role: 'tool', tool_call_id: one.id, content: one.text };
  const tool_calls = one.calls.map(({ id, tool, args = {} }) => ({
    id,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(args) },
  }));
  return { role: 'assistant', content: one.text, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
}
