import type { Pairing } from '../../contract/browsers.ts';
import { ApiError } from '../../contract/errors.ts';
import type { CallContext } from '../context.ts';

/** Makes a new address that pairs the browser that opens it. Throws `internal` if the page cannot listen. */
export async function pairBrowser({ pageServer, pairedBrowsers }: CallContext): Promise<Pairing> {
  const { secret, expiresAt } = pairedBrowsers.invite();
  const url = await pageServer.pairingUrlOf(secret);
  if (url === undefined) {
    throw new ApiError(
      'internal',
      'Cannot pair a browser: the page cannot listen on 127.0.0.1; the log of the service says why. Questions can be answered in a terminal, with "colloquy approve".',
    );
  }
  return { url, expires_at: new Date(expiresAt).toISOString() };
}

/** Ends every pairing. */
export async function forgetBrowsers({ pairedBrowsers, log }: CallContext): Promise<{ browsers: number }> {
  const browsers = await pairedBrowsers.forget();
  log.info({ browsers }, 'the paired browsers were forgotten');
  return { browsers };
}
