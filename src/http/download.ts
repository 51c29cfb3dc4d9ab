import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Agent, type Dispatcher, request } from 'undici';
import { ApiError } from '../contract/errors.ts';
import { isPublic } from './public-addresses.ts';

/** Reads what a URL of an allowed host answers, from addresses of the internet only. */

const REDIRECTS_MAX = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Encodings that whoever reads the content recognizes by its first bytes. */
const ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'x-gzip', 'zstd']);
const LOCATION_CHARS_MAX = 8_000;

export interface DownloadLimits {
  bytesMax: number;
  connectMs: number;
  /** Without any byte. */
  idleMs: number;
  /** Fewer bytes per second than this, on average after `slowMs`, are too slow. */
  bytesPerSecond: number;
  slowMs: number;
}

export const DOWNLOAD_LIMITS: DownloadLimits = {
  bytesMax: 4_000_000_000,
  connectMs: 10_000,
  idleMs: 30_000,
  bytesPerSecond: 1_000,
  slowMs: 60_000,
};

/** How hosts are found and reached; tests have their own. */
export interface Network {
  addressesOf(host: string): Promise<readonly string[]>;
  mayConnect(address: string): boolean;
  tls: ConnectionOptions;
}

const INTERNET: Network = {
  addressesOf: async (host) => (await lookUp(host, { all: true })).map(({ address }) => address),
  mayConnect: isPublic,
  tls: {},
};

export interface DownloadRequest {
  url: URL;
  /** Names of hosts; `*.example.org` are those below it, and `:8443` behind a name allows that port instead of 443. */
  hosts: readonly string[];
  signal?: AbortSignal | undefined;
  limits?: DownloadLimits;
  network?: Network;
}

export interface Download {
  contentType: string;
  /** Rejects if there are too many, they come too slowly, or not all. */
  pieces: AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** Whether a text is a URL, of whatever kind. */
export function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]{1,20}:\/\//i.test(text);
}

/** The URL, if it may be read. Throws `invalid_input` with the reason if not; nothing is asked on the network. */
export function allowedUrl(text: string, hosts: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refused('it is no URL');
  if (url.protocol === 'http:') {
    throw refused('its content could be read and changed on the way. Give the https URL');
  }
  if (url.protocol !== 'https:') throw refused('only files and https URLs are read');
  if (url.username !== '' || url.password !== '') throw refused('it has a user or password in it. Leave them out');
  const { hostname, port } = url;
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) throw refused('it has an address in the place of a host name');
  const name = hostname.replace(/\.$/, '');
  if (hosts.some((host) => fits(host.toLowerCase(), name, port))) return url;
  const which = hosts.length === 0 ? 'no hosts' : `only the hosts ${hosts.join(', ')}`;
  throw refused(
    `the operator allows ${which} to load from (--allow-hosts), and not ${JSON.stringify(url.host.slice(0, 300))}`,
  );
}

function fits(allowed: string, name: string, port: string): boolean {
  const [host = '', itsPort = ''] = allowed.split(':', 2);
  if ((itsPort === '443' ? '' : itsPort) !== port) return false;
  return host.startsWith('*.') ? name.endsWith(host.slice(1)) && name.length >= host.length : host === name;
}

function refused(why: string, cause?: unknown): ApiError {
  return new ApiError('invalid_input', `Cannot load from this URL: ${why}.`, { cause });
}

/** Follows redirects, each as if it had been asked for. Rejects `invalid_input`. */
export async function download({
  url: first,
  hosts,
  signal,
  limits = DOWNLOAD_LIMITS,
  network = INTERNET,
}: DownloadRequest): Promise<Download> {
  const agent = agentFor(network, limits);
  try {
    let url = allowedUrl(first.href, hosts);
    for (let redirects = 0; ; redirects++) {
      const answer = await request(url, { dispatcher: agent, headers: HEADERS, signal: signal ?? null });
      if (!REDIRECTS.has(answer.statusCode)) return contentOf(answer, { agent, limits, signal });
      answer.body.on('error', () => undefined).destroy();
      if (redirects === REDIRECTS_MAX) throw refused(`it redirects more than ${REDIRECTS_MAX} times`);
      url = redirected(url, answer.headers['location'], hosts);
    }
  } catch (error) {
    await agent.destroy();
    throw toApiError(error, { ...limits, signal });
  }
}

