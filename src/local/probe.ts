import { ApiError } from '../contract/errors.ts';
import { resolveTarget } from '../http/target.ts';
import { openTransport, type RawRequest, type RawResponse, wasNeverSent } from '../http/transport.ts';
import type { Program } from './version.ts';

/** The result of a probe. `busy`: somebody listens, but is not ready (starting, leaving, or slow). */
export type Presence = { state: 'absent' } | { state: 'busy' } | Ready | { state: 'foreign'; why: string };

/** A service that answers. */
export interface Ready extends Program {
  state: 'ready';
  pid: number;
  /** Whether it was started with `serve`, by somebody who also ends it; false if it does not say. */
  isForeground: boolean;
}

const PROBE_MS = 2_000;
const LEAVE_MS = 10_000;
const RESPONSE_BYTES_MAX = 64 * 1024;

async function send(
  socketPath: string,
  timeoutMs: number,
  request: Pick<RawRequest, 'method' | 'path' | 'headers'>,
): Promise<RawResponse> {
  // A new connection for each probe: a kept-alive one would not tell who listens now.
  const transport = openTransport(resolveTarget({ socketPath }), { connectTimeoutMs: timeoutMs });
  try {
    return await transport.send({
      ...request,
      purpose: 'the local service',
      signal: AbortSignal.timeout(timeoutMs),
      responseBytesMax: RESPONSE_BYTES_MAX,
    });
  } finally {
    await transport.close();
  }
}

/** Finds out who listens on a socket; never rejects. */
export async function probe(socketPath: string): Promise<Presence> {
  let response: RawResponse;
  try {
    response = await send(socketPath, PROBE_MS, { method: 'GET', path: '/ready', headers: {} });
  } catch (error) {
    return wasNeverSent(error) ? { state: 'absent' } : { state: 'busy' };
  }
  if (response.status === 503) return { state: 'busy' };
  const body = readyBody(response.text);
  if (response.status !== 200 || body === undefined) {
    return { state: 'foreign', why: `it answered ${response.status} to GET /ready` };
  }
  if (!body.ready) return { state: 'busy' };
  const { version, build, pid, isForeground } = body;
  return { state: 'ready', version, build, pid, isForeground };
}

function readyBody(text: string): (Omit<Ready, 'state'> & { ready: boolean }) | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null) return undefined;
    const { ready, version, build, pid, foreground } = body as Record<string, unknown>;
    if (typeof ready !== 'boolean' || typeof version !== 'string' || typeof pid !== 'number') return undefined;
    return {
      ready,
      version,
      build: typeof build === 'string' ? build : undefined,
      pid,
      isForeground: foreground === true,
    };
  } catch {
    return undefined;
  }
}

/**
 * Asks the service on a socket to finish what is running and leave; resolves when it has agreed or is gone already.
 * Rejects `connection_failed` if it refuses.
 */
export async function askToLeave(socketPath: string, adminKey: string): Promise<void> {
  let response: RawResponse;
  try {
    const headers = { authorization: `ApiKey ${adminKey}` };
    response = await send(socketPath, LEAVE_MS, { method: 'POST', path: '/local/leave', headers });
  } catch {
    // It may close the connection while it leaves; the next probe tells whether it is gone.
    return;
  }
  if (response.status >= 400 && response.status !== 503) {
    throw new ApiError('connection_failed', `it refused to leave (${response.status})`, { status: response.status });
  }
}
