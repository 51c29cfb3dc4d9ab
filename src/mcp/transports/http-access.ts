import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { ApiError } from '../../contract/errors.ts';

/** Names that requests may be addressed to and come from, besides this machine's own. */
export interface Access {
  /** Host names without port, with IPv6 addresses in brackets, as in the client's URL. */
  hosts?: readonly string[] | undefined;
  /** Host names of web pages that may call from a browser; `<scheme>://*` for all of a browser extension's scheme. */
  origins?: readonly string[] | undefined;
}

/** A host name or address with a port, without characters that a URL would interpret. */
const HOST = /^[^\s@/\\?#]+$/;
const SHOWN_MAX = 100;
const METHODS = 'GET, POST, DELETE';
const SENT =
  'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id';
const READ = 'mcp-session-id, www-authenticate, retry-after, x-trace-id';

/**
 * Checks `Host` and `Origin`, so that no web page reaches the server through a browser on this machine, even under a
 * name that resolves to it (DNS rebinding). Throws `forbidden`; true: it was a browser's preflight, and is answered.
 */
export function createAccess({ hosts = [], origins = [] }: Access) {
  const hostnames = [...localhostAllowedHostnames(), ...hosts.map((name) => name.toLowerCase())];
  const originHostnames = [...localhostAllowedOrigins(), ...origins.map((name) => name.toLowerCase())];
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { host, origin } = request.headers;
    if (!HOST.test(host ?? '') || !validateHostHeader(host, hostnames).ok) {
      throw refusal(`for the host "${shown(host)}"`, 'host', '--allowed-hosts');
    }
    if (!validateOriginHeader(origin, originHostnames).ok) {
      throw refusal(`from a web page of "${shown(origin)}"`, 'page', '--allowed-origins');
    }
    if (origin === undefined || origin === '') return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', READ);
    response.setHeader('vary', 'origin');
    if (request.method !== 'OPTIONS') return false;
    response.setHeader('access-control-allow-methods', METHODS);
    response.setHeader('access-control-allow-headers', SENT);
    response.setHeader('access-control-max-age', '86400');
    response.writeHead(204).end();
    return true;
  };
}

function refusal(what: string, kind: string, setting: string): ApiError {
  const fix = `Name that ${kind} in the setting "${setting}" of the service, if it is meant to be reached so.`;
  return new ApiError('forbidden', `Cannot answer a request ${what}: it is not one that this server expects. ${fix}`);
}

function shown(header: string | undefined): string {
  return (header ?? '').slice(0, SHOWN_MAX);
}
