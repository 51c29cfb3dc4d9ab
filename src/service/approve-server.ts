import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { PAIRED_DAYS } from '../contract/browsers.ts';
import { ApiError } from '../contract/errors.ts';
import { isLoopback, parseAddress } from './addresses.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import {
  answeredPage,
  CONTENT_SECURITY_POLICY,
  cameFromElsewherePage,
  failurePage,
  type Page,
  pairedPage,
  questionPage,
  unpairedPage,
} from './approve-page.ts';
import type { PairedBrowsers } from './paired-browsers.ts';

/** The page at which a human answers. */
export interface ApprovePage {
  /** The address of the page for a question; the listener opens with the first. Undefined where it cannot. */
  urlOf(code: string): Promise<string | undefined>;
  /** The same for the address that pairs a browser. */
  pairingUrlOf(secret: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const LIMITS = { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 };
const CONNECTIONS_MAX = 64;
const BODY_BYTES_MAX = 8 * 1024;
const PATH = /^\/(approve|pair)\/([\w-]{1,64})$/;
const COOKIE_SECS = PAIRED_DAYS * 86_400;
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
 * tunnel) does not show it to the world. The address of a question is known to the model, so it alone opens nothing: a
 * question is shown to, and answered by, a browser that was paired. There is nothing to guess: a code has 58 random bits
 * and counts in a paired browser only, so wrong ones need no limit, which whoever sends them could use to lock others out.
 */
export function createApprovePage(desk: ApprovalDesk, browsers: PairedBrowsers, log: Logger): ApprovePage {
  let opening: Promise<{ server: Server; port: number }> | undefined;

  async function answer(request: IncomingMessage): Promise<Page> {
    const { url = '', method } = request;
    const refusal = refused(request);
    if (refusal !== undefined) return refusal;
    const [, kind, given = ''] = PATH.exec(url) ?? [];
    if (kind === undefined) return failurePage(404, 'Not found', 'There is nothing here.');
    // Before anything is looked up: other pages learn nothing, and use nothing up.
    if (cameFromElsewhere(request)) return cameFromElsewherePage(url);
    if (kind === 'pair') return method === 'GET' ? pair(given) : notPossible('GET');
    const isPaired = cookiesOf(request, browsers.cookie).some((token) => browsers.isPaired(token));
    return isPaired ? answerPaired(request, given) : unpairedPage(given);
  }

  async function pair(secret: string): Promise<Page> {
    const token = await browsers.accept(secret);
    if (token === undefined) {
      const why = 'It works once, and for five minutes. "colloquy approve --browser" prints another one.';
      return failurePage(404, 'This address does not work any more', why);
    }
    log.info('a browser was paired');
    const cookie = `${browsers.cookie}=${token}; Path=/; Max-Age=${COOKIE_SECS}; HttpOnly; SameSite=Strict`;
    return { ...pairedPage(), headers: { 'set-cookie': cookie } };
  }

  async function answerPaired(request: IncomingMessage, code: string): Promise<Page> {
    const asked = desk.find(code);
    if (asked === undefined) {
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
      .then(({ status, html, headers }) => {
        response.writeHead(status, { ...HEADERS, ...headers, 'content-length': Buffer.byteLength(html) }).end(html);
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

  async function urlOf(path: string): Promise<string | undefined> {
    try {
      opening ??= open();
      const { port } = await opening;
      return `http://${HOST}:${port}${path}`;
    } catch (error) {
      opening = undefined;
      log.warn({ err: error }, 'the approval page cannot listen; "colloquy approve" is left');
      return undefined;
    }
  }

  return {
    urlOf: (code) => urlOf(`/approve/${code}`),
    pairingUrlOf: (secret) => urlOf(`/pair/${secret}`),
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
  // Another name that leads here belongs to a page of somebody else (DNS rebinding), or has no pairing ("localhost").
  const host = `${HOST}:${socket.localPort}`;
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

function notPossible(allow: string): Page {
  return {
    ...failurePage(405, 'Not possible', `This page knows ${allow.replace(', ', ' and ')}.`),
    headers: { allow },
  };
}

/** Browsers say whether a page of somebody else, be it on another port of this machine, led or reached here. */
function cameFromElsewhere({ headers, method }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return method !== 'POST' && site !== undefined && site !== 'none' && site !== 'same-origin';
}

/** The values of all cookies of that name. */
function cookiesOf({ headers }: IncomingMessage, name: string): string[] {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
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
