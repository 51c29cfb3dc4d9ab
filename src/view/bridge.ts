import type { McpUiHostCapabilities, McpUiHostContext } from '@modelcontextprotocol/ext-apps';

/**
 * The view's end of the MCP Apps protocol (SEP-1865, 2026-01-26): JSON-RPC 2.0 in messages to and from the host that
 * frames it. The few methods used here do not justify the package, which brings half a megabyte of schemas.
 */

const PROTOCOL_VERSION = '2026-01-26';
/** The service gives a query two minutes, and a host may ask a person first. */
const ANSWER_WITHIN_MS = 180_000;
const METHOD_NOT_FOUND = -32_601;

/** The answer of a tool call. */
export interface ToolResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

/** Notifications from the host; each may come any number of times. */
export interface Listener {
  input(args: Readonly<Record<string, unknown>>): void;
  result(result: ToolResult): void;
  cancelled(reason: string | undefined): void;
  /** Everything known of the host's context, not only what changed. */
  context(context: McpUiHostContext): void;
}

export interface Bridge {
  context: McpUiHostContext;
  /** Calls a tool of the view's own server; undefined if the host does not let views call tools. */
  callTool: ((name: string, args: Readonly<Record<string, unknown>>) => Promise<ToolResult>) | undefined;
  /** Rejects if the host refuses. */
  requestDisplayMode(mode: 'inline' | 'fullscreen'): Promise<void>;
  /** Reports the height that the view needs, in pixels. */
  tellHeight(height: number): void;
}

interface Message {
  jsonrpc: '2.0';
  id?: number | string;
  method?: string;
  params?: Readonly<Record<string, unknown>>;
  result?: Readonly<Record<string, unknown>>;
  error?: { message?: unknown };
}

interface Waiting {
  resolve(result: Readonly<Record<string, unknown>>): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

function post(message: Omit<Message, 'jsonrpc'>): void {
  window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
}

/** Requests to the host; `settle` receives the answers. */
function createRequests() {
  const waiting = new Map<number | string, Waiting>();
  let lastId = 0;
  const request = (method: string, params: Readonly<Record<string, unknown>>) =>
    new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      const id = ++lastId;
      const late = () => {
        waiting.delete(id);
        reject(new Error(`The host has not answered for ${ANSWER_WITHIN_MS / 60_000} minutes.`));
      };
      waiting.set(id, { resolve, reject, timer: setTimeout(late, ANSWER_WITHIN_MS) });
      post({ id, method, params });
    });
  const settle = ({ id = '', result, error }: Message) => {
    const one = waiting.get(id);
    if (one === undefined) return;
    waiting.delete(id);
    clearTimeout(one.timer);
    if (error === undefined) one.resolve(recordOf(result));
    else one.reject(new Error(textOf(recordOf(error)['message']) ?? 'The host refused, and did not say why.'));
  };
  return { request, settle };
}

/** Does the handshake with the host that frames this window, and listens to it from then on. */
export async function connectToHost(app: { name: string; version: string }, listener: Listener): Promise<Bridge> {
  let context: McpUiHostContext = {};
  const { request, settle } = createRequests();
  const told = (method: string, params: Readonly<Record<string, unknown>>) => {
    if (method === 'ui/notifications/tool-input') listener.input(recordOf(params['arguments']));
    else if (method === 'ui/notifications/tool-result') listener.result(params);
    else if (method === 'ui/notifications/tool-cancelled') listener.cancelled(textOf(params['reason']));
    else if (method === 'ui/notifications/host-context-changed') {
      context = { ...context, ...params };
      listener.context(context);
    }
  };
  const asked = (id: number | string, method: string) => {
    if (method === 'ping' || method === 'ui/resource-teardown') post({ id, result: {} });
    else
      post({ id, error: { code: METHOD_NOT_FOUND, message: `This view has no method ${method}` } as Message['error'] });
  };
  window.addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
    if (source !== window.parent || recordOf(data)['jsonrpc'] !== '2.0') return;
    const { id, method, params } = data as Message;
    if (typeof method === 'string') {
      if (id === undefined) told(method, recordOf(params));
      else asked(id, method);
      return;
    }
    settle(data as Message);
  });

  const greeting = await request('ui/initialize', {
    protocolVersion: PROTOCOL_VERSION,
    appInfo: app,
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
  });
  const capabilities = recordOf(greeting['hostCapabilities']) as McpUiHostCapabilities;
  context = { ...recordOf(greeting['hostContext']), ...context };
  listener.context(context);
  post({ method: 'ui/notifications/initialized', params: {} });
  return {
    get context() {
      return context;
    },
    callTool:
      capabilities.serverTools === undefined
        ? undefined
        : (name, args) => request('tools/call', { name, arguments: args }),
    requestDisplayMode: async (mode) => {
      const { mode: now } = await request('ui/request-display-mode', { mode });
      if (now !== mode) throw new Error(`The host stays in the display mode ${textOf(now) ?? 'it has'}.`);
    },
    tellHeight: (height) => post({ method: 'ui/notifications/size-changed', params: { height } }),
  };
}

/** The value if it is an object, otherwise an empty one. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
