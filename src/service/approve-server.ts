import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.ts';
import { isLoopback, parseAddress } from './addresses.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import { answeredPage, CONTENT_SECURITY_POLICY, failurePage, type Page, questionPage } from './approve-page.ts';

/** The page at which a human answers. */
export interface ApprovePage {
  /** The address of the page for a question; the listener opens with the first. Undefined where it cannot. */
  urlOf(code: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const LIMITS = { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 };
const CONNECTIONS_MAX = 64;
const BODY_BYTES_MAX = 8 * 1024;
/** Wrong codes within a minute; from then on nobody is answered until it is over. */
export const WRONG_CODES_MAX = 20;
const MINUTE_MS = 60_000;
const PATH = /^\/approve\/([\w-]{1,64})$/;
/** What a proxy adds: through one, others than this machine's people would reach the page. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not "no-referrer": with it browsers send "Origin: null" for the form.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * The page on a listener of its own, on loopback, which offers nothing else: what is put in front of the API (a proxy, a
 * tunnel) does not show it to the world.
 */
export function createApprovePage(desk: ApprovalDesk, log: Logger, now: () => number = Date.now): ApprovePage {
  const wrongAt: number[] = [];
  let opening: Promise<{ server: Server; port: number }> | undefined;

  /** False once too many codes were wrong within a minute. */
  function mayTry(): boolean {
    while (wrongAt[0] !== undefined && wrongAt[0] <= now() - MINUTE_MS) wrongAt.shift();
    return wrongAt.length < WRONG_CODES_MAX;
  }

  async function answer(request: IncomingMessage): Promise<Page> {
    const refusal = refused(request);
    if (refusal !== undefined) return refusal;
    const code = PATH.exec(request.url ?? '')?.[1];
    if (code === undefined) return failurePage(404, 'Not found', 'There is nothing here.');
    if (!mayTry()) return failurePage(429, 'Too many wrong codes', 'Wait a minute, or use the terminal.');
    const asked = desk.find(code);
    if (asked === undefined) {
      wrongAt.push(now());
      return failurePage(
        404,
        'No such question',
        'The code is mistyped, the question has expired, or its answer was used. Nothing was changed by opening this page.',
      );
    }
    if (request.method !== 'POST') {
      return asked.status === 'pending' ? questionPage(asked, desk.formToken(asked)) : answeredPage(asked);
    }
    const form = new URLSearchParams(await bodyOf(request));
    const decision = form.get('decision');
    // While the body arrived, the question may have been answered elsewhere.
    if (desk.find(code) !== asked || asked.status !== 'pending') {
      return failurePage(409, 'Too late', 'The question was answered already, or has expired.');
    }
    if (!desk.isFormToken(asked, form.get('token') ?? '')) {
      return questionPage(asked, desk.formToken(asked), 'The question has changed since you opened it. Look again.');
    }
    if (decision !== 'approve' && decision !== 'decline')
      return failurePage(400, 'Bad request', 'No answer was given.');
    try {
      const answered = desk.decide(code, decision, form.get('name') ?? undefined);
      log.info({ tool: answered.tool, answer: answered.status }, 'a human answered on the page');
      return answeredPage(answered);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return questionPage(asked, desk.formToken(asked), error.message);
    }
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    answer(request)
      .catch((error: unknown) => {
        if (error instanceof ApiError) return failurePage(413, 'Too large', error.message);
        log.error({ err: error }, 'the approval page failed');
        return failurePage(500, 'Something failed', 'The log of the service has the details. Nothing was changed.');
      })
      .then(({ status, html }) => {
        if (status === 405) response.setHeader('allow', 'GET, POST');
        response.writeHead(status, { ...HEADERS, 'content-length': Buffer.byteLength(html) }).end(html);
      })
      .catch(() => response.destroy());
  }

  async function open() {
    const server = createServer(LIMITS, handle);
    server.maxConnections = CONNECTIONS_MAX;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen({ host: HOST, port: 0 }, resolve);
    });
    const { port } = server.address() as AddressInfo;
    log.info({ port }, 'the approval page listens on loopback');
    return { server, port };
  }

  return {
    async urlOf(code) {
      try {
        opening ??= open();
        const { port } = await opening;
        return `http://${HOST}:${port}/approve/${code}`;
      } catch (error) {
        opening = undefined;
        log.warn({ err: error }, 'the approval page cannot listen; "colloquy approve" is left');
        return undefined;
      }
    },
    async close() {
      const opened = await opening?.catch(() => undefined);
      if (opened === undefined) return;
      await new Promise<void>((resolve) => {
        opened.server.close(() => resolve());
        opened.server.closeAllConnections();
      });
    },
  };
}

/** Refuses whoever is not a person's browser on this machine, as far as HTTP can tell. */
function refused(request: IncomingMessage): Page | undefined {
  const { headers, method, socket } = request;
  const peer = parseAddress(socket.remoteAddress ?? '');
  if (peer === undefined || !isLoopback(peer) || PROXY_HEADERS.some((name) => headers[name] !== undefined)) {
    return failurePage(403, 'Refused', 'This page is for the people at this machine, without a proxy.');
  }
  // Another name that leads here belongs to a page of somebody else (DNS rebinding).
  const hosts = [HOST, 'localhost'].map((name) => `${name}:${socket.localPort}`);
  const host = headers.host ?? '';
  if (!hosts.includes(host)) return failurePage(403, 'Refused', `Open this page at http://${hosts[0]}.`);
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (method !== 'POST') return failurePage(405, 'Not possible', 'This page knows GET and POST.');
  const site = headers['sec-fetch-site'];
  if (headers.origin !== `http://${host}` || (site !== undefined && site !== 'same-origin')) {
    return failurePage(403, 'Refused', 'An answer counts only when it is given on the page itself.');
  }
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(headers['content-type'] ?? '')) {
    return failurePage(415, 'Refused', 'An answer comes from the form of this page.');
  }
  return undefined;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new ApiError('content_too_large', 'The form is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