const HEADERS = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'colloquy' };

function redirected(from: URL, location: string | string[] | undefined, hosts: readonly string[]): URL {
  const to = typeof location === 'string' && location.length <= LOCATION_CHARS_MAX ? location : '';
  if (to === '' || !URL.canParse(to, from.href)) throw refused('it redirects to nowhere');
  const { href, host } = new URL(to, from.href);
  try {
    return allowedUrl(href, hosts);
  } catch (error) {
    // Its path and query may be secrets of that host.
    const why = (error as Error).message.replace(/^.*?: /, '').replace(/\.$/, '');
    throw refused(`it redirects to ${JSON.stringify(host.slice(0, 300))}, which is not read: ${why}`, error);
  }
}

/** Each connection goes to an address that is checked then, whatever a name stood for before. */
function agentFor({ addressesOf, mayConnect, tls }: Network, { connectMs, idleMs }: DownloadLimits): Agent {
  const lookup: LookupFunction = (host, _, done) => {
    addressesOf(host).then(
      (addresses) => {
        const wrong = addresses.find((address) => !mayConnect(address));
        if (wrong === undefined && addresses.length > 0) {
          return done(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          );
        }
        done(refused(`${JSON.stringify(host)} is ${wrong === undefined ? 'at no address' : SPECIAL}`), []);
      },
      (error) => done(error, []),
    );
  };
  return new Agent({
    connect: { ...tls, lookup, timeout: connectMs, autoSelectFamily: true },
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
    pipelining: 0,
  });
}

const SPECIAL = 'at an address that is private, of this machine, or otherwise none of the internet';

type Reading = { agent: Agent; limits: DownloadLimits; signal: AbortSignal | undefined };

function contentOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { agent, limits, signal }: Reading,
): Download {
  const { bytesMax } = limits;
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  if (statusCode !== 200) throw refused(`its server answers with the status ${statusCode}`);
  if (!ENCODINGS.has(encoding)) throw refused(`its server sends it compressed with ${JSON.stringify(encoding)}`);
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
  async function* pieces() {
    const begun = performance.now();
    let bytes = 0;
    try {
      for await (const piece of body as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > bytesMax) throw tooLarge(bytesMax);
        const ms = performance.now() - begun;
        if (ms > limits.slowMs && (bytes * 1_000) / ms < limits.bytesPerSecond) {
          throw refused(`its server sends fewer than ${limits.bytesPerSecond} bytes per second`);
        }
        yield piece;
      }
    } catch (error) {
      throw toApiError(error, { ...limits, signal });
    } finally {
      await agent.destroy();
    }
  }
  return { contentType: String(headers['content-type'] ?? ''), pieces: pieces(), close: () => agent.destroy() };
}

function tooLarge(bytesMax: number): ApiError {
  return refused(`it has more than ${bytesMax.toLocaleString('en-US')} bytes, the most that is read from a URL`);
}

type Told = Pick<DownloadLimits, 'connectMs' | 'idleMs'> & Pick<Reading, 'signal'>;

function toApiError(error: unknown, { connectMs, idleMs, signal }: Told): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof ApiError || !(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : error.name;
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
      return refused(`its server does not answer within ${connectMs / 1_000} s`, error);
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
      return refused(`its server has sent nothing for ${idleMs / 1_000} s`, error);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return refused('its host is not known', error);
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
      return refused(`its server ended before all was sent (${code})`, error);
    default:
      return refused(`its server cannot be reached, or breaks the protocol (${code})`, error);
  }
}
