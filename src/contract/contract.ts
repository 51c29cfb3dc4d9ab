import type * as z from 'zod';
import { about } from './about.ts';
import { aliases } from './aliases.ts';
import { allowlist } from './allowlist.ts';
import { apiKeys } from './api-keys.ts';
import { approvals } from './approvals.ts';
import { backups } from './backup.ts';
import { browsers } from './browsers.ts';
import { collections } from './collections.ts';
import { documents } from './documents.ts';
import { integrations } from './integrations.ts';
import { lambdas } from './lambdas.ts';
import { organization } from './organization.ts';
import { queries } from './queries.ts';
import { results } from './results.ts';
import type { Contract, Row } from './row.ts';
import { selections } from './selections.ts';
import { sourceControl } from './source-control.ts';
import { trash } from './trash.ts';
import { users } from './users.ts';
import { virtualInstances } from './virtual-instances.ts';
import { workspaces } from './workspaces.ts';

/** The rows by noun. */
export const nouns = {
  queries,
  documents,
  apiKeys,
  aliases,
  collections,
  allowlist,
  integrations,
  organization,
  lambdas,
  users,
  virtualInstances,
  workspaces,
} as const satisfies Record<string, Contract>;
export type Noun = keyof typeof nouns;

/** The API: one row per endpoint, by operation name. */
export const contract = {
  ...queries,
  ...documents,
  ...apiKeys,
  ...aliases,
  ...collections,
  ...allowlist,
  ...integrations,
  ...organization,
  ...lambdas,
  ...users,
  ...virtualInstances,
  ...workspaces,
} as const satisfies Contract;

/** This service's additions to the API, under `/v1/colloquy`; there are no tools for these rows. */
const extensions = {
  ...about,
  ...approvals,
  ...browsers,
  ...backups,
  ...results,
  ...selections,
  ...sourceControl,
  ...trash,
} as const satisfies Contract;

/** Everything that a client can call and this service answers. */
export const allRows = { ...contract, ...extensions } as const satisfies Contract;

export type Operation = keyof typeof contract;
export const OPERATIONS = Object.keys(contract) as Operation[];
/** An operation of the API, or one that this service adds. */
export type AnyOperation = keyof typeof allRows;

// The type of an empty object would forbid every other key.
type Fields<S> = S extends z.ZodObject<infer Shape> ? (keyof Shape extends never ? unknown : z.input<S>) : unknown;

type ParsedFields<S> =
  S extends z.ZodObject<infer Shape> ? (keyof Shape extends never ? unknown : z.output<S>) : unknown;

type Part<K extends AnyOperation, P extends 'params' | 'query' | 'body'> = (typeof allRows)[K] extends {
  [key in P]: infer S;
}
  ? S
  : undefined;

/** Arguments of an operation: path parameters, query-string parameters and body fields in one flat object. */
export type Input<K extends AnyOperation> = object &
  Fields<Part<K, 'params'>> &
  Fields<Part<K, 'query'>> &
  Fields<Part<K, 'body'>>;

/** `Input` after the row's schemas have parsed it. */
export type ParsedInput<K extends AnyOperation> = ParsedFields<Part<K, 'params'>> &
  ParsedFields<Part<K, 'query'>> &
  ParsedFields<Part<K, 'body'>>;

/** The result of an operation, without its envelope. */
export type Output<K extends AnyOperation> = z.output<(typeof allRows)[K]['result']>;

/** The schema of an operation's flat arguments. */
export function inputShape(row: Row): Record<string, z.ZodType> {
  return { ...row.params?.shape, ...row.query?.shape, ...row.body?.shape } as Record<string, z.ZodType>;
}
