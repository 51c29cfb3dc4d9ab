import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { InvocationOf } from '../../commands.ts';
import { browserOpener } from '../../config.ts';
import { requireLocalService } from '../connect.ts';
import { forPerson } from '../person.ts';
import { pairingAddress } from './pair-browser.ts';

/**
 * Opens the page of the shared local service, started if necessary, in the browser of the person at the terminal, by an
 * address that works once. Without a terminal none is made. Errors go to standard error, with exit code 1.
 */
export function openPage({ config, print }: InvocationOf<'open'>, bin: string): Promise<number> {
  return forPerson(async () => {
    requireLocalService(config, 'The page is opened');
    const url = await pairingAddress(config, bin);
    const isOpened = !print && (await openBrowser(url));
    const first = isOpened
      ? 'The page was opened in your browser. If it was not, open this there'
      : 'Open this in your browser, on this machine';
    process.stdout.write(`${first}, within five minutes; it works once:\n\n  ${url}\n`);
    return 0;
  });
}

/** Whether the system's opener could be started; what it then does is not known. */
async function openBrowser(url: string): Promise<boolean> {
  const opener = browserOpener();
  if (opener === undefined) return false;
  const child = spawn(opener.command, [...opener.args, url], { detached: true, stdio: 'ignore' });
  try {
    await once(child, 'spawn');
  } catch {
    return false;
  }
  child.unref();
  return true;
}
