import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ElicitInputParams,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  LOG_LEVEL_META_KEY,
  MissingRequiredClientCapabilityError,
  type RequestStateCodec,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';

/** What the fixture's tools share. */
export interface ToolSetting {
  era: 'legacy' | 'modern';
  codec: RequestStateCodec<{ round: number }>;
  /** Notifies all listeners. */
  notify: Pick<ServerNotifier, 'toolsChanged' | 'promptsChanged'>;
}

type Arguments = Record<string, unknown>;
type Result = CallToolResult | InputRequiredResult;
export type FixtureTool = (setting: ToolSetting, ctx: ServerContext, args: Arguments) => Result | Promise<Result>;

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=';
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const PAUSE_MS = 50;

function text(words: string): CallToolResult {
  return { content: [{ type: 'text', text: words }] };
}

const image = { type: 'image', data: PIXEL, mimeType: 'image/png' } as const;

const NAME: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
};
const askName = inputRequired.elicit({ message: 'What is your name?', requestedSchema: NAME });
const askModel = (question: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens: 100,
  });

async function asked(ctx: ServerContext, params: Omit<ElicitRequestFormParams, 'mode'>): Promise<CallToolResult> {
  const { action, content = {} } = await ctx.mcpReq.send({
    method: 'elicitation/create',
    params: params as ElicitInputParams & ElicitRequestFormParams,
  });
  return text(`User response: action=${action}, content=${JSON.stringify(content)}`);
}

/** A tool that asks in the first round, and is done when every question has been answered. */
function once(requests: Parameters<typeof inputRequired>[0]['inputRequests'], hasState: boolean): FixtureTool {
  return async ({ codec }, ctx) => {
    const keys = Object.keys(requests ?? {});
    const isAnswered = keys.every((key) => inputResponse(ctx.mcpReq.inputResponses, key).kind !== 'missing');
    if (isAnswered) return text('state-ok: thank you.');
    return inputRequired({
      ...(requests === undefined ? {} : { inputRequests: requests }),
      ...(hasState ? { requestState: await codec.mint({ round: 1 }, ctx) } : {}),
    });
  };
}

const confirm = inputRequired.elicit({
  message: 'Please confirm',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
});

const multiRound: FixtureTool = async ({ codec }, ctx) => {
  const round = ctx.mcpReq.requestState<{ round: number }>()?.round ?? 0;
  if (round >= 2) return text('All steps are done.');
  const next = round + 1;
  return inputRequired({
    inputRequests: { [`step${next}`]: inputRequired.elicit({ message: `Step ${next}`, requestedSchema: NAME }) },
    requestState: await codec.mint({ round: next }, ctx),
  });
};

const byCapability: FixtureTool = (_, ctx) => {
  const envelope = ctx.mcpReq.envelope as Readonly<Record<string, object | undefined>> | undefined;
  const has = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
  return inputRequired({
    inputRequests: {
      ...('sampling' in has ? { model: askModel('What is the capital of France?') } : {}),
      ...('elicitation' in has ? { user_name: askName } : {}),
    },
  });
};

const logging: FixtureTool = async ({ era }, ctx) => {
  const level = (ctx.mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[LOG_LEVEL_META_KEY];
  for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    if (era === 'legacy' || level !== undefined) {
      await ctx.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
    }
    await sleep(PAUSE_MS);
  }
  return text('The tool has run.');
};

const progress: FixtureTool = async (_, ctx) => {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (const done of [0, 50, 100]) {
    if (progressToken !== undefined) {
      await ctx.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress: done, total: 100 },
      });
    }
    await sleep(PAUSE_MS);
  }
  return text('The tool has run.');
};

const titled = (...values: string[]) => values.map((value) => ({ const: value, title: `The ${value}` }));

const DEFAULTS: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};

const ENUMS: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled('value1', 'value2', 'value3') },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled('value1', 'value2', 'value3') } },
  },
};

/** The tools that the conformance suite calls, by name; the suite says what each must do. */
export const FIXTURE_TOOLS: Readonly<Record<string, FixtureTool>> = {
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({ content: [embedded('test://embedded-resource', 'text/plain', 'Embedded.')] }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  test_tool_with_logging: logging,
  test_logging_tool: logging,
  test_tool_with_progress: progress,
  test_error_handling: () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  test_sampling: async (_, ctx, args) => {
    const { params } = askModel(String(args['prompt'])) as { params: object };
    const answer = await ctx.mcpReq.send({ method: 'sampling/createMessage', params: params as never });
    return text(`LLM response: ${JSON.stringify(answer.content)}`);
  },
  test_elicitation: (_, ctx, args) =>
    asked(ctx, {
      message: String(args['message']),
      requestedSchema: {
        type: 'object',
        properties: { username: { type: 'string' }, email: { type: 'string' } },
        required: ['username', 'email'],
      },
    }),
  test_elicitation_sep1034_defaults: (_, ctx) => asked(ctx, { message: 'Please review', requestedSchema: DEFAULTS }),
  test_elicitation_sep1330_enums: (_, ctx) => asked(ctx, { message: 'Please select', requestedSchema: ENUMS }),
  test_input_required_result_elicitation: once({ user_name: askName }, false),
  test_input_required_result_sampling: once({ capital: askModel('What is the capital of France?') }, false),
  test_input_required_result_list_roots: once({ client_roots: inputRequired.listRoots() }, false),
  test_input_required_result_request_state: once({ confirm }, true),
  test_input_required_result_tampered_state: once({ confirm }, true),
  test_input_required_result_multiple_inputs: once(
    { user_name: askName, greeting: askModel('Generate a greeting'), client_roots: inputRequired.listRoots() },
    true,
  ),
  test_input_required_result_multi_round: multiRound,
  test_input_required_result_capabilities: byCapability,
  test_streaming_elicitation: once({ user_name: askName }, false),
  test_missing_capability: () => {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  },
  test_trigger_tool_change: ({ notify }) => {
    notify.toolsChanged();
    return text('Changed.');
  },
  test_trigger_prompt_change: ({ notify }) => {
    notify.promptsChanged();
    return text('Changed.');
  },
};

function embedded(uri: string, mimeType: string, words: string) {
  return { type: 'resource' as const, resource: { uri, mimeType, text: words } };
}
