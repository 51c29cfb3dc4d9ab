import { SETTING_ENTRIES } from '../../config.ts';
import type { Client } from '../../http/client.ts';
import type { Config } from '../../settings.ts';

/** Settings that every process of this program also has for itself. */
const OWN_TOO = ['dataDir', 'logLevel'];

/** The settings of the local service that were given here and differ from the default, by the names of their flags. */
export function givenSettings(config: Config): Record<string, string> {
  const values: Record<string, unknown> = config;
  const given = SETTING_ENTRIES.flatMap(([key, { flag, passedOn, default: byDefault }]): [string, string][] => {
    const value = values[key];
    if (passedOn !== true || OWN_TOO.includes(key) || value === undefined || String(value) === byDefault) return [];
    return [[flag?.split(' ')[0] ?? key, String(value)]];
  });
  return Object.fromEntries(given);
}

/**
 * Tells a person which given settings the running service was not started with, and so ignores; undefined if there are
 * none. A service that does not tell its settings is taken to have none of them.
 */
export async function unheededSettings(client: Client, given: Readonly<Record<string, string>>) {
  const { settings } = await client.getAbout({});
  const unheeded = Object.entries(given).filter(([flag, value]) => settings?.[flag] !== value);
  if (unheeded.length === 0) return undefined;
  const names = unheeded.map(([flag, value]) => `${flag} ${value}`).join(', ');
  return `The local service was already running, with other settings, so this is not heeded: ${names}. "colloquy stop" ends it, and the next call starts it with these.`;
}
