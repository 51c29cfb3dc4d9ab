import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { ApprovalDesk } from '../approvals/approval-desk.ts';
import { answeredPage, questionPage } from './approve-page.ts';
import { failurePage, type Page } from './html.ts';
import { formOf } from './page-checks.ts';

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
