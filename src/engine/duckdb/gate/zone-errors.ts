import { nearest } from '../../../contract/nearest.ts';
import { between } from '../../../contract/text.ts';
import type { Statement } from '../sql/statement.ts';

const OFFSET = /^(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?$/i;
const SHOWN_MAX = 3;

/** What an error about a zone that there is not says instead of the engine's candidates; undefined: it is about another thing. */
export function noZoneIn(message: string, { body }: Statement): string | undefined {
  const zone = between(message, "Unknown TimeZone '", "'!");
  if (zone === undefined) return undefined;
  const [line = ''] = message.split('\n', 1);
  const [, sign, hours, minutes = '00'] = OFFSET.exec(zone) ?? [];
  if (sign === undefined) {
    const near = zonesNear(zone).map((one) => `'${one}'`);
    return near.length === 0 ? message : `${line}\nZones are named as ${near.join(' or ')}.`;
  }
  // The offset of a text that is cast is no zone that anybody wrote.
  if (!/\b(?:zone|timezone)\b/i.test(body)) return message;
  const by = `(t AT TIME ZONE 'UTC') ${sign} INTERVAL '${Number(hours)}:${minutes}'`;
  const isWhole = minutes === '00' && Number(hours) <= 12;
  return `${line}\nWrite ${isWhole ? `'Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}' (its sign is turned round), or ` : ''}${by}.`;
}

/** Zones whose place is called so, or nearly so. */
function zonesNear(name: string): string[] {
  const zones = Intl.supportedValuesOf('timeZone');
  const placeOf = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1);
  const places = nearest(placeOf(name).replaceAll(' ', '_'), new Set(zones.map(placeOf)), SHOWN_MAX);
  return places.flatMap((place) => zones.filter((zone) => placeOf(zone) === place)).slice(0, SHOWN_MAX);
}
