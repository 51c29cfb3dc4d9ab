import type { AnyOperation, Input, Output } from '../../contract/contract.ts';
import type { Client } from '../../http/client.ts';
import type { Means } from '../assistant.ts';

/** What a resource is read with. */
export interface ResourceContext {
  /** The way to the service; not called by what needs none. */
  connect: () => Promise<Client>;
  signal: AbortSignal | undefined;
  means: Means;
}

/** The variables of a template, by name, as text that is not encoded. */
export type Names = Readonly<Record<string, string>>;

export interface ListedResource {
  uri: string;
  name: string;
  title: string;
  description?: string | undefined;
  mimeType: string;
}

/** What a resource holds; text from data is fenced already. */
export type ResourceContent = { mimeType: string; _meta?: Record<string, unknown> } & (
  | { text: string }
  | { blob: string }
);

/** How long, and for whom, an answer stays good. */
export interface ResourceCache {
  ttlMs: number;
  cacheScope: 'public' | 'private';
}

/** A call of the service that is made once per look, however many resources ask for it. */
export type Look = <K extends AnyOperation>(operation: K, input: Input<K>) => Promise<Output<K>>;

/** One kind of resource: a template and all that can be done with what it stands for. */
export interface ResourceKind {
  /** An address with `{variables}`; without any, it is one resource and no template. */
  uriTemplate: string;
  name: string;
  title: string;
  description: string;
  mimeType: string;
  /** The tool that gives the same: where it is not offered, neither is this. Absent: it is for everybody. */
  tool?: string;
  /** Absent: good for a few seconds, and for its reader alone. */
  cache?: ResourceCache | undefined;
  /** What there is of this kind, by address; absent where it is found by its template alone. */
  list?(context: ResourceContext): Promise<ListedResource[]>;
  /** Rejects `ApiError` `not_found` where there is none; the nearest names are put to it. */
  read(context: ResourceContext, names: Names): Promise<ResourceContent>;
  /** For each variable the values there are, given those of other variables. */
  complete: Readonly<Record<string, (context: ResourceContext, names: Names) => Promise<readonly string[]>>>;
  /** What differs once the resource has changed, undefined while there is none; absent where it never changes. */
  fingerprint?(look: Look, names: Names): Promise<string | undefined>;
}

/** The names of the variables of a template, in order. */
export function variablesOf(uriTemplate: string): string[] {
  return [...uriTemplate.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** The address of one resource of a kind. */
export function uriOf(uriTemplate: string, names: Names): string {
  // Half a character has no percent encoding.
  const encoded = (name = '') => encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\ufffd'));
  return uriTemplate.replace(/\{(\w+)\}/g, (_, variable: string) => encoded(names[variable]));
}

/** The names in an address of a kind; undefined where it is none of it. */
export function namesIn(uriTemplate: string, uri: string): Names | undefined {
  const parts = uriTemplate.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const match = new RegExp(`^${parts.join('([^/?#]+)')}$`).exec(uri);
  if (match === null) return undefined;
  try {
    return Object.fromEntries(
      variablesOf(uriTemplate).map((variable, index) => [variable, decodeURIComponent(match[index + 1] ?? '')]),
    );
  } catch {
    return undefined;
  }
}
