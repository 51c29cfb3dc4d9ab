import { ApiError } from '../contract/errors.ts';
import { withoutTrailing } from '../contract/text.ts';

/** Where the service listens: an address, or a Unix socket (a named pipe on Windows). */
export type Target = { url: string } | { socketPath: string };

/** A validated target. */
export interface Address {
  /** Scheme, host and port, for the connection and the Host header. */
  origin: string;
  /** The prefix of every contract path, without a trailing slash; may be empty. */
  basePath: string;
  socketPath: string | undefined;
  /** The address to show to humans; contains no secret. */
  label: string;
}

const LOOPBACK = /^(localhost|([\w-]+\.)+localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host name or address, as `URL.hostname` writes it, is that of this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

function refuse(shown: string, why: string, fix: string): never {
  throw new ApiError('invalid_input', `Cannot use the service URL ${shown}: ${why}. ${fix}`);
}

/**
 * Validates a client's target: https only, or plain http for loopback hosts; no credentials, query or fragment. Throws
 * `ApiError` `invalid_input`, whose message never repeats credentials.
 */
export function resolveTarget(target: Target): Address {
  if ('socketPath' in target) {
    const { socketPath } = target;
    if (socketPath === '' || socketPath.includes('\0')) {
      throw new ApiError(
        'invalid_input',
        'Cannot use the socket path: it is empty or holds a NUL. Give the full path.',
      );
    }
    return { origin: 'http://localhost', basePath: '', socketPath, label: `the socket ${socketPath}` };
  }
  let url: URL;
  try {
    url = new URL(target.url);
  } catch {
    // Unparseable text may still contain a password before its "@".
    const shown = target.url.includes('@') ? '(not shown: it may hold credentials)' : JSON.stringify(target.url);
    refuse(shown, 'it is not a URL', 'Write it as https://host[:port].');
  }
  const shown = `"${url.protocol}//${url.host}"`;
  if (url.username !== '' || url.password !== '') {
    refuse(shown, 'it holds credentials', 'Leave them out and give the API key by itself.');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    refuse(shown, `"${url.protocol}" is not a scheme of this service`, 'Write it as https://host[:port].');
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    refuse(shown, 'plain http would show the API key to the network', 'Use https; http is for loopback hosts only.');
  }
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(target.url)) {
    refuse(shown, 'it holds a query or a fragment', 'Leave out everything from "?" or "#" on.');
  }
  const basePath = withoutTrailing(url.pathname, '/');
  return { origin: url.origin, basePath, socketPath: undefined, label: `${url.origin}${basePath}` };
}
