import type { JSONRPCMessage, Server } from '@modelcontextprotocol/server';

/** Of a resource that is not there, in the protocols of 2025; later ones, and so the SDK for all, say -32602. */
const NOT_FOUND_2025 = -32002;
const INVALID_PARAMS = -32602;

/** Lets a server of the 2025 era answer reading what is not there as the protocols of that era have it. */
export function answerMissesAs2025(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(withCodeOf2025(message), options);
    await connect(transport);
  };
}

/** The SDK's error of a missing resource is told by its data: the address, and nothing else. */
function withCodeOf2025(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message) || message.error.code !== INVALID_PARAMS) return message;
  const { data } = message.error;
  const isMiss = typeof data === 'object' && data !== null && Object.keys(data).join() === 'uri';
  return isMiss ? { ...message, error: { ...message.error, code: NOT_FOUND_2025 } } : message;
}
