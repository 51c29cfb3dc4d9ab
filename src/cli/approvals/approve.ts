import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ApproveRequest } from '../../commands.ts';
import type { Approval } from '../../contract/approvals.ts';
import { ApiError } from '../../contract/errors.ts';
import { type Client, createClient } from '../../http/client.ts';
import { openFolder } from '../../local/folder.ts';
import { probe } from '../../local/probe.ts';
import type { Config } from '../../settings.ts';
import { requireLocalService } from '../connect.ts';
import { plainText } from '../log.ts';
import { forPerson } from '../person.ts';
import { askAtTerminal, isYes } from '../terminal.ts';
import { forgetBrowsers, pairBrowser } from './pair-browser.ts';

/**
 * Lets the person at the terminal answer a question of an assistant whose client cannot ask. Without a terminal nothing
 * is answered: a model with a shell must not answer for its human. Errors go to standard error, with exit code 1.
 */
export function approve({ config, action, code }: ApproveRequest & { config: Config }, bin: string): Promise<number> {
  return forPerson(async () => {
    requireLocalService(config, 'Questions are answered');
    if (action === 'pair') return pairBrowser(config, bin);
    if (action === 'forget') return forgetBrowsers(config, bin);
    const client = await runningService(config.dataDir);
    try {
      if (code === undefined) return list((await client?.listApprovals({})) ?? []);
      if (client !== undefined) return await answer(client, await client.getApproval({ code }));
    } finally {
      await client?.close();
    }
    throw new ApiError(
      'not_found',
      `Nothing waits: no service runs on "${config.dataDir}". The assistant can ask again.`,
    );
  });
}

/** A client of the service running on the folder. None is started: without a running service there are no questions. */
async function runningService(dataDir: string): Promise<Client | undefined> {
  if (!existsSync(dataDir)) return undefined;
  const { socketPath, adminKeyFile } = await openFolder(dataDir);
  if ((await probe(socketPath)).state !== 'ready') return undefined;
  const apiKey = (await readFile(adminKeyFile, 'utf8')).trim();
  return createClient({ target: { socketPath }, apiKey });
}

/** What would be deleted, and whether it can be undone, is in the first lines of a question. */
const LINES_MAX = 10;

function list(waiting: readonly Approval[]): number {
  const lines = waiting.map(({ code, tool, message, client, created_at, expires_at }) => {
    const text = (message ?? '').split('\n', LINES_MAX).map((line) => `    ${line}\n`);
    return plainText(
      `${code}  ${tool}${client == null ? '' : `, asked by ${JSON.stringify(client)}`} at ${created_at}, until ${expires_at}\n${text.join('')}`,
    );
  });
  const how = 'Answer with: colloquy approve <code>\n';
  process.stdout.write(lines.length === 0 ? 'No question waits for you.\n' : `${lines.join('')}${how}`);
  return 0;
}

async function answer(client: Client, asked: Approval): Promise<number> {
  const { code, status, message, typed_name: name, shown } = asked;
  if (status !== 'pending') throw new ApiError('invalid_input', `The question ${code} was ${status} already.`);
  const how =
    name == null
      ? 'y to approve, n to decline, Enter to leave it open: '
      : `Type ${name} to approve, no to decline, Enter to leave it open: `;
  const typed = await askInTime(`${message}\n${how}`, asked);
  if (typed === undefined) {
    throw new ApiError('forbidden', 'Nothing was answered: this needs a person at a terminal. Run it in one.');
  }
  const decision = decisionOf(typed, name ?? undefined);
  if (decision === undefined) {
    process.stdout.write(`Nothing was answered${typed === '' ? '' : ': that is none of these'}. The question waits.\n`);
    return 1;
  }
  try {
    await client.decideApproval({ code: code ?? '', decision, typed_name: typed, shown: shown ?? '' });
  } catch (error) {
    const current = await client.getApproval({ code: code ?? '' });
    if (current.status !== 'pending' || current.shown === shown) throw error;
    process.stdout.write('Nothing was answered: the question has changed meanwhile.\n\n');
    return answer(client, current);
  }
  process.stdout.write(
    decision === 'approve'
      ? 'Approved. Tell the assistant to go on: it has to call again, with the same arguments and the same API key.\n'
      : 'Declined. Nothing was changed.\n',
  );
  return 0;
}

/** Whoever asked asks anew once the time is over, so nobody is kept at a question that takes no answer. */
async function askInTime(prompt: string, { code, expires_at: until }: Approval): Promise<string | undefined> {
  const left = Date.parse(until ?? '') - Date.now();
  if (Number.isNaN(left)) return askAtTerminal(prompt);
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), Math.max(0, left));
  try {
    return await askAtTerminal(prompt, end.signal);
  } catch (error) {
    if (!end.signal.aborted) throw error;
    process.stderr.write('\n');
    throw new ApiError(
      'not_found',
      `Nothing was answered: the time of the question ${code} is over. The assistant can ask again.`,
    );
  } finally {
    clearTimeout(timer);
  }
}

/** The name is compared before anything else, since it may be "no". */
function decisionOf(typed: string, name: string | undefined): 'approve' | 'decline' | undefined {
  if (name === undefined ? isYes(typed) : typed === name) return 'approve';
  return /^no?$/i.test(typed) ? 'decline' : undefined;
}
