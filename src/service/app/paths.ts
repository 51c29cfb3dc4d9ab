import { allRows } from '../../contract/contract.ts';
import { LOAD } from '../../contract/load.ts';

/** Paths outside the contract, with their methods. */
const SERVICE_PATHS = { '/': 'GET', '/health': 'GET', '/ready': 'GET', '/local/leave': 'POST' } as const;

/**
 * Where messages come in as Segment's libraries and webhooks send them: to a path of their type, or several at once. They
 * call the paths so, below the host that they are given.
 */
export const SEGMENT_PATHS = ['import', 'batch', 'track', 'identify', 'page', 'screen', 'group', 'alias'].map(
  (name) => `/v1/${name}`,
);

interface KnownPath {
  segments: readonly string[];
  method: string;
}

const KNOWN: readonly KnownPath[] = [
  ...[...Object.values(allRows), LOAD].map(({ path, method }) => ({ segments: path.split('/'), method })),
  ...Object.entries(SERVICE_PATHS).map(([path, method]) => ({ segments: path.split('/'), method })),
  ...SEGMENT_PATHS.map((path) => ({ segments: path.split('/'), method: 'POST' })),
];

/** A path of the contract in the router's notation. */
export function routerPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** The methods that a request's path supports, for the `Allow` header; empty if there is no such path. */
export function allowedMethods(url: string): string[] {
  const segments = (url.split(/[?#]/, 1)[0] ?? '').split('/').map(decoded);
  const methods = new Set(KNOWN.filter((known) => matches(known.segments, segments)).map((known) => known.method));
  if (methods.has('GET')) methods.add('HEAD');
  if (methods.size > 0) methods.add('OPTIONS');
  return [...methods].sort();
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every((part, index) => (part.startsWith('{') ? segments[index] !== '' : part === segments[index]))
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
