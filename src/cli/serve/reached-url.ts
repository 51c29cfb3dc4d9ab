import type { Config } from '../../settings.ts';

/** Hosts that stand for every interface. */
export const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

/** An address by a host name that clients can use: a wildcard address is nobody's name, and /mcp refuses it. */
export function reachedUrl(url: string, { host, allowedHosts }: Pick<Config, 'host' | 'allowedHosts'>): string {
  const name = allowedHosts?.[0] ?? (WILDCARDS.includes(host) ? 'localhost' : undefined);
  if (name === undefined) return url;
  const port = /:\d+$/.exec(url)?.[0] ?? '';
  return `${url.slice(0, url.indexOf('//') + 2)}${name}${port}`;
}
