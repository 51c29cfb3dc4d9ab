import { fitsPath } from '../../contract/glob.ts';
import type { JsonObject, JsonValue } from '../../contract/json/json.ts';
import { byBytes } from '../../contract/text.ts';
import { SourceError } from './source.ts';

/** Which objects of which bucket are read, and how often is looked for others. */
export interface ObjectsSettings {
  bucket: string;
  /** In the order of their bytes; none begins with another one. */
  prefixes: readonly string[];
  matches(key: string): boolean;
  pollMs: number;
}

const POLL_MS = 60_000;
const POLL_MS_MAX = 366 * 86_400_000;
const PATTERN_MAX = 1_024;
const PREFIXES_MAX = 1_000;
const BUCKET = /^[a-zA-Z0-9][\w.-]{1,220}[a-zA-Z0-9]$/;
const DURATION = /^P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$/i;

/** `scheme`: with what a bucket may be written, such as `s3://`. Throws a `SourceError`. */
export function readObjectsSettings(settings: JsonObject, scheme: string): ObjectsSettings {
  const { bucket: given, prefix, prefixes, pattern, settings: more } = settings;
  const bucket = bucketOf(given, scheme);
  const { literal, matches } = patternOf(pattern);
  return {
    bucket,
    prefixes: narrowed([...prefixesOf(prefix, 'prefix'), ...prefixesOf(prefixes, 'prefixes')], literal),
    matches,
    pollMs: frequencyOf((more as JsonObject | undefined | null)?.['s3_scan_frequency']),
  };
}

export function refused(why: string): SourceError {
  return new SourceError('settings', why);
}

function bucketOf(given: JsonValue | undefined, scheme: string): string {
  const text = typeof given === 'string' ? given : '';
  const name = (text.startsWith(scheme) ? text.slice(scheme.length) : text).replace(/\/$/, '');
  if (BUCKET.test(name)) return name;
  throw refused(
    `bucket has to be the name of a bucket, such as logs or ${scheme}logs; what its keys begin with is the prefix.`,
  );
}

function prefixesOf(given: JsonValue | undefined, name: string): string[] {
  const all = given === undefined || given === null || given === '' ? [] : Array.isArray(given) ? given : [given];
  if (all.length > PREFIXES_MAX) throw refused(`${name} has ${all.length} entries; at most ${PREFIXES_MAX} may be.`);
  return all.map((one) => {
    if (typeof one === 'string') return one;
    throw refused(`${name} has to be text, or a list of texts: what the keys begin with.`);
  });
}

/** What is listed: `literal` is what the keys of a pattern begin with. */
function narrowed(prefixes: readonly string[], literal: string): string[] {
  const given = prefixes.length === 0 ? [''] : prefixes;
  const all = given
    .flatMap((prefix) => (literal.startsWith(prefix) ? [literal] : prefix.startsWith(literal) ? [prefix] : []))
    .sort(byBytes);
  const kept: string[] = [];
  // A prefix stands before all that begin with it.
  for (const one of all) if (!one.startsWith(kept.at(-1) ?? '\uffff')) kept.push(one);
  if (kept.length > 0) return kept;
  throw refused(`No key fits both the prefix and the pattern, which begins with ${JSON.stringify(literal)}.`);
}

function patternOf(given: JsonValue | undefined): { literal: string; matches(key: string): boolean } {
  if (given === undefined || given === null || given === '') return { literal: '', matches: () => true };
  if (typeof given !== 'string' || given.length > PATTERN_MAX)
    throw refused(
      `pattern has to be text of at most ${PATTERN_MAX} characters, such as logs/**/*.json.gz: it is compared with whole keys.`,
    );
  const steps = given.split('/');
  const wild = given.search(/[*?]/);
  if (wild < 0) return { literal: given, matches: (key) => key === given };
  return { literal: given.slice(0, wild), matches: (key) => fitsPath(steps, key.split('/')) };
}

/** ISO 8601, as `PT5M`. */
function frequencyOf(given: JsonValue | undefined): number {
  if (given === undefined || given === null) return POLL_MS;
  const parts = typeof given === 'string' ? DURATION.exec(given) : null;
  const [days, hours, minutes, seconds] = (parts ?? []).slice(1).map((digits) => Number(digits ?? 0));
  const ms = (((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60_000 + (seconds ?? 0) * 1_000;
  if (ms >= 1_000 && ms <= POLL_MS_MAX) return ms;
  throw refused(
    'settings.s3_scan_frequency has to be a duration of ISO 8601 of a second at least, such as PT30S, PT5M or P1D.',
  );
}
