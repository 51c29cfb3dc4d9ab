import type { AnyOperation, Input, Output } from '../../contract/contract.ts';
import type { Client } from '../../http/client.ts';
import type { Means } from '../means.ts';

/** What is needed to read a resource. */
export interface ResourceContext {
  /** Connects to the service; not called for resources that do not need it. */
  connect: () => Promise<Client>;
  signal: AbortSignal | undefined;
  means: Means;
}

/** The variables of a template by name, decoded. */
export type Names = Readonly<Record<string, string>>;

export interface ListedResource {
  uri: string;
  name: string;
  title: string;
  description?: string | undefined;
  mimeType: string;
}

/** The content of a resource; text from data is already fenced. */
export type ResourceContent = { mimeType: string; _meta?: Record<string, unknown> } & (
  | { text: string }
  | { blob: string }
);

/** How long, and for whom, an answer remains valid. */
export interface ResourceCache {
  ttlMs: number;
  cacheScope: 'public' | 'private';
}

/** A call of the service that is made once per poll, however many resources need it. */
export type Look = <K extends AnyOperation>(operation: K, input: Input<K>) => Promise<Output<K>>;

/** One kind of resource: a template, and all that can be done with the resources that match it. */
export interface ResourceKind {
  /** A URI with `{variables}`; without any, the kind is a single resource. */
  uriTemplate: string;
  name: string;
  title: string;
  description: string;
  mimeType: string;
  /** The tool that returns the same: if it is not offered, neither is this resource. Absent: offered to everybody. */
  tool?: string;
  /** Absent: valid for a few seconds, and for its reader only. */
  cache?: ResourceCache | undefined;
  /** The existing resources of this kind; absent if they are found through the template only. */
  list?(context: ResourceContext): Promise<ListedResource[]>;
  /** Rejects `ApiError` `not_found` if there is none; the nearest names are added to the error. */
  read(context: ResourceContext, names: Names): Promise<ResourceContent>;
  /** For each variable its possible values, given those of other variables. */
  complete: Readonly<Record<string, (context: ResourceContext, names: Names) => Promise<readonly string[]>>>;
  /** A text that differs once the resource has changed; undefined while there is none. Absent if it never changes. */
  fingerprint?(look: Look, names: Names): Promise<string | undefined>;
}

/** The names of the variables of a template, in order. */
export function variablesOf(uriTemplate: string): string[] {
  return [...uriTemplate.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** The address of one resource of a kind. */
export function uriOf(uriTemplate: string, names: Names): string {
  // A lone surrogate cannot be percent-encoded.
  const encoded = (name = '') => encodeURIComponent(name.toWellFormed());
  return uriTemplate.replace(/\{(\w+)\}/g, (_, variable: string) => encoded(names[variable]));
}

/** The names in a URI of this kind; undefined if it does not match. */
export function namesIn(uriTemplate: string, uri: string): Names | undefined {
  const values = valuesIn(uriTemplate.split(/\{\w+\}/), uri);
  if (values === undefined) return undefined;
  try {
    return Object.fromEntries(
      variablesOf(uriTemplate).map((variable, index) => [variable, decodeURIComponent(values[index] ?? '')]),
    );
  } catch {
    return undefined;
  }
}

/**
 * What stands between the fixed parts of a URI. No value has a "/", "?" or "#"; one before another fixed part, such as the
 * dot of an extension, ends where that stands last.
 */
function valuesIn([first = '', ...parts]: readonly string[], uri: string): string[] | undefined {
  if (!uri.startsWith(first)) return undefined;
  const values: string[] = [];
  let at = first.length;
  for (const part of parts) {
    const length = uri.slice(at).search(/[/?#]/);
    const segmentEnd = length === -1 ? uri.length : at + length;
    const isWithin = part !== '' && !/^[/?#]/.test(part);
    const end = isWithin ? uri.lastIndexOf(part, segmentEnd - part.length) : segmentEnd;
    if (end <= at || !uri.startsWith(part, end)) return undefined;
    values.push(uri.slice(at, end));
    at = end + part.length;
  }
  return at === uri.length ? values : undefined;
}
