import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../contract/errors.ts';
import { isLoopback, parseAddress } from '../app/addresses.ts';
import { failurePage, type Page } from './html.ts';

export const PAGE_HOST = '127.0.0.1';

const BODY_BYTES_MAX = 8 * 1024;
/** Headers that proxies add: through a proxy, others than the people at this machine could reach the page. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Refuses requests that do not come from a person's browser on this machine, as far as HTTP can tell. */
export function refused(request: IncomingMessage): Page | undefined {
  const { headers, method, socket } = request;
  const peer = parseAddress(socket.remoteAddress ?? '');
  if (peer === undefined || !isLoopback(peer) || PROXY_HEADERS.some((name) => headers[name] !== undefined)) {
    return failurePage(403, 'Refused', 'This page is for the people at this machine, without a proxy.');
  }
  // Another name for this address belongs to somebody else's page (DNS rebinding), or has no pairing ("localhost").
  const host = `${PAGE_HOST}:${socket.localPort}`;
  if (headers.host !== host) return failurePage(403, 'Refused', `Open this page at http://${host}.`);
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (method !== 'POST') return notPossible('GET, POST');
  const site = headers['sec-fetch-site'];
  if (headers.origin !== `http://${host}` || (site !== undefined && site !== 'same-origin')) {
    return failurePage(403, 'Refused', 'An answer counts only when it is given on the page itself.');
  }
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(headers['content-type'] ?? '')) {
    return failurePage(415, 'Refused', 'An answer comes from the form of this page.');
  }
  return undefined;
}

export function notPossible(allow: string): Page {
  return {
    ...failurePage(405, 'Not possible', `This page knows ${allow.replace(', ', ' and ')}.`),
    headers: { allow },
  };
}

/** Whether, by the browser's word, somebody else's page (perhaps on another port) led or sent this request here. */
export function cameFromElsewhere({ headers, method }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return method !== 'POST' && site !== undefined && site !== 'none' && site !== 'same-origin';
}

/** The values of all cookies with that name. */
export function cookiesOf({ headers }: IncomingMessage, name: string): string[] {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

/** The fields of a form. Throws `content_too_large`. */
export async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new ApiError('content_too_large', 'The form is too large.');
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}
