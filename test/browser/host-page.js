// The page of a minimal host: frames a view as hosts do, with the official end of the protocol on this side.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** What a host must allow a view that asks for nothing (SEP-1865). */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

/** Opens the view; `callTool` is what the test process answers the view's calls with, where it may call. */
globalThis.openView = async ({ html, context, args, result, canCall }) => {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.title = 'view';
  const bridge = new AppBridge(null, { name: 'test-host', version: '1' }, canCall ? { serverTools: {} } : {}, {
    hostContext: context,
  });
  globalThis.bridge = bridge;
  globalThis.heights = [];
  if (canCall) bridge.oncalltool = (params) => globalThis.callTool(params);
  bridge.onrequestdisplaymode = async ({ mode }) => {
    globalThis.wantedMode = mode;
    bridge.setHostContext({ ...context, displayMode: mode });
    return { mode };
  };
  bridge.addEventListener('sizechange', ({ height }) => {
    globalThis.heights.push(height);
    frame.style.height = `${height}px`;
  });
  const ready = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
  document.body.append(frame);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html.replace('<head>', `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  await ready;
  if (args !== undefined) await bridge.sendToolInput({ arguments: args });
  if (result !== undefined) await bridge.sendToolResult(result);
};
