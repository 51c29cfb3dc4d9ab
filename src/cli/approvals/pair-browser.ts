import { ApiError } from '../../contract/errors.ts';
import type { Config } from '../../settings.ts';
import { withService } from '../person.ts';

/**
 * An address that pairs the browser that opens it, for the person at the terminal. Without a terminal none is made: a
 * program that reads the output could open it, and so answer for its human. Throws `ApiError`.
 */
export async function pairingAddress(config: Config, bin: string): Promise<string> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new ApiError('forbidden', 'No browser was paired: this needs a person at a terminal. Run it in one.');
  }
  // The service stays: the page is its.
  const { url } = await withService(config, bin, (client) => client.pairBrowser({}), { stays: true });
  return url ?? '';
}

/** Prints a pairing address. */
export async function pairBrowser(config: Config, bin: string): Promise<number> {
  const url = await pairingAddress(config, bin);
  process.stdout.write(
    `Open this in the browser in which you want to answer, within five minutes; it works once:\n\n  ${url}\n\nThe questions that wait are on the page that it shows.\n`,
  );
  return 0;
}

/** Ends every pairing. Needs no person at a terminal, since it only takes rights away. */
export async function forgetBrowsers(config: Config, bin: string): Promise<number> {
  const { browsers } = await withService(config, bin, (client) => client.forgetBrowsers({}), { stays: true });
  process.stdout.write(`Forgotten: ${browsers} ${browsers === 1 ? 'browser' : 'browsers'}. None is paired now.\n`);
  return 0;
}
