import { ApiError } from '../contract/errors.ts';
import type { Client } from '../http/client.ts';
import type { Config } from '../settings.ts';
import { connectService } from './connect.ts';
import { createLog } from './log.ts';

/**
 * Prints an address that pairs the browser that opens it, for the person at the terminal. Without a terminal none is
 * made: a program that reads the output could open it, and so answer for its human. Throws `ApiError`.
 */
export async function pairBrowser(config: Config, bin: string): Promise<number> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new ApiError('forbidden', 'No browser was paired: this needs a person at a terminal. Run it in one.');
  }
  const { url } = await withService(config, bin, (client) => client.pairBrowser({}));
  process.stdout.write(
    `Open this in the browser in which you want to answer, within five minutes; it works once:\n\n  ${url}\n\nThen open the page of the question again.\n`,
  );
  return 0;
}

/** Ends every pairing; that needs no person, since it takes away and gives nothing. */
export async function forgetBrowsers(config: Config, bin: string): Promise<number> {
  const { browsers } = await withService(config, bin, (client) => client.forgetBrowsers({}));
  process.stdout.write(`Forgotten: ${browsers} ${browsers === 1 ? 'browser' : 'browsers'}. None is paired now.\n`);
  return 0;
}

async function withService<T>(config: Config, bin: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectService(config, bin, createLog(config));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
