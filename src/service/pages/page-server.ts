import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { PAIRED_DAYS } from '../../contract/browsers.ts';
import { ApiError } from '../../contract/errors.ts';
import type { ApprovalDesk } from '../approvals/approval-desk.ts';
import type { QueryLog } from '../queries/query-log.ts';
import { createSigner } from '../signatures.ts';
import { answerQuestion, cameFromElsewherePage, codePage, unpairedPage } from './approve-page.ts';
import { CONTENT_SECURITY_POLICY, failurePage, htmlPage, type Page } from './html.ts';
import type { Overview } from './overview.ts';
import { overviewPage } from './overview-page.ts';
import { cameFromElsewhere, cookiesOf, formOf, notPossible, PAGE_HOST, refused } from './page-checks.ts';
import type { PairedBrowsers } from './paired-browsers.ts';

/** The page on which a human sees what is going on, answers questions and stops queries. */
export interface PageServer {
  /** The address of the page for a question; the listener starts with the first one. Undefined if it cannot listen. */
  urlOf(code: string): Promise<string | undefined>;
  /** Likewise the address that pairs a browser and shows the overview. */
  pairingUrlOf(secret: string): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface PageServerOptions {
  desk: ApprovalDesk;
  browsers: PairedBrowsers;
  queryLog: QueryLog;
  /** What the overview shows. */
  look: () => Promise<Overview>;
  /** Called when a paired browser views the page: the service is in use. */
  inUse: () => void;
  log: Logger;
}

const LIMITS = { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 };
const CONNECTIONS_MAX = 64;
const PATH = /^\/(?:(approve|pair)\/([\w-]{1,64})|(stop|approve)?)$/;
/** What the form for a code requests; a space in it is sent as a plus. */
const CODE_PATH = /^\/approve\?code=([\w+-]{1,64})$/;
const COOKIE_SECS = PAIRED_DAYS * 86_400;
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not "no-referrer", with which browsers would send "Origin: null" for the form.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * The page has a listener of its own on loopback, which serves nothing else, so a proxy or tunnel in front of the API
 * does not expose it. The model knows the address of a question, so the address alone opens nothing: everything is
 * shown to, and accepted from, paired browsers only. The cookie alone cannot answer, since browsers send it to other
 * servers on this machine, too: the code is needed as well, which no page shows. Guessing is hopeless: a code has 58
 * random bits and counts in a paired browser only. So wrong codes need no limit, which could be abused to lock others
 * out.
 */
export function createPageServer({ desk, browsers, queryLog, look, inUse, log }: PageServerOptions): PageServer {
  /** They prove that a form was made here, for one browser and one thing. */
  const tokens = createSigner();

  async function answer(request: IncomingMessage): Promise<Page> {
    const { url = '', method } = request;
    const refusal = refused(request);
    if (refusal !== undefined) return refusal;
    const typed = CODE_PATH.exec(url)?.[1]?.replaceAll('+', '');
    const found = PATH.exec(typed === undefined ? url : `/approve/${typed}`);
    if (found === null) return failurePage(404, 'Not found', 'There is nothing here.');
    // Before anything is looked up: other pages learn nothing and use nothing up.
    if (cameFromElsewhere(request)) return cameFromElsewherePage(url);
    const [, kind = found[3] ?? 'overview', given = ''] = found;
    const browser = cookiesOf(request, browsers.cookie).find((token) => browsers.isPaired(token));
    if (kind === 'pair') return method === 'GET' ? pair(given, browser) : notPossible('GET');
    if (browser === undefined) return unpairedPage(kind === 'approve' && given !== '' ? given : undefined);
    if (typed !== undefined) return seeOther({ location: `/approve/${typed}` });
    if (kind === 'approve' && given === '') return method === 'GET' ? codePage() : notPossible('GET');
    if (kind === 'approve') return answerQuestion({ desk, log }, request, given);
    if (kind === 'stop') return method === 'POST' ? stop(request, browser) : notPossible('POST');
    if (method === 'POST') return notPossible('GET');
    inUse();
    return overviewPage(await look(), (id) => tokens.of([browser, id]));
  }

  async function pair(secret: string, browser: string | undefined): Promise<Page> {
    const token = await browsers.accept(secret, browser);
    if (token === undefined) {
      const why = 'It works once, and for five minutes. "colloquy open" makes another one.';
      return failurePage(404, 'This address does not work any more', why);
    }
    if (token === browser) return seeOther({});
    log.info('a browser was paired');
    const cookie = `${browsers.cookie}=${token}; Path=/; Max-Age=${COOKIE_SECS}; HttpOnly; SameSite=Strict`;
    return seeOther({ 'set-cookie': cookie });
  }

  async function stop(request: IncomingMessage, browser: string): Promise<Page> {
    const form = await formOf(request);
    const id = form.get('query') ?? '';
    if (!tokens.isOf([browser, id], form.get('token') ?? '')) {
      return failurePage(
        422,
        'Nothing was stopped',
        'The form is of an earlier run of the service. Go back and look again.',
      );
    }
    if (!(await queryLog.stop(id))) return failurePage(409, 'Too late', 'The query has ended already.');
    log.info({ query_id: id }, 'a human stopped a query on the page');
    return seeOther({});
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    answer(request)
      .catch((error: unknown) => {
        if (error instanceof ApiError) return failurePage(413, 'Too large', error.message);
        log.error({ err: error }, 'the page failed');
        return failurePage(500, 'Something failed', 'The log of the service has the details. Nothing was changed.');
      })
      .then(({ status, html, headers }) => {
        response.writeHead(status, { ...HEADERS, ...headers, 'content-length': Buffer.byteLength(html) }).end(html);
      })
      .catch(() => response.destroy());
  }

  return createListener(handle, log);
}

/** Redirects to the overview, or elsewhere, with a GET, so that going back or reloading sends no form again. */
function seeOther(headers: Record<string, string>): Page {
  return {
    ...htmlPage('Go on', '<p><a href="/">What goes on</a></p>', { status: 303 }),
    headers: { location: '/', ...headers },
  };
}

/** Listens on loopback once the first address is requested. */
function createListener(handle: (request: IncomingMessage, response: ServerResponse) => void, log: Logger): PageServer {
  let opening: Promise<{ server: Server; port: number }> | undefined;

  async function open() {
    const server = createServer(LIMITS, handle);
    server.maxConnections = CONNECTIONS_MAX;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen({ host: PAGE_HOST, port: 0 }, resolve);
    });
    const { port } = server.address() as AddressInfo;
    log.info({ port }, 'the page listens on loopback');
    return { server, port };
  }

  async function urlOf(path: string): Promise<string | undefined> {
    try {
      opening ??= open();
      const { port } = await opening;
      return `http://${PAGE_HOST}:${port}${path}`;
    } catch (error) {
      opening = undefined;
      log.warn({ err: error }, 'the page cannot listen; "colloquy approve" is left');
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
