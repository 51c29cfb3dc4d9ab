import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server';

/** Error code for a missing resource in the 2025 protocols; later ones, and the SDK in all cases, use -32602. */
const NOT_FOUND_2025 = -32002;
const INVALID_PARAMS = -32602;

/** Makes a server of the 2025 era answer reads of missing resources with the code of that era. */
export function answerMissesAs2025(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(withCodeOf2025(message), options);
    await connect(transport);
  };
}

/** The SDK's error for a missing resource is recognized by its data: the URI and nothing else. */
function withCodeOf2025(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message) || message.error.code !== INVALID_PARAMS) return message;
  const { data } = message.error;
  const isMiss = typeof data === 'object' && data !== null && Object.keys(data).join() === 'uri';
  return isMiss ? { ...message, error: { ...message.error, code: NOT_FOUND_2025 } } : message;
}
