import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { ApprovalDesk, Asked } from '../approvals/approval-desk.ts';
import { escaped, failurePage, htmlPage, type Page } from './html.ts';
import { formOf } from './page-checks.ts';

const BACK = '<p><a href="/">What else is going on</a></p>';

/** Shows a question to a paired browser, or takes its answer. */
export async function answerQuestion(
  { desk, log }: { desk: ApprovalDesk; log: Logger },
  request: IncomingMessage,
  code: string,
): Promise<Page> {
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
  const form = await formOf(request);
  const decision = form.get('decision');
  // The question may have been answered elsewhere while the body arrived.
  if (desk.find(code) !== asked || asked.status !== 'pending') {
    return failurePage(409, 'Too late', 'The question was answered already, or has expired.');
  }
  if (!desk.isFormToken(asked, form.get('token') ?? '')) {
    return questionPage(asked, desk.formToken(asked), 'The question has changed since you opened it. Look again.');
  }
  if (decision !== 'approve' && decision !== 'decline') return failurePage(400, 'Bad request', 'No answer was given.');
  try {
    const answered = desk.decide(code, decision, form.get('name') ?? undefined, 'page');
    log.info({ tool: answered.tool, answer: answered.status }, 'a human answered on the page');
    return answeredPage(answered);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return questionPage(asked, desk.formToken(asked), error.message);
  }
}

/** The question with its form; `wrong` says why an earlier answer was not accepted. */
export function questionPage(asked: Asked, token: string, wrong?: string): Page {
  const { code, tool, message, typedName, asker, expiresAt } = asked;
  const name =
    typedName === undefined
      ? ''
      : `<label for="name">To approve, type <code>${escaped(typedName)}</code></label>
<input type="text" id="name" name="name" required autocomplete="off" autocapitalize="off" spellcheck="false">`;
  return htmlPage(
    'An assistant asks for your approval',
    `${wrong === undefined ? '' : `<p class="wrong">${escaped(wrong)}</p>`}
<p class="question">${escaped(message)}</p>
<form method="post" action="/approve/${encodeURIComponent(code)}">
<input type="hidden" name="token" value="${escaped(token)}">
${name}
<button class="go" name="decision" value="approve">Approve</button>
<button name="decision" value="decline" formnovalidate>Decline</button>
</form>
<p class="note">Tool <code>${escaped(tool)}</code>, called ${escaped(calledBy(asker))}. Code ${escaped(code)}, until
${new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC. Nothing has been changed so far.</p>
${BACK}`,
    { status: wrong === undefined ? 200 : 422 },
  );
}

function calledBy({ client, email }: Asked['asker']): string {
  return client === undefined
    ? `for ${email}`
    : `by a client that calls itself ${JSON.stringify(client)}, for ${email}`;
}

/** Asks for the code of a question, which no page shows: see `page-server.ts`. */
export function codePage(): Page {
  return htmlPage(
    'Answer a question',
    `<p>A question opens by its code. It stands in what the assistant tells you, and <code>colloquy approve</code> in a
terminal lists it.</p>
<form method="get" action="/approve"><p><label for="code">Code</label> <input id="code" name="code" required
autocomplete="off" spellcheck="false" maxlength="64"></p><p><button>Read it</button></p></form>`,
  );
}

export function answeredPage({ status, tool }: Asked): Page {
  if (status === 'declined') return htmlPage('Declined', `<p>Nothing was changed. You can close this page.</p>${BACK}`);
  return htmlPage(
    'Approved',
    `<p>Tell the assistant to go on: <code>${escaped(tool)}</code> runs when it calls again with the same arguments, once,
within ten minutes, and only with the API key that asked. You can close this page.</p>${BACK}`,
  );
}

/** For a browser that is not paired; the same for every code, whether or not there is such a question. */
export function unpairedPage(code?: string): Page {
  const inTerminal =
    code === undefined
      ? ''
      : `<p>Then open this page again. Or answer in the terminal:</p>
<p><code>colloquy approve ${escaped(code)}</code></p>`;
  return htmlPage(
    'This browser is not paired with Colloquy',
    `<p>This is for a person, in a browser that this person has paired once. In a terminal on this machine:</p>
<p><code>colloquy open</code></p>
<p>It opens a browser that is paired then; <code>colloquy open --print</code> prints the address instead, for the browser
that you choose.</p>
${inTerminal}
<p class="note">An assistant cannot do this for you. Nothing has been changed so far.</p>`,
    { status: 403 },
  );
}

/** For visitors led here by another page: browsers then withhold the pairing cookie, and the person should know why. */
export function cameFromElsewherePage(path: string): Page {
  return htmlPage(
    'Another page has led you here',
    `<p>If that is what you wanted: <a href="${escaped(path)}">go on</a>.</p>`,
    { status: 403 },
  );
}
